import { describe, expect, test } from "vitest"
import {
  type CaptureConnection,
  type CaptureEvent,
  CaptureFormatError,
  type CaptureOptions,
  CaptureReader,
  decodeCapture,
  decodeFrames,
  readCapture,
} from "zeromq-lz4/capture"
import { Codec, type CodecOptions } from "zeromq-lz4/codec"
import { SharedMemory } from "../../../src/capture/streams/memory.js"
import { ZmtpConnection } from "../../../src/capture/streams/zmtp-connection.js"
import { Instance } from "../../../src/codec/instance.js"
import { lz4 } from "../../../src/codec/lz4/format.js"
import { captured, eventsOf, linesOf, only, saidIn } from "../../support/captures.js"
import { vectorDictionary } from "../../support/plaintexts.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import { manifest, nameOf, plainOf, wireOf } from "../../support/vectors.js"
import { concat, dictionaryPart, plainPart } from "../../support/wire.js"
import {
  arenaOfEmptyParts,
  COMMAND,
  frame,
  frameHead,
  greeting,
  handshake,
  MORE,
  MOST_EMPTY_PARTS,
  message,
  ready,
  storedArena,
} from "../../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const client = handshake("PUSH")
const server = handshake("PULL")
const long = "so it goes and so it goes, ".repeat(40)

/** Encodes messages as a sender does. */
function encoded(messages: string[][], options: CodecOptions = {}): Uint8Array {
  using codec = Codec.createSync(options)
  const plain = messages.map((parts) => parts.map(text))
  return concat(...codec.encodeBatch(plain).map((parts) => message(...parts)))
}

const command = (name: string, body: Uint8Array = new Uint8Array(0)) =>
  frame(concat(Uint8Array.of(name.length), text(name), body), COMMAND)

