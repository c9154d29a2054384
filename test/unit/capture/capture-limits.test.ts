/** Captures of peers that send too much: texts and memory are limited. */
import { describe, expect, test, vi } from "vitest"
import { type CaptureEvent, CaptureReader, decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { createRandom } from "../../../bench/random.mjs"
import { decodeWithin } from "../../../src/capture/decode-capture.js"
import type { Time } from "../../../src/capture/events.js"
import { Backlog, Reassembly } from "../../../src/capture/packets/reassembly.js"
import { SharedMemory, Unfinished } from "../../../src/capture/streams/memory.js"
import { ZmtpConnection } from "../../../src/capture/streams/zmtp-connection.js"
import { summaryText } from "../../../src/cli/inspect-summary.js"
import { Tally } from "../../../src/cli/inspect-tally.js"
import { loadInstanceSync } from "../../../src/codec/module.js"
import {
  conversation,
  framesOf,
  fromClients,
  LINK_TYPES,
  pcapFile,
  pcapngFile,
  type Said,
  type TcpPacket,
} from "../../support/capture-files.js"
import { linesOf, only, saidIn } from "../../support/captures.js"
import { heldBytes } from "../../support/held-bytes.js"
import { concat, plainPart } from "../../support/wire.js"
import {
  COMMAND,
  frame,
  frameHead,
  greeting,
  handshake,
  MORE,
  message,
} from "../../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const capture = (said: Said): Uint8Array => pcapFile(framesOf(conversation(said)))
/** The place of a sequence number in a packet, with the headers of its record, Ethernet and IPv4. */
const SEQUENCE = 16 + 14 + 20 + 4
const server: Said[number] = ["server", handshake("PULL")]

function property(name: string, value: Uint8Array): Uint8Array {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, value.length)
  return concat(Uint8Array.of(name.length), text(name), length, value)
}
const ready = (...properties: Uint8Array[]): Uint8Array =>
  frame(concat(Uint8Array.of(5), text("READY"), ...properties), COMMAND)

describe("a READY", () => {
  test("may have a socket type of 200 KB, and later messages are read", () => {
    const type = "T".repeat(200_000)
    const bytes = concat(greeting(), ready(property("Socket-Type", text(type))))
    const { handshakes, commands, messages, errors } = only(
      capture([["client", concat(bytes, message(text("hello")))], server]),
    )
    expect(handshakes.client?.socketType).toBe(type)
    expect(commands[0]?.detail).toBe(`Socket-Type "${"T".repeat(100)}" …`)
    expect(messages).toHaveLength(1)
    expect(errors).toEqual([])
  })

  test("a READY of 80,000 properties is described by a few, and 256 are kept", () => {
    const properties = Array.from({ length: 80_000 }, (_, i) => property(`X${i}`, text("v")))
    const file = capture([["client", concat(greeting(), ready(Buffer.concat(properties)))], server])
    const { handshakes, commands } = only(file)
    expect(handshakes.client?.properties.size).toBe(256)
    expect(commands[0]?.detail).toMatch(/^X0 "v", X1 "v", .{100,200} …$/)
  })
})

describe("the interfaces of a section of a .pcapng", () => {
  const withInterfaces = (count: number, client = "127.0.0.1:40000"): Uint8Array => {
    const packets = conversation([["client", handshake("PUSH")], server], { client })
    const linkTypes = Array(count).fill(LINK_TYPES.ETHERNET)
    return pcapngFile(framesOf(packets), { linkTypes })
  }

  test("may be 65,536, in each section", () => {
    const { connections, errors } = decodeCapture(
      concat(withInterfaces(65_536), withInterfaces(65_536, "127.0.0.1:40001")),
    )
    expect(connections).toHaveLength(2)
    expect(errors).toEqual([])
  })

  test("may not be more, or the rest of the file is not read", () => {
    const { connections, errors } = decodeCapture(withInterfaces(65_537))
    expect(connections).toEqual([])
    expect(errors).toMatchObject([
      {
        code: "ERR_CAPTURE_UNREADABLE",
        message: "a section describes more than 65536 interfaces; nothing after it is read",
      },
    ])
  })
})

