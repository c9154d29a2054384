/** Captures of peers that send too much: texts and memory are limited. */
import { describe, expect, test, vi } from "vitest"
import { type CaptureEvent, CaptureReader, decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { createRandom } from "../../bench/random.mjs"
import { Backlog, Reassembly } from "../../src/capture/packets/reassembly.js"
import { summaryText } from "../../src/cli/inspect-summary.js"
import { Tally } from "../../src/cli/inspect-tally.js"
import {
  conversation,
  framesOf,
  LINK_TYPES,
  pcapFile,
  pcapngFile,
  type Said,
  type TcpPacket,
} from "../support/capture-files.js"
import { linesOf, only, saidIn } from "../support/captures.js"
import { heldBytes } from "../support/held-bytes.js"
import { concat, plainPart } from "../support/wire.js"
import { COMMAND, frame, frameHead, greeting, handshake, MORE, message } from "../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const capture = (said: Said): Uint8Array => pcapFile(framesOf(conversation(said)))
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

  test("of 80,000 properties is described by a few, and 256 are kept", () => {
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
    const { messages, errors } = decodeCapture(file, { maxMessageSize: 20 }).connections[0]!
    expect(errors).toEqual([])
    expect(messages.flatMap(({ parts }) => parts).every(({ error }) => !error)).toBe(true)
    expect(messages).toHaveLength(201)
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
    const before = heldBytes()
    for (let i = 0; i < 4000; i++) {
      const [syn, synAck, ack, lost, , late] = conversation(
        [
          ["client", greeting().subarray(0, 10)],
          ["client", data],
        ],
        { client: `10.0.${i >> 8}.${i & 255}:40000`, segmentBytes: data.length },
      )
      expect(lost?.data.length).toBe(10)
      const file = pcapFile(
        framesOf([syn!, synAck!, ack!, late!.from === "client" ? late! : lost!]),
      )
      events.push(...reader.push(i === 0 ? file : file.subarray(24)))
    }
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
  /** The offset in a packet, after the headers of its record and of Ethernet. */
  const SOURCE_ADDRESS = 16 + 14 + 12
  /** Packets of peers that each send only the beginning of a greeting. */
  const flood = (count: number, bytes: number): Uint8Array[] => {
    const packets = conversation([["client", greeting().subarray(0, bytes)]])
    const [syn, data] = [packetsOf([packets[0]!]), packetsOf([packets[3]!])]
    return Array.from({ length: count }, (_, i) => {
      const both = concat(syn, data)
      for (const packet of [both, both.subarray(syn.length)])
        packet.set([10, i >> 16, (i >> 8) & 255, i & 255], SOURCE_ADDRESS)
      return both
    })
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
    for (const [i, packets] of flood(52_000, 64).entries()) {
      events.push(...reader.push(packets))
      if (i === 30_000) events.push(...reader.push(packetsOf(steady.slice(5, 7))))
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
