import { describe, expect, test } from "vitest"

import {
  type ConversationOptions,
  conversation,
  type Frame,
  framesOf,
  ipHeader,
  LINK_TYPES,
  linkPacket,
  pcapFile,
  pcapngBlock,
  pcapngFile,
  START,
  tcpSegment,
} from "../../support/capture-files.js"
import { record, textBy } from "../../support/recorded-streams.js"
import { concat } from "../../support/wire.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const v4 = {}
const v6 = { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }
const talk = (options: ConversationOptions = {}) =>
  conversation(
    [
      ["client", ascii("hello")],
      ["server", ascii("world")],
    ],
    { closed: "FIN", ...options },
  )

/** The events of a capture of `talk`, without times. */
function expectTalk(
  file: Uint8Array,
  { client = "127.0.0.1:40000", server = "127.0.0.1:5555" } = {},
) {
  const { connections, errors } = record(file)
  expect(errors).toEqual([])
  expect(connections.map(({ client, server, begun }) => ({ client, server, begun }))).toEqual([
    { client, server, begun: true },
  ])
  const connection = connections[0]!
  expect(textBy(connection, "client")).toEqual(['"hello"', "end"])
  expect(textBy(connection, "server")).toEqual(['"world"', "end"])
  return connection
}

const dataTimes = ({ calls }: ReturnType<typeof expectTalk>) =>
  calls.filter(({ call }) => call === "data").map(({ time }) => time)
/** Times of those packets of `talk` that have data. */
const DATA_TIMES = [START + 3000n, START + 5000n]

describe("link types", () => {
  const linkTypes = Object.entries(LINK_TYPES).flatMap(([name, linkType]) =>
    [v4, v6]
      .filter((_, i) => linkType !== [LINK_TYPES.IPV6, LINK_TYPES.IPV4][i])
      .flatMap((ends) =>
        [true, false].map((littleEndian) => ({ name, linkType, ends, littleEndian })),
      ),
  )
  test.each(linkTypes)("$name, little-endian: $littleEndian, $ends", (row) => {
    const { linkType, ends, littleEndian } = row
    const frames = framesOf(talk(ends), { linkType, littleEndian })
    for (const nanoseconds of [false, true]) {
      const connection = expectTalk(pcapFile(frames, { linkType, littleEndian, nanoseconds }), ends)
      expect(dataTimes(connection)).toEqual(DATA_TIMES)
    }
    const options = { linkTypes: [linkType], littleEndian }
    expect(dataTimes(expectTalk(pcapngFile(frames, options), ends))).toEqual(DATA_TIMES)
  })

  test.each([
    { name: "Ethernet", linkType: LINK_TYPES.ETHERNET },
    { name: "Linux cooked v1", linkType: LINK_TYPES.LINUX_SLL },
    { name: "Linux cooked v2", linkType: LINK_TYPES.LINUX_SLL2 },
  ])("$name with VLAN tags", ({ linkType }) => {
    for (const tags of [[0x8100], [0x88a8, 0x8100], [0x9100, 0x8100]])
      expectTalk(pcapFile(framesOf(talk(), { linkType, tags }), { linkType }))
  })

  test("an unknown one is reported once, and others are read", () => {
    const other: Frame = { time: START, bytes: ascii("whatever") }
    const frames = [other, ...framesOf(talk()).map((frame) => ({ ...frame, interface: 1 })), other]
    const { connections, errors } = record(pcapngFile(frames, { linkTypes: [127, 1] }))
    expect(errors).toMatchObject([{ code: "ERR_CAPTURE_UNREADABLE", from: undefined, time: START }])
    expect(errors[0]?.message).toMatch(/^packets of link type 127 \(802\.11 with radiotap\)/)
    expect(textBy(connections[0]!, "client")).toEqual(['"hello"', "end"])
  })

  test("packets that are not IP, or not TCP, are ignored", () => {
    const arp = new Uint8Array(60)
    arp.set([8, 6], 12)
    const udp = linkPacket(ipHeader("10.0.0.1:1", "10.0.0.2:2", 17, new Uint8Array(40)))
    const frames = [arp, udp, new Uint8Array(0), new Uint8Array(13), new Uint8Array(2000)].map(
      (bytes) => ({ time: START, bytes }),
    )
    expectTalk(pcapFile([...frames, ...framesOf(talk())]))
  })
})