describe("an error quotes printable characters, and few of them", () => {
  test.each<[what: string, bytes: Uint8Array, says: RegExp]>([
    ["HTTP", text(`GET /${"a".repeat(128_000)} HTTP/1.1\r\n`), /^the greeting looks like HTTP/],
    ["noise", new Uint8Array(128_000).fill(0x9b), /^the greeting begins with 9b 9b/],
    ["a mechanism", greeting({ mechanism: "\x1b]0;\x07\x9b2J" }), /"\\x1b\]0;\\x07\\x9b2J"/],
  ])("%s", (_, bytes, says) => {
    const { connections } = decodeCapture(capture([server, ["client", bytes]]))
    const [error] = connections[0]?.errors ?? []
    expect(error?.message).toMatch(says)
    expect(error?.message.length).toBeLessThan(200)
    expect(error?.message).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })

  test("a command that is not well-formed", () => {
    const malformed = frame(
      concat(Uint8Array.of(5), text("ERROR"), new Uint8Array(500_000).fill(0xff)),
      COMMAND,
    )
    const { commands } = only(capture([["client", concat(greeting(), malformed)], server]))
    expect(commands[0]?.detail.length).toBeLessThan(1000)
  })
})

describe("maxMessageSize limits the bytes collected for a message", () => {
  const client = handshake("PUSH")
  const MiB = 1 << 20
  const options = { maxMessageSize: MiB }

  test("a frame that cannot fit is refused at its header, and later ones are read", () => {
    const reader = new CaptureReader(options)
    const events = reader.push(concat(client, frameHead(1_200_000_000)))
    expect(linesOf(events).at(-1)).toMatch(
      /^client: ERR_LZ4_BUDGET_EXCEEDED: part 0 has 1200000000 bytes on the wire; \d+ left of the most that a message of maxMessageSize 1048576 can take/,
    )
    const before = heldBytes()
    const chunk = new Uint8Array(MiB)
    let bytes = 1_200_000_000
    for (; bytes > chunk.length; bytes -= chunk.length) expect(reader.push(chunk)).toEqual([])
    expect(heldBytes() - before).toBeLessThan(8 * MiB)
    const last = [...reader.push(concat(chunk.subarray(0, bytes), message(text("hello"))))]
    expect(linesOf(last)).toEqual(["client: hello"])
    reader.close()
  })

  test("a message whose parts together cannot fit is refused too", () => {
    const part = (flags: number) => frame(plainPart(new Uint8Array(MiB / 2)), flags)
    const file = concat(client, part(MORE), part(MORE), part(MORE), part(0), message(text("hello")))
    expect(saidIn(file, options)).toEqual([
      expect.stringMatching(/^client: ERR_LZ4_BUDGET_EXCEEDED: part 2 has 524292 bytes/),
      "client: hello",
    ])
  })

  test.each([
    [0, 0],
    [1, 1],
    [70_000, 70_000],
    [MiB, MiB],
    [MiB, MiB / 2],
  ])(
    "a message that fits is accepted, in every form: maxMessageSize %i",
    (maxMessageSize, bytes) => {
      const plains = [new Uint8Array(bytes), createRandom("noise").bytes(bytes)]
      using codec = Codec.createSync()
      const sent = codec.encodeBatch(plains.map((plain) => [plain]))
      const file = concat(client, ...sent.map((parts) => message(...parts)))
      const { messages, errors } = decodeCapture(file, { maxMessageSize }).connections[0]!
      expect(errors).toEqual([])
      expect(messages.map(({ parts }) => parts[0]?.plain?.length)).toEqual([bytes, bytes])
    },
  )

  test("dictionaries and arenas do not count", () => {
    const dictionary = createRandom("dictionary").bytes(8192)
    using codec = Codec.createSync({ dictionary, arenas: true })
    const sent = codec.encodeBatch(Array.from({ length: 200 }, (_, i) => [text(`message ${i}`)]))
    const file = concat(client, ...sent.map((parts) => message(...parts)))
    const { connections } = decodeCapture(file, { maxMessageSize: 20 })
    const { messages, shipments, errors } = connections[0]!
    expect(errors).toEqual([])
    expect(messages.flatMap(({ parts }) => parts).every(({ error }) => !error)).toBe(true)
    expect(messages).toHaveLength(200)
    expect(shipments).toHaveLength(1)
  })

  test("a frame without enough memory is an error, and later ones are read", () => {
    const reader = new CaptureReader()
    const { allocUnsafeSlow } = Buffer
    const spy = vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation((bytes) => {
      if (bytes === 100_000) throw new RangeError("Array buffer allocation failed")
      return allocUnsafeSlow(bytes)
    })
    const events: CaptureEvent[] = []
    try {
      events.push(...reader.push(concat(client, frameHead(100_000))))
      for (let i = 0; i < 10; i++) events.push(...reader.push(new Uint8Array(10_000)))
    } finally {
      spy.mockRestore()
    }
    events.push(...reader.push(message(text("hello"))), ...reader.end())
    expect(linesOf(events).slice(-3)).toEqual([
      "client: ERR_CAPTURE_UNREADABLE: not enough memory for a frame of 100000 bytes: skipped",
      "client: hello",
      "close 1",
    ])
  })
})