describe("the forms of parts", () => {
  const dictionary = text("so it goes and so it goes, ")
  test.each<[name: string, stream: Uint8Array, lines: string[]]>([
    ["none, of plain tcp://", message(text("a"), text(""), text(long)), [`a |  | ${long}`]],
    ["plain", encoded([["a", "", "c"]]), ["plain a | plain  | plain c"]],
    ["LZ4B", encoded([[long]]), [`LZ4B ${long}`]],
    ["LZ4D", encoded([[long]], { dictionary }), ["LZ4D ", `LZ4B ${long}`]],
    [
      "LZ4A",
      encoded([["a"], ["b", ""], [long]], { arenas: true }),
      ["LZ4A a [1 of 3]", "LZ4A b | LZ4A  [2 of 3]", `LZ4A ${long} [3 of 3]`],
    ],
  ])("%s", (_, stream, lines) => {
    expect(saidIn(concat(client, stream))).toEqual(lines.map((line) => `client: ${line}`))
    expect(saidIn(captured([["server", concat(server, stream)]]))).toEqual(
      lines.map((line) => `server: ${line}`),
    )
  })

  test("LZ4A with as many empty parts as its bytes pay for, and with one more", () => {
    const arenas = [MOST_EMPTY_PARTS, MOST_EMPTY_PARTS + 1].map((parts) =>
      frame(arenaOfEmptyParts(parts)),
    )
    const { messages } = only(concat(client, ...arenas))
    expect(messages.map(({ parts }) => parts.length)).toEqual([MOST_EMPTY_PARTS, 1])
    expect(messages[1]!.parts[0]!.error?.code).toBe("ERR_LZ4_ARENA")
  })

  test("a part of several blocks is shown as LZ4M", () => {
    using codec = Codec.createSync({ wasm: smallBlocks })
    const plain = text(long.repeat(Math.ceil((3 * smallBlockSize) / long.length)))
    const wire = codec.encodePart(plain)
    const events: CaptureEvent[] = []
    const connection = new ZmtpConnection(
      {
        instanceOf: () => new Instance(smallBlocks, lz4),
        budgetBytes: -1,
        dictionary: undefined,
        emit: (event) => events.push(event),
        nextId: () => 1,
        memory: new SharedMemory(),
        told: { isCut: false },
        leaveOut: () => {},
        ended: () => {},
      },
      { client: "client", server: "server", begun: true, time: undefined },
    )
    connection.data("client", concat(client, message(wire)), 0, undefined)
    connection.end("client", undefined, false)
    const found = events.find((event) => event.type === "message")!
    expect(found.message.parts[0]).toMatchObject({ kind: "LZ4M", error: undefined })
    expect(Buffer.compare(found.message.parts[0]!.plain!, plain)).toBe(0)
  })

  test.each([
    ["with the dictionary", true],
    ["without a dictionary", false],
  ])("the vectors %s", (_, dictionary) => {
    const vectors = manifest.parts.filter(
      (part) => part.dictionary === dictionary && part.blockSize === undefined,
    )
    const shipped = dictionary ? [message(dictionaryPart(vectorDictionary()))] : []
    const file = concat(client, ...shipped, ...vectors.map((part) => message(wireOf(part))))
    const { messages, shipments } = only(file)
    expect(shipments.map(({ parts }) => parts[0]!.error)).toEqual(shipped.map(() => undefined))
    const parts = messages.map(({ parts }) => parts[0]!)
    expect(parts.length).toBe(vectors.length)
    for (const [i, { plain, kind }] of parts.entries()) {
      expect(kind).toBe(vectors[i]!.form)
      expect(Buffer.compare(plain!, plainOf(vectors[i]!)), nameOf(vectors[i]!)).toBe(0)
    }
  })

  test("a dictionary that is refused is a message, as in the traffic", () => {
    const file = concat(
      client,
      message(dictionaryPart(dictionary)),
      message(plainPart(text("a"))),
      message(dictionaryPart(text("another"))),
    )
    const { messages, shipments, traffic } = only(file)
    const kinds = (found: typeof messages) => found.map(({ parts }) => parts[0]!.kind)
    expect(kinds(shipments)).toEqual(["LZ4D"])
    expect(kinds(messages)).toEqual(["plain", "LZ4D"])
    expect(messages[1]!.parts[0]!.error).toBeDefined()
    expect(traffic.client.messages).toBe(2)
  })

  test("bytes are counted: dictionaries only on the wire, arenas in shares that add up", () => {
    const messages = [["a".repeat(50)], ["", "b"], ["c".repeat(700)]]
    const file = concat(client, encoded(messages, { dictionary, arenas: true }))
    const { messages: inner, shipments, traffic, dictionaries } = only(file)
    expect(inner.map(({ plainBytes }) => plainBytes)).toEqual([50, 1, 700])
    const [shipment, ...others] = shipments
    expect(others).toEqual([])
    expect(shipment).toMatchObject({ plainBytes: 0, parts: [{ kind: "LZ4D" }] })
    expect(shipment!.wireBytes).toBe(4 + dictionary.length)
    const arena = inner[0]!.parts[0]!.wire
    expect(inner.every(({ parts }) => parts.every(({ wire }) => wire === arena))).toBe(true)
    expect(inner.reduce((sum, { wireBytes }) => sum + wireBytes, 0)).toBe(arena.length)
    const wireBytes = shipment!.wireBytes + arena.length
    expect(traffic.client).toEqual({ messages: 3, plainBytes: 751, wireBytes })
    expect(dictionaries.client).toEqual(new Uint8Array(dictionary))
    expect(dictionaries.server).toBeUndefined()
  })
})