describe("IP", () => {
  const frameOf = (bytes: Uint8Array): Frame => ({ time: START, bytes: linkPacket(bytes) })

  test.each([{ ends: v4 }, { ends: v6 }])(
    "a length of 0, as with segmentation offload, means that of the packet; $ends",
    ({ ends }) => {
      const linkType = LINK_TYPES.RAW
      const frames = framesOf(talk(ends), { linkType, withoutLength: true })
      expectTalk(pcapFile(frames, { linkType }), ends)
    },
  )

  test("options of IPv4 are skipped", () => {
    const frames = talk().map((packet) => {
      const [source, destination] =
        packet.from === "client" ? [packet.client, packet.server] : [packet.server, packet.client]
      const options = Uint8Array.of(1, 1, 1, 0)
      const ip = ipHeader(source, destination, 6, concat(options, tcpSegment(packet)))
      ip[0] = 0x46
      return frameOf(ip)
    })
    expectTalk(pcapFile(frames))
  })

  test("extension headers of IPv6 are skipped", () => {
    const hopByHop = Uint8Array.of(43, 0, 1, 4, 0, 0, 0, 0)
    const routing = Uint8Array.of(51, 1, 0, 0, ...new Uint8Array(12))
    const authentication = Uint8Array.of(60, 4, 0, 0, ...new Uint8Array(20))
    const destinationOptions = Uint8Array.of(44, 0, 1, 4, 0, 0, 0, 0)
    const wholeFragment = Uint8Array.of(6, 0, 0, 0, 1, 2, 3, 4)
    const frames = talk(v6).map((packet) => {
      const [source, destination] =
        packet.from === "client" ? [packet.client, packet.server] : [packet.server, packet.client]
      const headers = concat(hopByHop, routing, authentication, destinationOptions, wholeFragment)
      return frameOf(ipHeader(source, destination, 0, concat(headers, tcpSegment(packet))))
    })
    expectTalk(pcapFile(frames), v6)
  })
})

describe(".pcapng", () => {
  test.each([
    { name: "seconds", resolution: 0 },
    { name: "milliseconds", resolution: 3 },
    { name: "microseconds", resolution: 6 },
    { name: "nanoseconds", resolution: 9 },
    { name: "a tenth of a nanosecond", resolution: 10 },
    { name: "2^-10 seconds", resolution: 0x80 | 10 },
    { name: "2^-30 seconds", resolution: 0x80 | 30 },
  ])("time stamps of $name, with an offset", ({ resolution }) => {
    const units = (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f)
    for (const offsetSeconds of [0n, 1_600_000_000n, -100_000_000n]) {
      const offset = offsetSeconds * 1_000_000_000n
      const file = pcapngFile(framesOf(talk()), { resolution, offsetSeconds })
      const rounded = DATA_TIMES.map((time) => {
        const stamp = ((time - offset) * units) / 1_000_000_000n
        return (stamp * 1_000_000_000n) / units + offset
      })
      expect(dataTimes(expectTalk(file))).toEqual(rounded)
    }
  })

  test.each([true, false])("old Packet Blocks; little-endian: %s", (littleEndian) => {
    const file = pcapngFile(framesOf(talk()), { littleEndian, block: "obsolete" })
    expect(dataTimes(expectTalk(file))).toEqual(DATA_TIMES)
  })

  test("Simple Packet Blocks have no time stamps", () => {
    const file = pcapngFile(framesOf(talk()), { block: "simple" })
    expect(dataTimes(expectTalk(file))).toEqual([undefined, undefined])
  })

  test("Simple Packet Blocks are cut by the interface's snap length", () => {
    const packets = conversation([["client", ascii("hello, world")]])
    // 5 bytes of the block remain after it: padding.
    const snapLength = 14 + 20 + 32 + 7
    const file = pcapngFile(framesOf(packets, { snapLength }), { snapLength, block: "simple" })
    expect(textBy(record(file).connections[0]!, "client")).toEqual(['"hello, "', 5, "cut"])
  })

  test("several sections, each with its own byte order and interfaces", () => {
    const [begin, rest] = [talk().slice(0, 4), talk().slice(4)]
    const raw = LINK_TYPES.RAW
    const file = concat(
      pcapngFile(framesOf(begin)),
      pcapngFile(framesOf(rest, { linkType: raw }), { littleEndian: false, linkTypes: [raw] }),
    )
    expect(dataTimes(expectTalk(file))).toEqual(DATA_TIMES)
  })

  test("several interfaces of different link types", () => {
    const linkTypes = [LINK_TYPES.ETHERNET, LINK_TYPES.LINUX_SLL2, LINK_TYPES.RAW]
    const frames = talk().flatMap((packet, i) =>
      framesOf([packet], { linkType: linkTypes[i % 3]! }).map((frame) => ({
        ...frame,
        interface: i % 3,
      })),
    )
    expectTalk(pcapngFile(frames, { linkTypes }))
  })

  test("blocks of other types are skipped", () => {
    const file = concat(
      pcapngFile([]),
      pcapngBlock(5, new Uint8Array(64)),
      pcapngBlock(0xbad, new Uint8Array(0)),
      pcapngFile(framesOf(talk())),
      pcapngBlock(0x80000001, new Uint8Array(4)),
    )
    expectTalk(file)
  })
})