describe("unfinished messages", () => {
  const holder = () => {
    const forgotten: Time[] = []
    return { forgotten, forget: (time: Time) => void forgotten.push(time) }
  }

  test("have a limit over all directions: those that grew longest ago are dropped", () => {
    const unfinished = new Unfinished(250)
    const [a, b, c] = [holder(), holder(), holder()]
    unfinished.set(a, 100, 1n)
    unfinished.set(b, 100, 2n)
    unfinished.set(a, 120, 3n)
    unfinished.set(c, 100, 4n)
    expect([a.forgotten, b.forgotten, c.forgotten]).toEqual([[], [4n], []])
    unfinished.set(a, 0, 5n)
    unfinished.set(b, 150, 6n)
    unfinished.set(c, 1000, 7n)
    expect([a.forgotten, b.forgotten, c.forgotten]).toEqual([[], [4n, 7n], []])
    unfinished.set(a, 1, 8n)
    expect(c.forgotten).toEqual([8n])
  })

  /** A connection that is read in pieces, beside others in the same capture. */
  function connections(maxBytes: ConstructorParameters<typeof SharedMemory>[0]) {
    const events: CaptureEvent[] = []
    const memory = new SharedMemory(maxBytes)
    let id = 0
    const open = () => {
      const tcp = { client: "c", server: "s", begun: true, time: undefined }
      const connection = new ZmtpConnection(
        {
          instanceOf: () => loadInstanceSync(),
          budgetBytes: -1,
          dictionary: undefined,
          emit: (event) => events.push(event),
          nextId: () => ++id,
          memory,
          told: { isCut: false },
          leaveOut: () => leftOut++,
          ended: () => {},
        },
        tcp,
      )
      const say = (...bytes: Uint8Array[]) => {
        for (const piece of bytes) connection.data("client", piece, 0, undefined)
      }
      say(handshake("PUSH"))
      /** Says each byte in another place of the file. */
      const scatter = (bytes: Uint8Array) => {
        for (const [i, byte] of bytes.entries())
          connection.data("client", Uint8Array.of(byte), 2 * i, undefined)
      }
      return {
        say,
        scatter,
        end: () =>
          ["client", "server"].map((side) => connection.end(side as "client", undefined, false)),
      }
    }
    let leftOut = 0
    const said = () =>
      linesOf(events.splice(0)).filter((line) => !/^(connection|close) |ZMTP|READY/.test(line))
    return { open, said, memory, leftOut: () => leftOut }
  }

  test.each<[what: string, half: Uint8Array, rest: Uint8Array, lost: RegExp]>([
    [
      "a body",
      concat(frameHead(3000), new Uint8Array(2000)),
      new Uint8Array(1000),
      /a message, after 2000 bytes of it: skipped/,
    ],
    [
      "parts",
      frame(new Uint8Array(2000), MORE),
      message(text("last")),
      /a message, after 2000 bytes of it: skipped/,
    ],
    [
      "small parts",
      concat(...Array(20).fill(frame(text(""), MORE))),
      message(text("last")),
      /a message, after 0 bytes of it: skipped/,
    ],
    [
      "a command",
      concat(frameHead(3000, COMMAND), new Uint8Array(2000)),
      new Uint8Array(1000),
      /a command of 3000 bytes: skipped/,
    ],
  ])(
    "unfinished messages of %s are left out, with an error, and later ones are read",
    (_, half, rest, lost) => {
      const { open, said } = connections({ unfinished: 5000 })
      const [a, b] = [open(), open()]
      a.say(half)
      expect(said()).toEqual([])
      b.say(frameHead(4000), new Uint8Array(3000))
      expect(said()).toEqual([expect.stringMatching(lost)])
      a.say(rest, message(text("hello")))
      b.say(new Uint8Array(1000).fill(0x61))
      expect(said()).toEqual([
        "client: hello",
        expect.stringMatching(/^client: plain \0{2996}a{1000}$/),
      ])
      // What was read no longer counts.
      a.say(half)
      b.say(frameHead(2000))
      expect(said()).toEqual([])
    },
  )

  test("unfinished messages of a direction in which frames are searched are skipped", () => {
    const { open, said } = connections({ unfinished: 5000 })
    const [a, b] = [open(), open()]
    const noise = concat(
      Uint8Array.of(0xff),
      ...Array(20)
        .fill(message(text("x".repeat(100))))
        .slice(0, 9),
    )
    a.say(noise, frameHead(200_000), new Uint8Array(2000))
    said()
    b.say(frameHead(6000), new Uint8Array(5000))
    expect(said()).toEqual([
      expect.stringMatching(/in which frames are searched: skipped|a message, after/),
    ])
  })

  test("unfinished messages of 8 connections take at most 256 MiB", () => {
    const reader = new CaptureReader()
    const body = new Uint8Array(1 << 20)
    const before = heldBytes()
    const lines: string[] = []
    const start = concat(handshake("PUSH"), frameHead(80 << 20))
    const [packet] = conversation([["client", body]], { segmentBytes: body.length, begun: false })
    lines.push(...linesOf(reader.push(pcapFile([]))))
    const opened = [...fromClients(8, conversation([["client", start]]))]
    const continued = [...fromClients(8, [packet!], { withoutLength: true })]
    for (const [i, packets] of opened.entries()) {
      lines.push(...linesOf(reader.push(packets)))
      for (let n = 0; n < 60; n++) {
        const more = continued[i]!
        new DataView(more.buffer).setUint32(SEQUENCE, 1001 + start.length + n * body.length)
        lines.push(...linesOf(reader.push(more)))
      }
    }
    const held = (heldBytes() - before) / (1 << 20)
    reader.close()
    expect(held).toBeGreaterThan(60)
    expect(held).toBeLessThan(300)
    expect(lines.filter((line) => /unfinished messages of all/.test(line)).length).toBeGreaterThan(
      3,
    )
  })

  test("are left out if the same bytes of the file complete too many", () => {
    const { open, said, memory, leftOut } = connections({ pending: 5000 })
    const a = open()
    memory.pending.renew()
    a.say(...Array<Uint8Array>(10).fill(message(plainPart(text("a")))))
    expect(said()).toHaveLength(5)
    expect(leftOut()).toBe(5)
    memory.pending.renew()
    a.say(message(plainPart(text("b"))))
    expect(said()).toEqual(["client: plain b"])
    // Errors too.
    memory.pending.renew()
    const ping = frame(concat(Uint8Array.of(4), text("PING"), new Uint8Array(2)), COMMAND)
    a.say(...Array<Uint8Array>(100).fill(concat(Uint8Array.of(0xff), ping, ping)))
    expect(said().length).toBeLessThan(20)
    memory.pending.renew()
  })

  test("count the places of a command, which are not kept if it is skipped", () => {
    const { open, said } = connections({ unfinished: 5000 })
    const [a, b] = [open(), open()]
    a.scatter(concat(frameHead(1000, COMMAND), new Uint8Array(600)))
    expect(said()).toEqual([])
    b.say(frameHead(4000), new Uint8Array(2000))
    expect(said()).toEqual([expect.stringMatching(/a command of 1000 bytes: skipped/)])
    a.scatter(new Uint8Array(400))
    a.scatter(concat(frameHead(2 ** 40, COMMAND), new Uint8Array(10_000)))
    expect(said()).toEqual([expect.stringMatching(/a command of 1099511627776 bytes/)])
    b.say(new Uint8Array(2000).fill(0x61))
    expect(said()).toHaveLength(1)
  })

  test("unfinished messages with a dictionary are left out if those of all connections take too much, until these end", () => {
    const { open, said } = connections({ dictionaries: 3000 })
    using codec = Codec.createSync({
      dictionary: new Uint8Array(1000).fill(0x61),
      minCompressSize: 0,
    })
    const sent = codec.encode([text("a".repeat(200))]).map((parts) => message(...parts))
    const [a, b] = [open(), open()]
    a.say(...sent, sent[0]!)
    expect(said()).toHaveLength(3)
    b.say(...sent)
    expect(said()).toEqual([
      expect.stringMatching(
        /the dictionaries of all connections take more than 3000 bytes: this one is left out/,
      ),
      expect.stringMatching(/ERR_LZ4_CORRUPT_BLOCK|LZ4B/),
    ])
    a.end()
    said()
    const c = open()
    c.say(...sent)
    expect(said().at(-1)).toBe(`client: LZ4B ${"a".repeat(200)}`)
  })

  test("of handshakes beyond a limit only the socket type is kept", () => {
    const reader = new CaptureReader()
    const before = heldBytes()
    const lines: string[] = []
    const large = ready(
      property("Socket-Type", text("PUSH")),
      property("X", new Uint8Array(1_000_000)),
    )
    const said = [["client", concat(greeting(), large, message(text("hello")))]] as const
    const each = fromClients(100, conversation(said, { segmentBytes: 60_000 }))
    for (const packets of [pcapFile([]), ...each]) lines.push(...linesOf(reader.push(packets)))
    expect(heldBytes() - before).toBeLessThan(100 << 20)
    reader.close()
    expect(lines.filter((line) => line === "client: ZMTP 3.1 NULL PUSH")).toHaveLength(200)
    expect(lines.filter((line) => line === "client: hello")).toHaveLength(100)
    expect(lines.filter((line) => /the handshakes of all/.test(line)).length).toBeGreaterThan(30)
  })

  test("decodeCapture keeps messages up to a limit, and says so", () => {
    const said = Array.from({ length: 10 }, (_, i) => message(text(`message ${i}`)))
    const { connections, errors } = decodeWithin([concat(handshake("PUSH"), ...said)], {}, 5500)
    expect(connections[0]?.messages).toHaveLength(6)
    expect(errors.map(({ message }) => message)).toEqual([
      "the messages and commands take more than 5500 bytes: the rest are left out",
    ])
  })

  test("a message that is larger than the limit is kept if it is the first", () => {
    const large = message(new Uint8Array(5000))
    const kept = decodeWithin([concat(handshake("PUSH"), large, large)], {}, 4000)
    expect(kept.connections[0]?.messages).toHaveLength(1)
    expect(kept.errors).toHaveLength(1)
  })
})