describe("properties of a side", () => {
  const property = (name: string, value: string) =>
    concat(
      Uint8Array.of(name.length),
      text(name),
      Uint8Array.of(0, 0, 0, value.length),
      text(value),
    )

  test("a side has what its greeting and READY say", () => {
    const body = concat(property("Socket-Type", "DEALER"), property("Identity", "me"))
    const stream = concat(greeting(), command("READY", concat(body, property("X-Region", "north"))))
    const { handshakes } = only(captured([["client", stream]]))
    expect(handshakes.client).toEqual({
      version: "3.1",
      mechanism: "NULL",
      asServer: false,
      socketType: "DEALER",
      identity: new Uint8Array(text("me")),
      properties: new Map([["X-Region", new Uint8Array(text("north"))]]),
    })
    expect(handshakes.server).toBeUndefined()
  })

  test("an announced revision is a property, and described in READY", () => {
    const { handshakes, commands } = only(
      captured([
        ["client", handshake("PUSH", 2)],
        ["server", handshake("PULL")],
      ]),
    )
    expect(handshakes.client?.properties).toEqual(
      new Map([["X-Lz4-Revision", new Uint8Array(text("2"))]]),
    )
    expect(handshakes.server?.properties).toEqual(new Map())
    expect(commands[0]?.detail).toBe('Socket-Type "PUSH", X-Lz4-Revision "2"')
  })

  test("a side has the user name of PLAIN, without the password", () => {
    const hello = (body: string) => command("HELLO", text(body))
    const greet = greeting({ mechanism: "PLAIN" })
    for (const body of ["\x05alice\x06secret", "\x05alice\x07secret"]) {
      const { commands, handshakes } = only(concat(greet, hello(body), command("INITIATE")))
      expect(handshakes.client).toMatchObject({ mechanism: "PLAIN", identity: new Uint8Array(0) })
      expect(Buffer.from(commands[0]!.body).toString("latin1")).not.toContain("secret")
      expect(commands[0]!.detail).not.toContain("secret")
    }
    const { commands } = only(concat(greet, hello("\x05alice\x06secret")))
    expect(commands[0]!.detail).toBe('user "alice", password not shown')
  })

  test("CURVE is no error, and its commands have names", () => {
    const greet = greeting({ mechanism: "CURVE" })
    const sealed = text("\x07MESSAGE and what nobody else can read")
    const file = captured([
      ["client", greet],
      ["server", greet],
      ["client", concat(command("HELLO", text("?")), frame(sealed), frame(sealed, COMMAND))],
    ])
    expect(linesOf(eventsOf(file))).toEqual([
      "connection 1",
      "client: ZMTP 3.1 CURVE ?",
      "server: ZMTP 3.1 CURVE ?",
      "client: HELLO malformed",
      `client: MESSAGE encrypted, ${sealed.length - 8} bytes`,
      `client: MESSAGE encrypted, ${sealed.length - 8} bytes`,
      "close 1",
    ])
  })

  test("ZMTP 2 is reported once, and not read further", () => {
    const old = concat(greeting({ major: 1 }).subarray(0, 12), text("anything"))
    const file = captured([
      ["client", old],
      ["server", old],
    ])
    expect(linesOf(eventsOf(file))).toEqual([
      "connection 1",
      "client: ZMTP 2.0  ?",
      "client: ERR_ZMTP_GREETING: the greeting is ZMTP 2; 3.0 or later is needed",
      "close 1",
    ])
  })
})

test.each<[name: string, body: Uint8Array, detail: string]>([
  ["SUBSCRIBE", text("weather"), 'topic "weather"'],
  ["SUBSCRIBE", text(""), "every topic"],
  ["CANCEL", Uint8Array.of(0, 0xff), "topic 00 ff"],
  ["PING", Uint8Array.of(0, 15, 0x61), 'time to live 1.5 s, context "a"'],
  ["PONG", text("a"), 'context "a"'],
  ["PONG", text(""), ""],
  ["ERROR", text("\x07go away"), '"go away"'],
  ["READY", Uint8Array.of(9, 1), "metadata that is not well-formed: 09 01"],
  ["JOIN", text("g"), 'group "g"'],
  ["WELCOME", text(""), ""],
  ["SUBSCRIBE", text("x".repeat(200)), `topic "${"x".repeat(100)}" …`],
  ["SUBSCRIBE", new Uint8Array(40), `topic ${Array(32).fill("00").join(" ")} …`],
])("the description of the command %s: %#", (name, body, detail) => {
  const { commands } = only(concat(client, command(name, body)))
  expect(commands.at(-1)).toMatchObject({ name, detail, from: "client" })
})

