/** Connections with CURVE that a key log opens (docs/curve.md, “Reading a recording”). */
import { describe, expect, test } from "vitest"
import {
  type CaptureOptions,
  CaptureReader,
  decodeCapture,
  decodeFrames,
  KeyLog,
} from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

import { conversation } from "../../support/capture-files.js"
import { captured, captureOf, eventsOf, linesOf, saidIn } from "../../support/captures.js"
import { pair, someBytes } from "../../support/curve.js"
import { curveConversation } from "../../support/curve-conversation.js"
import { concat, dictionaryPart, plainPart } from "../../support/wire.js"
import { COMMAND, frame, MORE, message } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
const withKeys = (...lines: string[]): CaptureOptions => ({ keys: new KeyLog(lines.join("")) })
const strangers = `CURVE ${"ab".repeat(32)} ${"cd".repeat(32)}\n`
/** A frame that begins in the middle of a connection, whose handshake is not in the capture. */
const inside = { begun: false }

test.each(["client", "server"] as const)(
  "with CURVE's server on TCP's %s, all is read",
  async (side) => {
    const { said, log, seal } = curveConversation(side, {
      socketType: "DEALER",
      routingId: bytes("me"),
    })
    const codec = await Codec.create()
    const text = "text ".repeat(1000)
    const compressed = codec.encodePart(bytes(text))
    const file = captured([
      ...said,
      ["client", seal.client(message(plainPart(bytes("question")), compressed))],
      ["server", seal.server(message(plainPart(bytes("answer"))))],
      ["client", seal.client(frame(bytes("\x04PING\0\x0a"), COMMAND))],
      ["client", seal.client(message(compressed))],
    ])
    const lines = linesOf(eventsOf(file, undefined, withKeys(strangers, log)))
    expect(lines.filter((line) => /READY|INITIATE/.test(line))).toHaveLength(2)
    for (const line of lines.filter((line) => /READY|INITIATE/.test(line)))
      expect(line).toContain('Socket-Type "DEALER", Identity "me", X-Lz4-Revision "2"')
    expect(lines.slice(-5)).toEqual([
      `client: plain question | LZ4B ${text}`,
      "server: plain answer",
      "client: PING time to live 1 s",
      `client: LZ4B ${text}`,
      "close 1",
    ])
    const [connection] = decodeCapture(file, withKeys(log)).connections
    expect(connection).toMatchObject({
      transport: "lz4+tcp",
      encrypted: { client: { messages: 0 }, server: { messages: 0 } },
      traffic: { client: { messages: 2 }, server: { messages: 1, plainBytes: 6 } },
      errors: [],
    })
    expect(connection?.handshakes.client?.socketType).toBe("DEALER")
    // Without a key for it, nothing of that.
    expect(decodeCapture(file, withKeys(strangers)).connections).toMatchObject([
      { transport: undefined, curveKey: undefined, encrypted: { client: { messages: 4 } } },
    ])
  },
)

test("a message is decoded again from its ranges, with the key of its connection", () => {
  const { said, log, seal } = curveConversation()
  const large = someBytes(100_000)
  const file = captured([
    ...said,
    ["client", seal.client(message(plainPart(bytes("a")), plainPart(large)))],
    ["server", seal.server(message(plainPart(bytes("b"))))],
  ])
  const [connection] = decodeCapture(file, withKeys(log)).connections
  expect(connection?.messages).toHaveLength(2)
  for (const { ranges, parts } of connection!.messages) {
    const pieces: Uint8Array[] = []
    for (let i = 0; i < ranges.length; i += 2)
      pieces.push(file.subarray(ranges[i]!, ranges[i]! + ranges[i + 1]!))
    const frames = concat(...pieces)
    const how = { transport: "lz4+tcp", curveKey: connection!.curveKey } as const
    expect(decodeFrames(frames, how)).toMatchObject([{ parts }])
    expect(() => decodeFrames(frames, { ...how, curveKey: new Uint8Array(32) })).toThrow(
      "ERR_ZMTP_CURVE: a MESSAGE was changed on the way, or sealed with another key",
    )
    expect(() => decodeFrames(frames, { ...how, curveKey: new Uint8Array(31) })).toThrow(
      "curveKey must have 32 bytes; got 31",
    )
    expect(() => decodeFrames(message(bytes("no MESSAGE")), how)).toThrow("ERR_ZMTP_CURVE")
  }
})

