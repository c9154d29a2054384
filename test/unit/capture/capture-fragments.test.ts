/** TCP in fragments of IP packets (RFC 791 section 3.2, RFC 8200 section 4.5). */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { CaptureReader, decodeFrames } from "zeromq-lz4/capture"
import {
  type ConversationOptions,
  conversation,
  type Frame,
  framesOf,
  ipFragments,
  ipHeader,
  ipPacket,
  linkPacket,
  pcapFile,
  type Said,
  START,
  type TcpPacket,
} from "../../support/capture-files.js"
import { only } from "../../support/captures.js"
import { heldBytes } from "../../support/held-bytes.js"
import { record, textBy } from "../../support/recorded-streams.js"
import { concat, plainPart } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const ascii = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))
const v4 = { client: "10.0.0.1:40000", server: "10.0.0.2:5555" }
const v6 = { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }
const letters = "abcdefghijklmnopqrstuvwxyz".repeat(4)
const MISSING = /^fragments of IP packets are missing/

const talk = (options: ConversationOptions): TcpPacket[] =>
  conversation([["client", ascii(letters)]], { closed: "FIN", ...options })

interface Options {
  bytes?: number
  /** Changes the fragments of a packet, for example their order. */
  change?: (fragments: Frame[]) => Frame[]
}

/** Returns a capture of packets, each in fragments. */
function inFragments(packets: readonly TcpPacket[], { bytes = 48, change }: Options = {}) {
  const frames = packets.flatMap((packet, id) => {
    const fragments = ipFragments(ipPacket(packet), bytes, id).map((ip) => frameOf(ip, packet.time))
    return change && fragments.length > 1 ? change(fragments) : fragments
  })
  return pcapFile(frames)
}

const frameOf = (ip: Uint8Array, time: bigint): Frame => ({ time, bytes: linkPacket(ip) })

function said(file: Uint8Array) {
  const { connections, errors } = record(file)
  return {
    said: connections.map((connection) => textBy(connection, "client")),
    errors: errors.map(({ code, message }) => `${code}: ${message}`),
  }
}

const whole = { said: [[`"${letters}"`, "end"]], errors: [] }

describe.each([
  ["IPv4", v4],
  ["IPv6", v6],
])("fragments of %s are reassembled", (_, ends) => {
  test.each([8, 16, 24, 32, 40, 64, 128])("of %i bytes", (bytes) => {
    expect(said(inFragments(talk(ends), { bytes }))).toEqual(whole)
  })

  test.each<[what: string, change: (fragments: Frame[]) => Frame[]]>([
    ["the last one first", (fragments) => fragments.reverse()],
    ["each twice", (fragments) => fragments.flatMap((each) => [each, each])],
    ["all of them twice", (fragments) => [...fragments, ...fragments]],
    ["the last one twice", (fragments) => [...fragments, fragments.at(-1)!]],
  ])("%s", (_, change) => {
    expect(said(inFragments(talk(ends), { change }))).toEqual(whole)
  })

  test("in any order and size, and repeated", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
        (eighths, picks) => {
          const change = (fragments: Frame[]) => {
            // Each at least once, because random picks may leave some out.
            const some = picks.map((pick) => fragments[pick % fragments.length]!)
            return [...some, ...fragments]
          }
          expect(said(inFragments(talk(ends), { bytes: 8 * eighths, change }))).toEqual(whole)
        },
      ),
      { numRuns: 50 },
    )
  })

  test("of several packets, interleaved", () => {
    const packets = talk({ ...ends, segmentBytes: 52 })
    const frames = packets.map((packet, id) =>
      ipFragments(ipPacket(packet), 24, id).map((ip) => frameOf(ip, packet.time)),
    )
    const between = (a: Frame[], b: Frame[]) =>
      Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [b[i], a[i]])
        .flat()
        .filter((frame) => frame !== undefined)
    const [syn, synAck, ack, first, acked, second, ...rest] = frames
    const mixed = between(first!, second!)
    const file = pcapFile([syn!, synAck!, ack!, mixed, acked!, ...rest].flat())
    expect(said(file)).toEqual(whole)
  })

  test("with the same number for another packet", () => {
    const second = 1_000_000_000n
    const packets = talk({ ...ends, segmentBytes: 52 }).map((packet, i) => ({
      ...packet,
      time: START + BigInt(i) * 2n * second,
    }))
    const frames = packets.flatMap((packet) =>
      ipFragments(ipPacket(packet), 24, 7).map((ip) => frameOf(ip, packet.time)),
    )
    expect(said(pcapFile(frames))).toEqual(whole)
  })

  test("and messages have their positions in the file", () => {
    const stream: Said = [["client", concat(handshake("PUSH"), message(plainPart(ascii(letters))))]]
    for (const change of [undefined, (fragments: Frame[]) => fragments.reverse()]) {
      const file = inFragments(conversation(stream, ends), { bytes: 40, change } as Options)
      const { messages, errors } = only(file)
      expect(errors).toEqual([])
      const [one] = messages
      const ranges = [...one!.ranges]
      const pieces: Uint8Array[] = []
      while (ranges.length > 0) {
        const [offset = 0, length = 0] = ranges.splice(0, 2)
        pieces.push(file.subarray(offset, offset + length))
      }
      expect(pieces.length).toBeGreaterThan(2)
      const [again] = decodeFrames(concat(...pieces), { transport: "lz4+tcp" })
      expect(Buffer.from(again!.parts[0]!.plain!).toString()).toBe(letters)
    }
  })
})

