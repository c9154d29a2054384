/** tshark reads the files that tests generate, and reassembles damaged connections as we do. */
import { readFileSync } from "node:fs"
import { crc32, gunzipSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import type { Side } from "../../src/capture/events.js"
import {
  conversation,
  framesOf,
  ipFragments,
  ipPacket,
  LINK_TYPES,
  linkPacket,
  pcapFile,
  pcapngFile,
  type TcpPacket,
  wrapped,
} from "../support/capture-files.js"
import { type RecordedConnection, record, saidBy } from "../support/recorded-streams.js"
import { SEED } from "../support/seed.js"
import { PSEUDOWIRE, TUNNELS } from "../support/tunnels.js"
import { concat } from "../support/wire.js"
import { follow, packetFields, type Wire } from "./tshark.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")

/** Returns the bytes of a side according to tshark, which only reports gaps if data follows. */
function asTshark(connection: RecordedConnection, side: Side): Uint8Array {
  const said = saidBy(connection, side).slice(0, -1)
  if (typeof said.at(-1) === "number") said.pop()
  return concat(
    ...said.map((item) =>
      typeof item === "number"
        ? ascii(`[${item} bytes missing in capture file]\0`)
        : (item as Uint8Array),
    ),
  )
}

function expectSame(connection: RecordedConnection, wire: Wire, hint: string): void {
  const sides = (["client", "server"] as const).map((side) => asTshark(connection, side))
  if (wire.client !== connection.client) sides.reverse()
  expect(sides, hint).toEqual([wire.fromClient, wire.fromServer])
}

describe("the files that tests generate are valid", () => {
  const talk = [
    ["client", ascii("hello")],
    ["server", ascii("world!")],
  ] as const
  const v4 = { client: "10.0.0.1:40000", server: "10.0.0.2:5555" }
  const v6 = { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }
  const linkTypes = Object.values(LINK_TYPES)
  /** Returns packets in each IP version that the link type allows. */
  const packetsOn = (linkType: number) =>
    [v4, v6]
      .filter((_, i) => linkType !== [LINK_TYPES.IPV6, LINK_TYPES.IPV4][i])
      .flatMap((ends) => conversation(talk, { ...ends, closed: "FIN" }))

  function expectSeen(file: Uint8Array, packets: readonly TcpPacket[]) {
    const fields = ["frame.time_epoch", "tcp.seq_raw", "tcp.len", "tcp.flags"]
    const seen = packetFields(file, fields).map(([time = "", ...others]) => [
      BigInt(time.replace(".", "")),
      ...others.map(Number),
    ])
    const flagsOf = ({ flags }: TcpPacket) =>
      [..."FSRPA"].reduce((bits, flag, i) => bits | (Number(flags.includes(flag)) << i), 0)
    expect(seen).toEqual(
      packets.map((packet) => [packet.time, packet.sequence, packet.data.length, flagsOf(packet)]),
    )
  }

  test.each(
    linkTypes.flatMap((linkType) =>
      [true, false].map((littleEndian) => ({ linkType, littleEndian })),
    ),
  )(".pcap with link type $linkType, little-endian: $littleEndian", (options) => {
    const packets = packetsOn(options.linkType)
    expectSeen(pcapFile(framesOf(packets, options), { ...options, nanoseconds: true }), packets)
  })

  test.each([
    { block: "enhanced", littleEndian: true },
    { block: "enhanced", littleEndian: false },
    { block: "obsolete", littleEndian: true },
    { block: "obsolete", littleEndian: false },
  ] as const)(".pcapng, $block blocks, little-endian: $littleEndian", (options) => {
    const frames = linkTypes.flatMap((linkType, i) =>
      framesOf(packetsOn(linkType), { ...options, linkType }).map((frame) => ({
        ...frame,
        interface: i,
      })),
    )
    const file = pcapngFile(frames, { ...options, linkTypes, resolution: 9 })
    expectSeen(file, linkTypes.flatMap(packetsOn))
  })
})

// tshark stops waiting for a missing segment when it is acknowledged, so segments are reordered
// only within a flight, which is acknowledged as a whole.
const flights = fc.record({
  from: fc.constantFrom<Side>("client", "server"),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  segments: fc.array(
    fc.record({
      bytes: fc.integer({ min: 1, max: 40 }),
      copies: fc.constantFrom(0, 1, 1, 1, 1, 2),
      place: fc.constantFrom(0, 0, 0, 1, 2, 5),
      overlap: fc.constantFrom(0, 0, 3, 50),
    }),
    { minLength: 1, maxLength: 20 },
  ),
})
const connections = fc.record({
  flights: fc.array(flights, { minLength: 1, maxLength: 8 }),
  initial: fc.record({
    client: fc.integer({ min: 2 ** 32 - 1000, max: 2 ** 32 - 1 }),
    server: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  }),
  begun: fc.boolean(),
  closed: fc.constantFrom("FIN" as const, "RST" as const, undefined),
})
type Flight = typeof flights extends fc.Arbitrary<infer T> ? T : never