describe("the bytes of one direction", () => {
  test("can be those that the client of a connection sent", () => {
    const stream = concat(Uint8Array.of(0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f), ascii("and more"))
    for (const chunks of [[stream.length], [1], [9], [10], [11]]) {
      const { connections, errors } = record(stream, { chunks })
      expect(errors).toEqual([])
      expect(connections).toMatchObject([{ client: "client", server: "server", begun: true }])
      expect(textBy(connections[0]!, "client")).toEqual([
        `"${Buffer.from(stream).toString("latin1")}"`,
        "cut",
      ])
      expect(textBy(connections[0]!, "server")).toEqual(["cut"])
      expect(connections[0]?.calls[0]).toMatchObject({ offset: 0, time: undefined })
    }
  })

  test("are not read further if they are of no interest", () => {
    const stream = concat(Uint8Array.of(0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f), new Uint8Array(100))
    const { connections } = record(stream, { chunks: [20], wanted: () => false })
    expect(connections[0]?.calls.map(({ call }) => call)).toEqual(["data"])
  })
})

describe("files that are not captures", () => {
  test.each([
    { file: [], message: "is empty" },
    { file: [0x1f, 0x8b, 8, 0], message: "is compressed with gzip: unpack it first" },
    { file: [0x28, 0xb5, 0x2f, 0xfd, 0], message: "is compressed with Zstandard: unpack it first" },
    { file: [0x50, 0x4b, 3, 4], message: "is a ZIP archive: unpack it first" },
    {
      file: [...ascii("snoop"), 0, 0, 0, 0, 0, 0, 2],
      message: "is a capture of snoop: make a .pcapng of it, as editcap does",
    },
    {
      file: [...ascii("GET / HTTP/1.1")],
      message:
        'begins with 47 45 54 20 2f 20 48 54 54 50 ("GET / HTTP"): neither .pcap, nor .pcapng, nor the bytes of one side of a ZMTP connection (ff, 8 bytes, 7f)',
    },
    { file: [0xff, 0, 0], message: /^ERR_CAPTURE_FORMAT: begins with ff 00 00: neither/ },
    { file: [0xd4, 0xc3], message: /^ERR_CAPTURE_FORMAT: begins with d4 c3: neither/ },
  ])("$message", ({ file, message }) => {
    const bytes = Uint8Array.from(file)
    for (const chunks of [[100], [1], [3]]) {
      const reading = () => record(bytes, { chunks })
      expect(reading).toThrow(
        expect.objectContaining({
          name: "CaptureFormatError",
          code: "ERR_CAPTURE_FORMAT",
          message:
            typeof message === "string"
              ? `ERR_CAPTURE_FORMAT: ${message}`
              : expect.stringMatching(message),
        }),
      )
    }
  })
})