describe("missing fragments", () => {
  test("are reported once, and the rest is read", () => {
    const packets = talk({ ...v4, segmentBytes: 26 })
    const lossy = (fragments: Frame[]) => fragments.slice(1)
    const data = packets.findIndex((packet) => packet.data.length > 0)
    const frames = packets.flatMap((packet, id) => {
      const each = ipFragments(ipPacket(packet), 32, id).map((ip) => frameOf(ip, packet.time))
      return id === data || id === data + 4 ? lossy(each) : each
    })
    const seen = said(pcapFile(frames))
    expect(seen.said).toEqual([
      [26, `"${letters.slice(26, 52)}"`, 26, `"${letters.slice(78)}"`, "end"],
    ])
    expect(seen.errors).toEqual([expect.stringMatching(/^ERR_CAPTURE_UNREADABLE: fragments of IP/)])
  })

  test("because of a snap length are a gap of that size", () => {
    const packets = talk(v4)
    const file = inFragments(packets, {
      bytes: 64,
      change: (fragments) =>
        fragments.map((frame, i) =>
          i === 1
            ? { ...frame, bytes: frame.bytes.subarray(0, -4), length: frame.bytes.length }
            : frame,
        ),
    })
    // The first two fragments have 32 bytes of TCP's header and 96 of the letters.
    const expected = [`"${letters.slice(0, 92)}"`, 4, `"${letters.slice(96)}"`, "end"]
    expect(said(file)).toEqual({ said: [expected], errors: [] })
  })

  test("missing fragments of a header lose the packet", () => {
    const file = inFragments(talk(v4), {
      change: (fragments) =>
        fragments.map((frame, i) =>
          i === 0 ? { ...frame, bytes: frame.bytes.subarray(0, 14 + 20 + 16), length: 82 } : frame,
        ),
    })
    expect(said(file).errors).toEqual([])
    expect(said(file).said).toEqual([[letters.length, "end"]])
  })

  test("are waited for during 30 seconds of the capture", () => {
    const [syn, ...rest] = talk(v4)
    const late = (seconds: bigint) => {
      const parts = ipFragments(ipPacket(rest[2]!), 64, 9)
      const frames = parts.map((ip, i) => frameOf(ip, START + BigInt(i) * seconds * 1_000_000_000n))
      return said(pcapFile([...framesOf([syn!]), ...frames]))
    }
    expect(late(9n)).toEqual({ said: [[`"${letters}"`, "cut"]], errors: [] })
    expect(late(40n)).toEqual({ said: [], errors: [expect.stringMatching(/are missing/)] })
  })
})

describe("hostile fragments", () => {
  const first = ipPacket(talk(v4).find(({ data }) => data.length > 0)!)
  const [a, b, c] = ipFragments(first, 64)
  const file = (...ips: Uint8Array[]) => pcapFile(ips.map((ip) => frameOf(ip, START)))
  const changed = (ip: Uint8Array, from: number, bytes: number[]) => {
    const copy = ip.slice()
    copy.set(bytes, from)
    return copy
  }

  test("hostile fragments that overlap: the first bytes count", () => {
    const other = a!.map((byte, i) => (i < 20 + 32 ? byte : 0x21))
    expect(said(file(a!, other, b!, c!)).said).toEqual([[`"${letters}"`, "cut"]])
    const over = changed(ipFragments(first, 128)[0]!, 52, Array(90).fill(0x21))
    expect(said(file(b!, over, c!)).said).toEqual([
      [`"${"!".repeat(32)}${letters.slice(32)}"`, "cut"],
    ])
  })

  test("after the end, or with another end, are ignored", () => {
    const behind = changed(b!, 6, [0x20, 100])
    const another = changed(b!, 6, [0, 4])
    expect(said(file(a!, c!, behind, another, b!)).said).toEqual([[`"${letters}"`, "cut"]])
  })

  test("beyond 65,535 bytes are ignored", () => {
    const beyond = changed(c!, 6, [0x1f, 0xff])
    expect(said(file(beyond, beyond)).errors).toEqual([expect.stringMatching(/are missing/)])
  })

  test("hostile fragments of other protocols are ignored", () => {
    const udp = ipHeader("10.0.0.1:1", "10.0.0.2:2", 17, new Uint8Array(100))
    expect(said(file(ipFragments(udp, 48)[0]!))).toEqual({ said: [], errors: [] })
  })

  test("hostile fragments of many packets use bounded memory", () => {
    const frames: Frame[] = []
    const large = ipHeader("10.0.0.1:1", "10.0.0.2:2", 6, new Uint8Array(60_000))
    for (let id = 0; id < 5000; id++)
      frames.push(frameOf(ipFragments(large, 32_000, id)[0]!, START + BigInt(id)))
    const captured = pcapFile(frames)
    const before = heldBytes()
    const reader = new CaptureReader()
    const errors = reader.push(captured)
    const held = heldBytes() - before
    reader.close()
    expect(errors).toMatchObject([
      { type: "error", error: { message: expect.stringMatching(MISSING) } },
    ])
    expect(held).toBeGreaterThan(1 << 20)
    expect(held).toBeLessThan(100 << 20)
  })

  test("hostile fragments of 8 bytes each, in the worst order and twice, are reassembled", () => {
    const large = "a".repeat(65_000)
    const packets = conversation([["client", ascii(large)]], { ...v4, segmentBytes: large.length })
    const change = (fragments: Frame[]) => {
      const order = fragments.map((_, i) => fragments[(i * 4099) % fragments.length]!)
      return [...order, ...order]
    }
    expect(said(inFragments(packets, { bytes: 8, change })).said).toEqual([[`"${large}"`, "cut"]])
  })
})
