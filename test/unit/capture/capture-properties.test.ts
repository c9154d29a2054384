import fc from "fast-check"
import { expect, test } from "vitest"

import { CaptureFormatError } from "../../../src/capture/errors.js"
import type { Side } from "../../../src/capture/events.js"
import { mutations } from "../../support/arbitraries.js"
import {
  conversation,
  framesOf,
  LINK_TYPES,
  pcapFile,
  pcapngFile,
  type Said,
  type TcpPacket,
  wrapped,
} from "../../support/capture-files.js"
import { type Recording, record, saidBy } from "../../support/recorded-streams.js"
import { concat } from "../../support/wire.js"

// A failure prints its seed and path; `{ seed, path }` here repeats it.
const options = { numRuns: 1000 } satisfies fc.Parameters

const said: fc.Arbitrary<Said> = fc.array(
  fc.tuple(
    fc.constantFrom<Side>("client", "server"),
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
  ),
  { minLength: 1, maxLength: 12 },
)
const conversations = fc.record({
  said,
  segmentBytes: fc.integer({ min: 1, max: 60 }),
  initial: fc.record({ client: sequenceNumbers(), server: sequenceNumbers() }),
  closed: fc.constantFrom("FIN" as const, undefined),
})
/** Sequence numbers, many of them close to the wrap-around. */
function sequenceNumbers(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    fc.integer({ min: -500, max: 0 }).map(wrapped),
  )
}

/** Maximum number of packets before a repetition, so that no gap is declared. */
const NEAR_PACKETS = 8

/** The changes to a packet, chosen for each in turn. */
interface Damage {
  copies: number
  /** The number of positions by which it is delayed. */
  late: number
  /** The number of earlier bytes that it repeats. */
  overlap: number
}
const damages = (copies: { min: number; max: number }): fc.Arbitrary<Damage[]> =>
  fc.array(
    fc.record({
      copies: fc.integer(copies),
      late: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: NEAR_PACKETS })),
      overlap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 })),
    }),
    { minLength: 1, maxLength: 50 },
  )

const HANDSHAKE_PACKETS = 3

/** All but the handshake. */
function damaged(packets: readonly TcpPacket[], damages: readonly Damage[]): TcpPacket[] {
  const rest = packets.slice(HANDSHAKE_PACKETS)
  const placed = rest.flatMap((packet, i) => {
    const { copies, late, overlap } = damages[i % damages.length]!
    const { from, data, sequence } = packet
    const before = rest.slice(Math.max(0, i - NEAR_PACKETS), i).filter((p) => p.from === from)
    const said = concat(...before.map((p) => p.data))
    const again = data.length > 0 ? said.subarray(Math.max(0, said.length - overlap)) : data
    const repeating = {
      ...packet,
      sequence: wrapped(sequence - again.length),
      data: concat(again, data),
    }
    return Array.from({ length: copies }, (_, copy) => ({
      place: i + late * (copy + 1),
      packet: repeating,
    }))
  })
  placed.sort((a, b) => a.place - b.place)
  return [...packets.slice(0, HANDSHAKE_PACKETS), ...placed.map(({ packet }) => packet)]
}

const linkType = LINK_TYPES.RAW
const recordPackets = (packets: readonly TcpPacket[]) =>
  record(pcapFile(framesOf(packets, { linkType }), { linkType }))

/** The captured bytes of one side. */
function expected(packets: readonly TcpPacket[], captured: readonly TcpPacket[], side: Side) {
  const mine = (list: readonly TcpPacket[]) =>
    list.filter(({ from, flags }) => from === side && !flags.includes("S"))
  const start = packets.find(({ from }) => from === side)!.sequence + 1
  const stream = concat(...mine(packets).map(({ data }) => data))
  const seen = new Uint8Array(stream.length + 1)
  let end = 0
  let closed = false
  for (const { sequence, data, flags } of mine(captured)) {
    const at = wrapped(sequence - start)
    seen.fill(1, at, at + data.length)
    end = Math.max(end, data.length > 0 ? at + data.length : 0)
    closed ||= flags.includes("F")
  }
  const acknowledged = Math.max(
    0,
    ...captured.flatMap((packet) =>
      packet.from !== side && packet.flags.includes("A")
        ? [wrapped(packet.acknowledged - start)]
        : [],
    ),
  )
  // A FIN marks the end of the stream; without one, the last acknowledgement does, minus the FIN's.
  if (closed) end = stream.length
  else if (acknowledged > end + 1) end = acknowledged
  const result: (Uint8Array | number | string)[] = []
  for (let at = 0; at < end; ) {
    let to = at
    while (to < end && seen[to] === seen[at]) to++
    result.push(seen[at] ? stream.slice(at, to) : to - at)
    at = to
  }
  return [...result, closed ? "end" : "cut"]
}