test("a command between two parts does not end the message, and is not in its ranges", () => {
  const [one, two] = [frame(plainPart(text("a")), MORE), frame(plainPart(text("b")))]
  const file = concat(client, one, command("PING", new Uint8Array(2)), two)
  const { messages } = only(file)
  const twoAt = file.length - two.length
  expect(messages[0]!.ranges).toEqual([client.length, one.length, twoAt, two.length])
  expect(saidIn(file)).toEqual(["client: plain a | plain b"])
})

describe("recognition of ZMTP connections", () => {
  const web = text("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")

  test("other connections give no events", () => {
    const file = captured([
      ["client", web],
      ["server", text("HTTP/1.1 200 OK\r\n\r\n")],
    ])
    expect(eventsOf(file)).toEqual([])
  })

  test.each(["client", "server"] as const)("either side is enough: the %s", (foreign) => {
    const greeted = foreign === "client" ? "server" : "client"
    const file = captured([
      [foreign, web],
      [greeted, client],
    ])
    expect(saidIn(file)).toEqual([
      `${foreign}: ERR_ZMTP_GREETING: the greeting looks like HTTP ("GET / HTTP/1.1")`,
    ])
    expect(eventsOf(file)[0]).toMatchObject({ type: "connection", connection: { id: 1 } })
  })

  test("lz4+tcp and tcp are distinguished, separately for each direction", () => {
    const file = captured([
      ["client", concat(client, encoded([["a"]]), message(text("bare")))],
      ["server", concat(server, message(text("b")), message(text("c")))],
    ])
    expect(saidIn(file)).toEqual([
      "client: plain a",
      "client: (ERR_LZ4_UNKNOWN_SENTINEL)",
      "server: ERR_LZ4_UNKNOWN_SENTINEL: parts of the server have no sentinel, while those of the client do: one side uses tcp:// by mistake, the other lz4+tcp:// (RFC.md section 2)",
      "server: b",
      "server: c",
    ])
    const { messages, transport } = only(file)
    expect(transport).toBe("lz4+tcp")
    expect(messages[1]!.parts[0]!.error!.message).toMatch(/not a sentinel: .* tcp:\/\/ by mistake/)
  })
})

test("a part that does not decode has an error; later parts are decoded", () => {
  const bad = concat(text("LZ4B"), Uint8Array.of(9, 0, 0, 0, 0, 0, 0, 0, 0x30, 1))
  const file = concat(client, message(plainPart(text("a")), bad), encoded([[long]]))
  const { messages } = only(file)
  expect(messages[0]!.parts[1]).toMatchObject({
    kind: "LZ4B",
    plain: undefined,
    wire: new Uint8Array(bad),
    error: { code: "ERR_LZ4_CORRUPT_BLOCK", from: "client", offset: client.length },
  })
  expect(messages[0]).toMatchObject({ plainBytes: 1, wireBytes: 5 + bad.length })
  expect(saidIn(file).at(-1)).toBe(`client: LZ4B ${long}`)
})

test.each([
  ["tcp", message(text("four"), text("five!"))],
  ["lz4+tcp", encoded([["four", "five!"]])],
])("maxMessageSize is for all parts of a message together: %s", (_, stream) => {
  const parts = (maxMessageSize: number) => saidIn(concat(client, stream), { maxMessageSize })
  expect(parts(9)[0]).toMatch(/four \| (plain )?five!$/)
  expect(parts(8)[0]).toMatch(/four \| (plain )?\(ERR_LZ4_BUDGET_EXCEEDED\)$/)
})