describe("MORE outside, which some peers repeat there,", () => {
  const { said, log, seal } = curveConversation()
  const sealed = (text: string, inside: number, outside: number) => {
    const bytesOf = seal.client(frame(plainPart(bytes(text)), inside))
    bytesOf[0]! |= outside
    return ["client", bytesOf] as const
  }
  const frames = [sealed("a", MORE, MORE), sealed("b", MORE, MORE), sealed("c", 0, 0)]

  test.each([
    ["in a whole connection", said, {}],
    ["in one whose handshake is missing", [], inside],
  ])("changes nothing %s", (_, before, options) => {
    const file = captured([...before, ...frames], options)
    const [connection] = decodeCapture(file, withKeys(log)).connections
    const [{ ranges, parts }] = connection!.messages as [
      (typeof connection & object)["messages"][0],
    ]
    expect(parts).toHaveLength(3)
    const pieces = ranges.flatMap((at, i) =>
      i % 2 === 0 ? [file.subarray(at, at + ranges[i + 1]!)] : [],
    )
    const how = { transport: "lz4+tcp", curveKey: connection!.curveKey } as const
    expect(decodeFrames(concat(...pieces), how)).toMatchObject([{ parts }])
  })

  test("is refused if it is not inside, as peers do", () => {
    const file = captured([...said, sealed("d", 0, MORE), sealed("e", 0, 0)])
    expect(saidIn(file, withKeys(log)).slice(-3)).toEqual([
      "client: ERR_ZMTP_CURVE: the head of a MESSAGE's frame is not allowed",
      "client: MESSAGE encrypted, 30 bytes",
      "client: plain e",
    ])
  })
})

describe("a connection whose handshake is not in the capture", () => {
  const { log, seal } = curveConversation()
  const file = captured(
    [
      ["client", seal.client(message(plainPart(bytes("question"))))],
      ["server", seal.server(message(plainPart(bytes("answer"))))],
      ["client", seal.client(message(plainPart(bytes("another"))))],
    ],
    inside,
  )

  test("is opened with the key that fits", () => {
    const said = ["client: plain question", "server: plain answer", "client: plain another"]
    expect(saidIn(file, withKeys(strangers, log))).toEqual(said)
  })

  test("is shown as encrypted if none does", () => {
    for (const options of [{}, withKeys(strangers)]) {
      const [connection] = decodeCapture(file, options).connections
      expect(connection?.encrypted).toMatchObject({
        client: { messages: 2 },
        server: { messages: 1 },
      })
      expect(connection?.messages).toEqual([])
    }
  })

  test("tries keys with its first 8 messages", () => {
    const { log, seal } = curveConversation()
    const keys = new KeyLog(strangers)
    const reader = new CaptureReader({ keys })
    const said = Array.from({ length: 10 }, (_, i) =>
      seal.client(message(plainPart(bytes(`${i}`)))),
    )
    const file = captured(
      said.map((bytes) => ["client", bytes]),
      inside,
    )
    const half = Math.ceil(file.length / 2)
    const events = [...reader.push(file.slice(0, half))]
    keys.add(log)
    events.push(...reader.push(file.slice(half)), ...reader.end())
    const lines = linesOf(events).filter((line) => line.startsWith("client"))
    expect(lines.slice(0, 2)).toEqual([
      "client: MESSAGE encrypted, 30 bytes",
      "client: MESSAGE encrypted, 30 bytes",
    ])
    expect(lines.at(-1)).toBe("client: plain 9")
  })
})

test("what only looks like CURVE, in a recording that began in the middle, hides no message", () => {
  const looks = message(bytes("\x07MESSAGE and so on, with more than thirty-three bytes"))
  const messages = [looks, message(bytes("first")), looks, message(bytes("second"))]
  const file = captured([["client", concat(...messages)]], inside)
  expect(saidIn(file, withKeys(strangers))).toEqual([
    "client: MESSAGE encrypted, 45 bytes",
    "client: first",
    "client: \x07MESSAGE and so on, with more than thirty-three bytes",
    "client: second",
  ])
})