describe("data that waits for missing segments", () => {
  const piece = (bytes: Uint8Array) => ({ bytes, cut: 0, fin: false, offset: 0, time: 0n })
  const direction = (backlog: Backlog) => {
    const said: string[] = []
    const reassembly = new Reassembly(
      "client",
      {
        data: (_, bytes) => said.push(`data ${bytes.length}`),
        gap: (_, bytes) => said.push(`gap ${bytes}`),
        end: () => said.push("end"),
        cut: (_, bytes) => said.push(`cut ${bytes}`),
        repeated: () => {},
      },
      backlog,
    )
    reassembly.begin(0)
    return {
      said,
      wait: (at: number, bytes: number) => reassembly.push(at, piece(new Uint8Array(bytes))),
      reassembly,
    }
  }

  test.each([
    ["bytes", new Backlog(1000, 250)],
    ["segments", new Backlog(2, 1000)],
  ])("has a limit over all connections: the ones that waited longest give up %s", (_, backlog) => {
    const [a, b, c] = [direction(backlog), direction(backlog), direction(backlog)]
    a.wait(10, 100)
    b.wait(20, 100)
    expect([a.said, b.said]).toEqual([[], []])
    c.wait(30, 100)
    expect([a.said, b.said, c.said]).toEqual([["gap 10", "data 100"], [], []])
    a.wait(120, 100)
    expect(b.said).toEqual(["gap 20", "data 100"])
    c.wait(0, 30)
    expect(c.said).toEqual(["data 30", "data 100"])
    b.wait(130, 100)
    expect(a.said).toEqual(["gap 10", "data 100"])
  })

  test("is no longer counted once it is dropped", () => {
    const backlog = new Backlog(1000, 250)
    const [a, b] = [direction(backlog), direction(backlog)]
    a.wait(10, 200)
    a.reassembly.stop()
    b.wait(10, 200)
    expect([a.said, b.said]).toEqual([[], []])
  })

  test("uses at most 128 MiB, whatever the number of connections", () => {
    const reader = new CaptureReader()
    const events: CaptureEvent[] = []
    const data = new Uint8Array(60_000)
    const [syn, synAck, ack, lost, , late] = conversation(
      [
        ["client", greeting().subarray(0, 10)],
        ["client", data],
      ],
      { segmentBytes: data.length },
    )
    expect([lost!, late!].map(({ data, from }) => [from, data.length])).toEqual([
      ["client", 10],
      ["client", 60_000],
    ])
    reader.push(pcapFile([]))
    const before = heldBytes()
    for (const packets of fromClients(4000, [syn!, synAck!, ack!, late!]))
      events.push(...reader.push(packets))
    const held = heldBytes() - before
    expect(held).toBeGreaterThan(64 << 20)
    expect(held).toBeLessThan(200 << 20)
    expect(events).toEqual([])
    reader.close()
  })
})