describe("a dictionary that was shipped before the capture began", () => {
  const dictionary = text("so it goes and so it goes, ")
  const other = text("what will be will be")
  const wire = encoded(
    Array.from({ length: 3 }, () => [long.slice(0, 150)]),
    { dictionary },
  )
  const rest = wire.subarray(message(dictionaryPart(dictionary)).length)
  const late = (stream: Uint8Array) => captured([["server", stream]], { begun: false })
  const decoded = Array(3).fill(`server: LZ4B ${long.slice(0, 150)}`)

  test("is used if it is given", () => {
    expect(saidIn(late(rest), { dictionary })).toEqual(decoded)
    expect(only(late(rest), { dictionary }).dictionaries.server).toEqual(new Uint8Array(dictionary))
  })

  test("is asked for if it is not given", () => {
    const { messages, errors, warning } = only(late(rest))
    expect(messages).toHaveLength(3)
    for (const { parts } of messages)
      expect(parts[0]).toMatchObject({
        dictionary: "missing",
        error: {
          code: "ERR_LZ4_CORRUPT_BLOCK",
          message: expect.not.stringContaining("dictionary"),
        },
      })
    // Once, for the connection.
    expect(warning).toBe(
      'messages of the server do not decode: a dictionary may have been shipped before the capture began: the option "dictionary" takes it',
    )
    expect(errors).toEqual([])
    expect(only(late(rest), { dictionary }).warning).toBeUndefined()
  })

  test("is replaced by one that is shipped", () => {
    const given = { dictionary: other }
    const file = late(concat(encoded([["a"], [long]]), wire))
    const { messages, shipments, dictionaries } = only(file, given)
    expect(messages.map(({ parts }) => parts[0]!.kind)).toEqual([
      ...["plain", "LZ4B", "LZ4B", "LZ4B", "LZ4B"],
    ])
    expect(shipments).toHaveLength(1)
    expect(messages.every(({ parts }) => parts[0]!.plain !== undefined)).toBe(true)
    expect(dictionaries.server).toEqual(new Uint8Array(dictionary))
  })

  test("is marked where it was used, until one is shipped", () => {
    const marks = (file: Uint8Array) =>
      only(file, { dictionary }).messages.map(({ parts }) =>
        parts.map(
          ({ kind, error, dictionary }) => `${error ? "broken " : ""}${kind} ${dictionary}`,
        ),
      )
    const pair = encoded([["a", long]])
    const arena = encoded([["a"], [long]], { arenas: true })
    const stored = storedArena([text("a")], [text("b")])
    const broken = message(rest.subarray(2, 16))
    expect(marks(late(concat(pair, arena, stored, broken, wire)))).toEqual([
      ["plain undefined", "LZ4B given"],
      ["LZ4A given"],
      ["LZ4A given"],
      ["LZ4A undefined"],
      ["LZ4A undefined"],
      ["broken LZ4B undefined"],
      ...Array(3).fill(["LZ4B undefined"]),
    ])
    expect(marks(captured([["server", concat(server, wire)]])).flat()).not.toContain("LZ4B given")
  })

  test("is chosen by a function for each connection and side", () => {
    const asked: string[] = []
    const file = captured(
      [
        ["client", rest],
        ["server", concat(rest, rest)],
      ],
      { begun: false },
    )
    const choose: CaptureOptions["dictionary"] = ({ id, client }, from) => {
      asked.push(`${id} ${client} ${from}`)
      return from === "server" ? dictionary : undefined
    }
    expect(saidIn(file, { dictionary: choose })).toEqual([
      ...Array(3).fill("client: LZ4B (ERR_LZ4_CORRUPT_BLOCK)"),
      ...decoded,
      ...decoded,
    ])
    expect(asked).toEqual(["1 127.0.0.1:40000 client", "1 127.0.0.1:40000 server"])
  })

  test.each<[given: unknown, error: RegExp]>([
    ["words", /^TypeError: dictionary must be a Uint8Array/],
    [new Uint8Array(8193), /^RangeError: dictionary must be 1 to 8192 bytes long/],
  ])("a function must return one: %j", (given, error) => {
    const reader = new CaptureReader({ dictionary: () => given as Uint8Array })
    let thrown: unknown
    try {
      reader.push(late(rest))
    } catch (caught) {
      thrown = caught
    }
    expect(String(thrown)).toMatch(error)
    expect(() => reader.push(rest)).toThrow("closed")
  })

  test("is not used if the beginning is captured", () => {
    const file = captured([["server", concat(server, rest)]], { begun: false })
    expect(saidIn(file, { dictionary })).toEqual(
      Array(3).fill("server: LZ4B (ERR_LZ4_CORRUPT_BLOCK)"),
    )
  })
})