function damagedFlight(packets: readonly TcpPacket[], { bytes, segments }: Flight): TcpPacket[] {
  const [first] = packets
  const placed: { place: number; packet: TcpPacket }[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const segment = segments[i % segments.length]!
    const from = Math.max(0, at - segment.overlap)
    const to = Math.min(bytes.length, at + segment.bytes)
    const sequence = wrapped(first!.sequence + from)
    const packet = { ...first!, sequence, data: bytes.subarray(from, to) }
    for (let copy = 0; copy < segment.copies; copy++)
      placed.push({ place: i + segment.place * (copy + 1), packet })
    at = to
  }
  placed.sort((a, b) => a.place - b.place)
  return [...placed.map(({ packet }) => packet), ...packets.slice(1)]
}

test("connections with dropped, repeated, swapped and overlapping segments are reassembled as by tshark", () => {
  const drawn = fc.sample(connections, { seed: crc32(SEED), numRuns: 200 })
  const packets = drawn.flatMap(({ flights, initial, begun, closed }, i) => {
    const said = flights.map(({ from, bytes }) => [from, bytes] as const)
    const client = `10.0.${i >> 8}.${i & 255}:40000`
    const whole = conversation(said, { initial, closed, client, segmentBytes: 300 })
    const data = flights.flatMap((flight, j) =>
      damagedFlight(whole.slice(3 + 2 * j, 5 + 2 * j), flight),
    )
    // Without a handshake, both sides send a packet before data.
    const acknowledgements = whole.slice(1, 3).map((packet) => ({
      ...packet,
      flags: "A",
      sequence: wrapped(initial[packet.from] + 1),
    }))
    const before = begun ? whole.slice(0, 3) : acknowledgements
    return [...before, ...data, ...whole.slice(3 + 2 * flights.length)]
  })
  const file = pcapFile(framesOf(packets))
  const ours = record(file)
  const byClient = new Map(ours.connections.map((connection) => [connection.client, connection]))
  for (const [i, wire] of follow(file, drawn.length).entries()) {
    const connection = byClient.get(`10.0.${i >> 8}.${i & 255}:40000`)
    const hint = `seed ${SEED}, connection ${i}`
    if (connection) expectSame(connection, wire, hint)
    else expect(wire.fromClient.length + wire.fromServer.length, hint).toBe(0)
  }
})

describe("fragments of IP packets are reassembled as by tshark", () => {
  const said = [
    ["client", ascii("hello ".repeat(50))],
    ["server", ascii("world! ".repeat(50))],
  ] as const

  test.each([
    { client: "10.0.0.1:40000", server: "10.0.0.2:5555" },
    { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" },
  ])("of $client", (ends) => {
    const packets = conversation(said, { ...ends, closed: "FIN" })
    for (const order of ["in order", "reversed", "alternating"]) {
      const frames = packets.flatMap(({ time, ...packet }, id) => {
        const fragments = ipFragments(ipPacket({ time, ...packet }), 64, id)
        if (order === "reversed") fragments.reverse()
        if (order === "alternating") fragments.sort((_, b) => (b[7] ?? 0) % 2)
        return fragments.map((ip) => ({ time, bytes: linkPacket(ip) }))
      })
      const file = pcapFile(frames)
      const { connections, errors } = record(file)
      expect(errors).toEqual([])
      expect(connections).toHaveLength(1)
      expectSame(connections[0]!, follow(file, 1)[0]!, order)
    }
  })
})

describe("connections in tunnels are read as by tshark", () => {
  /** What tshark has to be told. */
  const AS = ["-d", "udp.port==8472,vxlan", "-d", `mpls.label==${PSEUDOWIRE},pwethcw`]

  test("of every kind", () => {
    const said = [
      ["client", ascii("hello ".repeat(50))],
      ["server", ascii("world! ".repeat(50))],
    ] as const
    const names = Object.keys(TUNNELS).flatMap((name) => [`10.0.0.1 ${name}`, `[fd00::1] ${name}`])
    const frames = names.flatMap((name, i) => {
      const [address, ...tunnel] = name.split(" ")
      const server = address === "10.0.0.1" ? "10.0.0.2:5555" : "[fd00::2]:5555"
      const packets = conversation(said, {
        client: `${address}:${1000 + i}`,
        server,
        closed: "FIN",
      })
      return packets.map((packet) => ({
        time: packet.time,
        bytes: TUNNELS[tunnel.join(" ")]!(ipPacket(packet)),
      }))
    })
    const file = pcapFile(frames)
    const { connections, errors } = record(file)
    expect(errors).toEqual([])
    expect(connections).toHaveLength(names.length)
    for (const [i, wire] of follow(file, names.length, AS).entries())
      expectSame(connections[i]!, wire, names[i]!)
  })

  test.each(["vxlan-4789", "vxlan-8472", "vxlan-ipv6"])(
    "recorded from the kernel's device: %s",
    (name) => {
      const file = new Uint8Array(gunzipSync(readFileSync(`test/recorded/${name}.pcap.gz`)))
      const { connections } = record(file)
      expect(connections).toHaveLength(1)
      expectSame(connections[0]!, follow(file, 1, AS)[0]!, name)
    },
  )
})