test("keys are tried for a limited time, however many there are", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => {
    const key = i.toString(16).padStart(64, "0")
    return `CURVE ${key} ${key}\n`
  })
  const { log, seal } = curveConversation()
  const packets = (client: string) =>
    conversation([["client", seal.client(message(plainPart(bytes("text"))))]], {
      ...inside,
      client,
    })
  const known = packets("127.0.0.1:50000")
  const many = Array.from({ length: 40 }, (_, i) => packets(`127.0.0.2:${50_000 + i}`))
  const keys = new KeyLog(lines.join(""))
  using reader = new CaptureReader({ keys })
  reader.push(captureOf(many.flat()))
  keys.add(log)
  const last = linesOf(reader.push(captureOf(known).subarray(24)))
  expect(last.at(-1)).toBe("client: MESSAGE encrypted, 33 bytes")
})

test("a message that was not opened may have had the dictionary", () => {
  const { said, log, seal } = curveConversation()
  const dictionary = bytes("it was a dark and stormy night")
  using codec = Codec.createSync({ dictionary })
  const compressed = codec.encodePart(bytes("it was a dark and stormy night, ".repeat(9)))
  const file = captured([
    ...said,
    ["client", seal.client(message(dictionaryPart(dictionary)))],
    ["client", seal.client(message(compressed))],
  ])
  const keys = new KeyLog()
  using reader = new CaptureReader({ keys })
  const end = Buffer.from(file).lastIndexOf("\x07MESSAGE") - 2 - 70
  reader.push(file.slice(0, end))
  keys.add(log)
  const [event] = reader.push(file.slice(end))
  expect(event).toMatchObject({ message: { parts: [{ kind: "LZ4B", dictionary: "missing" }] } })
  expect(event?.connection?.warning).toBe(
    "messages of the client do not decode: a dictionary may have been in a message that was not opened",
  )
})

test("a key that is logged later opens what follows", () => {
  const { said, log, seal } = curveConversation()
  const keys = new KeyLog()
  const file = captured([
    ...said,
    ["client", seal.client(message(plainPart(bytes("first"))))],
    ["client", seal.client(message(plainPart(bytes("second"))))],
  ])
  const end = Buffer.from(file).lastIndexOf("\x07MESSAGE") - 2 - 70
  const reader = new CaptureReader({ keys })
  const first = reader.push(file.slice(0, end))
  keys.add(log.slice(0, 20))
  keys.add(log.slice(20))
  const rest = [...reader.push(file.slice(end)), ...reader.end()]
  expect(linesOf(first).at(-1)).toBe("client: MESSAGE encrypted, 34 bytes")
  expect(linesOf(rest)).toEqual(["client: plain second", "close 1"])
})