describe("with any chunks", () => {
  const said = concat(
    client,
    encoded([["a"], ["b", long]], { dictionary: text(long.slice(0, 60)) }),
    command("SUBSCRIBE", text("topic")),
    encoded([["c", "", "d"], [long]], { arenas: true }),
    Uint8Array.of(0x80, 9, 9),
    encoded([["e".repeat(300)], [long], [long]]),
  )
  const file = captured([
    ["client", said],
    ["server", concat(server, message(text("x")))],
  ])

  test.each([
    ["a stream", said],
    ["a .pcap file", file],
  ])("the events are the same: %s", (_, bytes) => {
    const whole = eventsOf(bytes)
    expect(whole.filter(({ type }) => type === "message").length).toBeGreaterThan(7)
    for (const size of [1, 2, 3, 7, 11, 64, 100, 1000]) {
      const events = eventsOf(bytes, size)
      expect(linesOf(events)).toEqual(linesOf(whole))
      expect(events).toEqual(whole)
    }
    for (let split = 1; split < bytes.length; split += bytes === said ? 1 : 13) {
      const reader = new CaptureReader()
      const pieces = [bytes.subarray(0, split), bytes.subarray(split)]
      const events = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
      expect(linesOf(events)).toEqual(linesOf(whole))
    }
  })

  test.each([
    ["of a greeting", client.subarray(0, 40)],
    [
      "of a body that is longer than a number can say",
      concat(client, frameHead(2n ** 62n), text(long)),
    ],
  ])("the error for a truncated file is the same %s", (_, bytes) => {
    expect(eventsOf(bytes, 1)).toEqual(eventsOf(bytes))
  })

  test("readCapture gives the same events from all kinds of input, with progress", async () => {
    const whole = linesOf(eventsOf(file))
    const pieces = [file.slice(0, 1000), file.slice(1000)]
    const sources = [
      new Blob([file as Uint8Array<ArrayBuffer>]),
      new Blob(pieces as Uint8Array<ArrayBuffer>[]).stream(),
      (async function* () {
        yield* pieces
      })(),
    ]
    for (const source of sources) {
      const progress: [number, number | undefined][] = []
      const events: CaptureEvent[] = []
      const onProgress = (read: number, total: number | undefined) => progress.push([read, total])
      for await (const event of readCapture(source, { onProgress })) events.push(event)
      expect(linesOf(events)).toEqual(whole)
      expect(progress.at(-1)).toEqual([
        file.length,
        source instanceof Blob ? file.length : undefined,
      ])
    }
  })

  test("readCapture stops when it is aborted", async () => {
    const controller = new AbortController()
    let ended = false
    const source = (async function* () {
      try {
        for (;;) yield file
      } finally {
        ended = true
      }
    })()
    const reading = (async () => {
      for await (const _ of readCapture(source, { signal: controller.signal }))
        controller.abort(new Error("enough"))
    })()
    await expect(reading).rejects.toThrow("enough")
    expect(ended).toBe(true)
  })
})

