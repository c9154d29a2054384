/** Generators for property tests. */
import fc from "fast-check"

import { payload } from "../../bench/payloads.mjs"
import { concat } from "./wire.js"

const noise = fc.uint8Array({ maxLength: 300 })

/** Repeated pieces: near and far matches, overlapping ones and long runs. */
const repetitive = fc
  .array(
    fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 200 })),
    {
      maxLength: 20,
    },
  )
  .map((pieces) =>
    concat(...pieces.flatMap(([piece, times]) => Array<Uint8Array>(times).fill(piece))),
  )

// Longer than a few blocks of the small-blocks build. Generated once, because it takes a while.
const LIFELIKE_BYTES = 200_000
const streams = (["lorem", "json", "zeros", "random"] as const).map((kind) =>
  payload(kind, LIFELIKE_BYTES),
)

const lifelike = fc
  .record({
    stream: fc.constantFrom(...streams),
    start: fc.integer({ min: 0, max: LIFELIKE_BYTES }),
    size: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: LIFELIKE_BYTES })),
  })
  .map(({ stream, start, size }) => stream.subarray(start, start + size))

/** Any bytes, most of them compressible. */
export const plaintexts = fc.oneof(
  { arbitrary: noise, weight: 1 },
  { arbitrary: repetitive, weight: 3 },
  { arbitrary: lifelike, weight: 2 },
)

/** Any dictionary that can be installed. */
export const dictionaries = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 100 }),
  fc
    .record({ kind: fc.constantFrom("lorem", "json"), size: fc.integer({ min: 1, max: 8192 }) })
    .map(({ kind, size }) => payload(kind, size)),
)

export const messages = fc.array(plaintexts, { minLength: 1, maxLength: 5 })

type Mutation = (wire: Uint8Array) => Uint8Array

// Positions are fractions, because the part's length is not known when they are drawn. Half of them
// are in the first bytes, which hold the header.
const position = fc.oneof(
  fc.integer({ min: 0, max: 16 }).map((at) => (length: number) => Math.min(at, length)),
  fc
    .double({ min: 0, max: 1, noNaN: true })
    .map((at) => (length: number) => Math.floor(at * length)),
)

const flip = fc.tuple(position, fc.integer({ min: 1, max: 255 })).map(
  ([at, bits]): Mutation =>
    (wire) => {
      const changed = wire.slice()
      const i = at(wire.length)
      if (i < wire.length) changed[i]! ^= bits
      return changed
    },
)

const truncate = position.map(
  (at): Mutation =>
    (wire) =>
      wire.slice(0, at(wire.length)),
)

const extend = fc.uint8Array({ minLength: 1, maxLength: 20 }).map(
  (more): Mutation =>
    (wire) =>
      concat(wire, more),
)

/** Replaces some bytes by others, or by bytes of the part itself. */
const splice = fc.tuple(position, position, fc.option(fc.uint8Array({ maxLength: 30 }))).map(
  ([from, to, bytes]): Mutation =>
    (wire) => {
      const [start, end] = [from(wire.length), to(wire.length)].sort((a, b) => a - b) as [
        number,
        number,
      ]
      return concat(wire.subarray(0, start), bytes ?? wire.subarray(0, end), wire.subarray(end))
    },
)

/** One to three changes to a wire part. */
export const mutations: fc.Arbitrary<Mutation> = fc
  .array(fc.oneof(flip, truncate, extend, splice), { minLength: 1, maxLength: 3 })
  .map((steps) => (wire) => steps.reduce((bytes, step) => step(bytes), wire))