function expectSaid(
  { connections, errors }: Recording,
  packets: TcpPacket[],
  captured: TcpPacket[],
) {
  expect(errors).toEqual([])
  const told = {
    client: expected(packets, captured, "client"),
    server: expected(packets, captured, "server"),
  }
  // A connection without known bytes or gaps gives no events.
  const speaks = told.client.length > 1 || told.server.length > 1
  expect(connections.length).toBe(Number(speaks))
  for (const connection of connections)
    for (const side of ["client", "server"] as const)
      expect(saidBy(connection, side)).toEqual(told[side])
}

test("reordered, repeated and overlapping segments give the bytes that were sent", () => {
  fc.assert(
    fc.property(conversations, damages({ min: 1, max: 3 }), (talk, damage) => {
      const packets = conversation(talk.said, talk)
      const captured = damaged(packets, damage)
      const recording = recordPackets(captured)
      expectSaid(recording, packets, captured)
      expect(recording.connections[0]?.calls.some(({ call }) => call === "gap")).toBe(false)
    }),
    options,
  )
})

test("missing segments become gaps of their size", () => {
  fc.assert(
    fc.property(conversations, damages({ min: 0, max: 2 }), (talk, damage) => {
      const packets = conversation(talk.said, talk)
      const captured = damaged(packets, damage)
      expectSaid(recordPackets(captured), packets, captured)
    }),
    options,
  )
})

const files = fc
  .record({
    talks: fc.array(conversations, { minLength: 1, maxLength: 3 }),
    damage: damages({ min: 0, max: 2 }),
    linkType: fc.constantFrom(
      ...Object.values(LINK_TYPES).filter((type) => type !== LINK_TYPES.IPV6),
    ),
    snapLength: fc.oneof(fc.constant(1000), fc.integer({ min: 0, max: 120 })),
    littleEndian: fc.boolean(),
    format: fc.constantFrom("pcap", "enhanced", "simple", "obsolete"),
  })
  .map(({ talks, damage, format, ...frame }) => {
    const packets = talks.flatMap((talk, i) =>
      damaged(conversation(talk.said, { ...talk, client: `127.0.0.1:${40000 + (i % 2)}` }), damage),
    )
    const frames = framesOf(packets, frame)
    return format === "pcap"
      ? pcapFile(frames, frame)
      : pcapngFile(frames, {
          ...frame,
          linkTypes: [frame.linkType],
          block: format as "enhanced" | "simple" | "obsolete",
        })
  })

test("any damage to a file gives a result or a CaptureFormatError, whatever the chunks", () => {
  fc.assert(
    fc.property(
      files,
      mutations,
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
      (file, mutate, chunks) => {
        const bytes = mutate(file)
        const whole = attempt(() => record(bytes))
        expect(attempt(() => record(bytes, { chunks }))).toEqual(whole)
        if (typeof whole === "string") return
        // No byte of the file is used twice, and there are no more events than bytes.
        const calls = whole.connections.flatMap((connection) => connection.calls)
        const data = calls.map((entry) => (entry.call === "data" ? entry.bytes.length : 0))
        expect(data.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(bytes.length)
        expect(calls.length + whole.errors.length).toBeLessThanOrEqual(bytes.length)
      },
    ),
    options,
  )
})

/** Returns the events, or the message of the CaptureFormatError; any other error fails the test. */
function attempt(reading: () => Recording): Recording | string {
  try {
    return reading()
  } catch (error) {
    if (error instanceof CaptureFormatError) return error.message
    throw error
  }
}