describe("many connections", () => {
  const [one] = [handshake("PUSH")]
  const steady = conversation([
    ["client", one],
    ["client", message(text("before"))],
    ["client", message(text("after"))],
  ])
  /** Packets of peers that each send only the beginning of a greeting. */
  const flood = (count: number, bytes: number) => {
    const packets = conversation([["client", greeting().subarray(0, bytes)]])
    return fromClients(count, [packets[0]!, packets[3]!])
  }
  const packetsOf = (packets: TcpPacket[]) => pcapFile(framesOf(packets)).subarray(24)
  const head = pcapFile([])
  const count = (events: readonly CaptureEvent[], type: CaptureEvent["type"]) =>
    events.filter((event) => event.type === type).length

  test("without a complete greeting are limited, and do not affect others", () => {
    using reader = new CaptureReader()
    const events = reader.push(concat(head, packetsOf(steady.slice(0, 7))))
    for (const packets of flood(40_000, 10)) events.push(...reader.push(packets))
    expect(count(events, "connection") - count(events, "close")).toBeLessThan(20_000)
    const last = reader.push(packetsOf(steady.slice(7)))
    expect(linesOf(last)).toEqual(["client: after"])
    expect(events.filter(({ connection }) => !connection)).toEqual([])
  })

  test("open at the same time are limited: idle ones are dropped, which is reported once", () => {
    using reader = new CaptureReader()
    const events = reader.push(concat(head, packetsOf(steady.slice(0, 5))))
    let read = 0
    for (const packets of flood(52_000, 64)) {
      events.push(...reader.push(packets))
      if (read++ === 30_000) events.push(...reader.push(packetsOf(steady.slice(5, 7))))
    }
    expect(count(events, "connection") - count(events, "close")).toBeLessThan(50_000)
    expect(linesOf(reader.push(packetsOf(steady.slice(7))))).toEqual(["client: after"])
    expect(linesOf(events.filter(({ connection }) => !connection))).toEqual([
      expect.stringMatching(/^file: ERR_CAPTURE_UNREADABLE: too many connections at once/),
    ])
  })

  test("are returned by decodeCapture up to 100,000", () => {
    const file = Buffer.concat([head, ...flood(100_100, 10), packetsOf(steady)])
    const { connections, errors } = decodeCapture(file)
    expect(connections).toHaveLength(100_000)
    expect(errors.map(({ message }) => message)).toEqual([
      "there are more than 100000 connections: the rest are ignored",
    ])
  })

  test("are listed in the summary up to a maximum, and the total has all", () => {
    using reader = new CaptureReader()
    const tally = new Tally(10_000)
    const take = (events: CaptureEvent[]) => {
      for (const event of events) tally.add(event, true)
    }
    take(reader.push(head))
    for (const packets of flood(10_002, 10)) take(reader.push(packets))
    take(reader.end())
    const summary = tally.summary(reader.tcpConnections)
    expect(summary.connections).toHaveLength(10_000)
    expect(summary).toMatchObject({ connectionCount: 10_002, errors: 10_002 })
    const lines = summaryText(summary)
    expect([lines[0], ...lines.slice(-2)]).toEqual([
      expect.stringMatching(/^10002 connections, /),
      "and 2 more connections: --all lists them",
      "total: 0 messages, 0 bytes plain, 0 bytes on the wire, 10002 errors",
    ])
  })
})