test("decodeFrames decodes the ranges of a message to the message", () => {
  const dictionary = text(long.slice(0, 60))
  const options = { dictionary, arenas: true }
  const file = captured(
    [["client", concat(client, encoded([["a", long], ["b"], ["c"], ["d".repeat(9000)]], options))]],
    { segmentBytes: 100 },
  )
  const { messages, shipments, transport, dictionaries } = only(file)
  expect(shipments).toHaveLength(1)
  for (const { ranges, parts, wireBytes, plainBytes, arena } of [...shipments, ...messages]) {
    const pieces: Uint8Array[] = []
    for (let i = 0; i < ranges.length; i += 2)
      pieces.push(file.subarray(ranges[i]!, ranges[i]! + ranges[i + 1]!))
    const known = parts[0]!.kind === "LZ4D" ? {} : { dictionary: dictionaries.client! }
    const again = decodeFrames(concat(...pieces), { transport: transport!, ...known })
    expect(again[arena?.index ?? 0]).toEqual({ parts, wireBytes, plainBytes, arena })
    expect(again.length).toBe(arena?.messages ?? 1)
  }
})

describe("wrong arguments", () => {
  test.each<[options: object, error: RegExp]>([
    [{ maxMessageSize: 1.5 }, /^RangeError: maxMessageSize must be an integer from -1/],
    [{ maxMessageSize: "1" }, /^TypeError: maxMessageSize must be a number; got "1"/],
    [{ dictionary: new Uint8Array(0) }, /^RangeError: dictionary must be 1 to 8192 bytes/],
    [{ dictionary: "words" }, /^TypeError: dictionary must be a Uint8Array/],
    [{ arenas: true }, /^TypeError: unknown option "arenas"/],
  ])("%j", async (options, error) => {
    const thrown = async (work: () => unknown) => {
      try {
        await work()
      } catch (error) {
        return String(error)
      }
      return "nothing"
    }
    const given = options as Omit<CaptureOptions, "dictionary">
    expect(await thrown(() => new CaptureReader(given))).toMatch(error)
    expect(await thrown(() => decodeCapture(client, given))).toMatch(error)
    expect(await thrown(() => readCapture(new Blob(), given).next())).toMatch(error)
    expect(await thrown(() => decodeFrames(client, { transport: "tcp", ...given }))).toMatch(error)
  })

  test("values that are not files, chunks or frames", async () => {
    expect(() => decodeCapture("file" as never)).toThrow(TypeError)
    expect(() => new CaptureReader().push([1] as never)).toThrow(TypeError)
    await expect(readCapture("file" as never).next()).rejects.toThrow(TypeError)
    async function* buffers() {
      yield new ArrayBuffer(8)
    }
    await expect(readCapture(buffers() as never).next()).rejects.toThrow(TypeError)
    const tcp = { transport: "tcp" } as const
    expect(() => decodeFrames("frames" as never, tcp)).toThrow(TypeError)
    expect(() => decodeFrames(client, { transport: "udp" } as never)).toThrow(
      /"lz4\+tcp", "zstd\+tcp" or "tcp"/,
    )
    expect(() => decodeFrames(Uint8Array.of(0, 9, 1), tcp)).toThrow(RangeError)
    expect(() => decodeFrames(Uint8Array.of(0x40, 0), tcp)).toThrow(/ERR_ZMTP_FRAME/)
  })

  test("a file that is not a capture closes the reader", () => {
    const reader = new CaptureReader()
    expect(() => {
      reader.push(text("<!doctype html><title>no capture</title>"))
      reader.end()
    }).toThrow(CaptureFormatError)
    expect(() => reader.push(client)).toThrow("the capture reader is closed")
    reader.close()
  })
})

test("a connection with READY only has no transport yet", () => {
  const { transport }: CaptureConnection = only(concat(greeting(), ready("PUB")))
  expect(transport).toBeUndefined()
})