describe("damaged files", () => {
  const files = {
    ".pcap": pcapFile(framesOf(talk())),
    ".pcapng": pcapngFile(framesOf(talk())),
  }

  test.each(Object.entries(files))("%s that ends in the middle of a record", (_, file) => {
    const ends = new Map<number, string>()
    for (let length = 10; length < file.length; length++) {
      const { errors, connections } = record(file.subarray(0, length))
      for (const error of errors) expect(error.code).toBe("ERR_CAPTURE_TRUNCATED")
      const [error] = errors
      // Its position is the end of the complete records, whose content is there.
      const place = error?.offset ?? length
      const said = JSON.stringify(
        connections.map((c) => [textBy(c, "client"), textBy(c, "server")]),
      )
      expect(ends.get(place) ?? said).toBe(said)
      ends.set(place, said)
      if (error) expect(error.message).toContain(`the file ends ${length - place} bytes after`)
    }
    expect(ends.size).toBeGreaterThanOrEqual(talk().length)
  })

  const lengthAt = (file: Uint8Array, at: number, length: number) => {
    const damaged = file.slice()
    new DataView(damaged.buffer).setUint32(at, length, true)
    return damaged
  }
  const secondBlock = 28
  const firstPacket = secondBlock + new DataView(files[".pcapng"].buffer).getUint32(32, true)

  test.each([
    {
      damage: ".pcap, a packet that is too long",
      file: lengthAt(files[".pcap"], 24 + 8, 16 * 1024 * 1024 + 1),
      offset: 24,
      message:
        "a packet claims 16777217 bytes; 0 to 16777216 are allowed; nothing after it is read",
    },
    {
      damage: "a block that is too long",
      file: lengthAt(files[".pcapng"], secondBlock + 4, 0xfffffffc),
      offset: secondBlock,
      message:
        "a block of type 1 claims 4294967292 bytes; 20 to 16777216 are allowed; nothing after it is read",
    },
    {
      damage: "a block that is too short",
      file: lengthAt(files[".pcapng"], firstPacket + 4, 28),
      offset: firstPacket,
      message:
        "a block of type 6 claims 28 bytes; 32 to 16777216 are allowed; nothing after it is read",
    },
    {
      damage: "a block of an odd length",
      file: lengthAt(files[".pcapng"], firstPacket + 4, 42),
      offset: firstPacket,
      message: "a block claims 42 bytes; a multiple of 4 is allowed; nothing after it is read",
    },
    {
      damage: "a block whose lengths differ",
      file: lengthAt(files[".pcapng"], firstPacket - 4, 20),
      offset: secondBlock,
      message:
        "a block claims 40 bytes at its beginning and 20 at its end; nothing after it is read",
    },
    {
      damage: "a packet of no interface",
      file: lengthAt(files[".pcapng"], firstPacket + 8, 7),
      offset: firstPacket,
      message:
        "a packet refers to interface 7, which the file does not describe; nothing after it is read",
    },
    {
      damage: "a packet longer than its block",
      file: lengthAt(files[".pcapng"], firstPacket + 20, 4000),
      offset: firstPacket,
      message: "a packet claims 4000 bytes in a block with room for 68; nothing after it is read",
    },
    {
      damage: "a section without a byte order",
      file: concat(files[".pcapng"], pcapngBlock(0x0a0d0d0a, new Uint8Array(16))),
      offset: files[".pcapng"].length,
      message:
        "a section begins without the magic number of a byte order; nothing after it is read",
    },
  ])("$damage", ({ file, offset, message }) => {
    for (const chunks of [[file.length], [1], [7]])
      expect(record(file, { chunks }).errors).toEqual([
        { code: "ERR_CAPTURE_UNREADABLE", message, time: undefined, from: undefined, offset },
      ])
  })

  test("the records before the damage are read", () => {
    const file = concat(files[".pcapng"], pcapngBlock(6, new Uint8Array(4)))
    const { connections, errors } = record(file)
    expect(errors.map(({ code }) => code)).toEqual(["ERR_CAPTURE_UNREADABLE"])
    expect(textBy(connections[0]!, "server")).toEqual(['"world"', "end"])
  })
})

test("the chunks of a file do not matter", () => {
  const said = conversation(
    Array.from({ length: 20 }, (_, i) => [
      i % 3 ? "client" : "server",
      new Uint8Array(i * 150).fill(i),
    ]),
    { closed: "RST" },
  )
  const frames = framesOf(said.filter((_, i) => i % 7 !== 5))
  for (const file of [pcapFile(frames), pcapngFile(frames)]) {
    const whole = record(file)
    for (const chunks of [[1], [3], [7, 1, 100], [24], [1500], [4096]])
      expect(record(file, { chunks })).toEqual(whole)
  }
})

test("positions of bytes in the file are reported", () => {
  const file = pcapFile(framesOf(talk()))
  const places = record(file).connections[0]!.calls.flatMap((entry) =>
    entry.call === "data" ? [[entry.bytes, entry.offset] as const] : [],
  )
  expect(places.length).toBe(2)
  for (const [bytes, offset] of places)
    expect(file.slice(offset, offset + bytes.length)).toEqual(bytes)
})