describe("damage", () => {
  const { said, log, seal } = curveConversation()
  const text = (...texts: string[]) => message(...texts.map((text) => plainPart(bytes(text))))
  /** Two messages of two parts each, and one of one part: their frames. */
  const frames = [
    ...["a1", "a2", "b1", "b2"].map((name, i) =>
      seal.client(frame(plainPart(bytes(name)), i % 2 === 0 ? MORE : 0)),
    ),
    seal.client(text("c")),
    seal.client(text("d")),
  ]
  const read = (...places: number[]) =>
    saidIn(
      captured([...said, ...places.map((i) => ["client", frames[i]] as ["client", Uint8Array])]),
      withKeys(log),
    ).filter((line) => !/HELLO|WELCOME|INITIATE/.test(line))

  /** Expects that a changed frame is an error, and the frame after it is read. */
  const expectOnlyRefused = (changed: Uint8Array) =>
    expect(
      saidIn(captured([...said, ["client", changed], ["client", frames[5]!]]), withKeys(log)).slice(
        -3,
      ),
    ).toEqual([
      "client: ERR_ZMTP_CURVE: a MESSAGE was changed on the way, or sealed with another key",
      "client: MESSAGE encrypted, 30 bytes",
      "client: plain d",
    ])

  test("of a message that lost a part, nothing is shown", () => {
    const lost = "client: ERR_CAPTURE_GAP: 1 encrypted frame missing from the capture: "
    expect(read(0, 2, 3, 4)).toEqual([`${lost}their message is lost`, "client: plain c"])
    expect(read(0, 1, 4)).toEqual([
      "client: plain a1 | plain a2",
      "client: ERR_CAPTURE_GAP: 2 encrypted frames missing from the capture: the start of the next message is a guess",
      "client: plain c",
    ])
  })

  test("a frame that comes again is an error, and no message", () => {
    expect(read(4, 4, 5)).toEqual([
      "client: plain c",
      "client: ERR_ZMTP_CURVE: a MESSAGE came twice, or out of order",
      "client: MESSAGE encrypted, 30 bytes",
      "client: plain d",
    ])
  })

  test("the counter of a frame that was changed does not count", () => {
    const changed = frames[4]!.slice()
    changed.fill(0xff, 2 + 8, 2 + 16)
    expectOnlyRefused(changed)
  })

  test("what is not complete is dropped with its connection, whose end is its last event", () => {
    const { said, log, seal } = curveConversation()
    const part = seal.client(frame(plainPart(new Uint8Array(1 << 20)), MORE))
    const half = seal.client(text("half")).subarray(0, 20)
    const packets = Array.from({ length: 300 }, (_, i) =>
      conversation([...said, ["client", part], ["client", half]], {
        client: `127.0.0.1:${i + 1}`,
        closed: "FIN",
        segmentBytes: 1 << 15,
      }),
    )
    using reader = new CaptureReader(withKeys(log))
    const errors: string[] = []
    reader.push(captureOf([]))
    for (const one of packets)
      for (const event of reader.push(captureOf(one).subarray(24)))
        if (event.type === "error") errors.push(event.error.message)
    expect(errors).toHaveLength(300)
    expect(new Set(errors)).toEqual(
      new Set(["the connection ends after 18 of the 41 bytes of a frame"]),
    )
  })

  test("a message whose end is missing is an error", () => {
    expect(read(0)).toEqual([
      "client: ERR_CAPTURE_TRUNCATED: the capture ends between two parts of a message",
    ])
  })

  test("a frame that was changed is an error; the others are read", () => {
    const changed = frames[4]!.slice()
    changed[changed.length - 1]! ^= 1
    expectOnlyRefused(changed)
  })
})

describe("a key log", () => {
  const { publicKey } = pair(3)
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
  const line = `CURVE ${hex(publicKey)} ${"0f".repeat(32)}`

  test.each([
    ["with comments and empty lines", `# keys\n\n${line}\n`],
    ["without the end of its last line", line],
    ["from Windows, in capitals", `# keys\r\n${line.toUpperCase()}\r\n`],
  ])("%s", (_, text) => {
    const whole = new KeyLog(text)
    const pieces = new KeyLog()
    for (const character of text) pieces.add(character)
    for (const log of [whole, pieces]) {
      expect(log.size).toBe(1)
      expect(log.keyOf(publicKey)).toEqual(new Uint8Array(32).fill(15))
      expect(log.keyOf(pair(4).publicKey)).toBeUndefined()
    }
  })

  test("has the keys behind lines that a full disk cut off, and not those of comments", () => {
    const others = [5, 6].map((i) => `CURVE ${hex(pair(i).publicKey)} ${"0e".repeat(32)}`)
    const [other, last] = others as [string, string]
    for (const length of [1, 6, 7, 60, 71, 100, other.length]) {
      const text = `# ${last}\n${line}\n${other.slice(0, length)}${other.slice(0, 70)}${line}\n# ${last}`
      const log = new KeyLog(text)
      expect(log.size).toBe(length === other.length ? 2 : 1)
      expect(log.keyOf(publicKey)).toBeDefined()
    }
  })

  test("says in which line there is no key, and does not quote it", () => {
    expect(() => new KeyLog(`# keys\n${line}\nsecret\n`)).toThrow(
      new SyntaxError(
        "line 3 of the key log is not CURVE, a public key and a key of 64 hexadecimal digits each",
      ),
    )
    expect(() => new KeyLog(`${line}00\n`)).toThrow(SyntaxError)
  })

  test("is the only thing that `keys` takes", () => {
    expect(() => new CaptureReader({ keys: line as unknown as KeyLog })).toThrow(
      /^keys must be a KeyLog; got/,
    )
  })
})
