/** Chunks are allocated from memory that is reused, but only after all references are released. */
import fc from "fast-check"
import { expect, test } from "vitest"

import { type Chunk, ChunkBuilder } from "../../../src/codec/chunk.js"
import { expectSameBytes } from "../../support/same-bytes.js"

const content = {
  messages: 1,
  plainBytes: 3,
  wireBytes: 4,
  dictionary: undefined,
  packing: "parts" as const,
}

const builder = new ChunkBuilder()
let made = 0

/** A chunk with its own fill byte, in several pieces. */
function make(lengths: readonly number[]): { chunk: Chunk; expected: Buffer } {
  const fill = ++made & 0xff
  builder.begin()
  for (const length of lengths) builder.append(new Uint8Array(length).fill(fill))
  const chunk = builder.end(content)
  return {
    chunk,
    expected: Buffer.alloc(
      lengths.reduce((sum, one) => sum + one, 0),
      fill,
    ),
  }
}

const length = fc.oneof(
  { weight: 5, arbitrary: fc.nat(5000) },
  { weight: 1, arbitrary: fc.nat(300_000) },
)
const action = fc.record({
  what: fc.constantFrom(
    "make",
    "make",
    "make",
    "release",
    "share",
    "own",
    "join",
    "abandon",
    "reserve",
  ),
  lengths: fc.array(length, { maxLength: 4 }),
  which: fc.nat(1000),
})

test("a referenced chunk does not change, whatever is allocated, shared, joined, copied and released", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      // One entry for each reference to a chunk.
      let held: { chunk: Chunk; expected: Buffer; shared: boolean }[] = []
      for (const { what, lengths, which } of actions) {
        const at = which % Math.max(1, held.length)
        const one = held[at]
        if (what === "make") held.push({ ...make(lengths), shared: false })
        else if (what === "reserve") {
          builder.begin()
          for (const bytes of lengths) builder.append(new Uint8Array(bytes).fill(7))
          builder.reserve(1000 * which)
          builder.append(new Uint8Array(which).fill(9))
          const head = lengths.reduce((sum, bytes) => sum + bytes, 0)
          const expected = Buffer.concat([Buffer.alloc(head, 7), Buffer.alloc(which, 9)])
          held.push({ chunk: builder.end(content), expected, shared: false })
        } else if (what === "abandon") {
          builder.begin()
          for (const bytes of lengths) builder.append(new Uint8Array(bytes).fill(0xee))
          builder.abandon()
        } else if (one && what === "release") {
          one.chunk.release()
          held.splice(at, 1)
        } else if (one && what === "share" && !one.shared) {
          one.chunk.share(3)
          one.shared = true
          held.push(one, one)
        } else if (one && what === "own") {
          held[at] = { ...one, chunk: one.chunk.copied() }
        } else if (one && what === "join") {
          const next = held[at + 1]
          if (!next || next.chunk === one.chunk || one.shared || next.shared) continue
          const chunk = one.chunk.joined(next.chunk)
          if (!chunk) continue
          expect(chunk.messages).toBe(one.chunk.messages + next.chunk.messages)
          held.splice(at, 2, {
            chunk,
            expected: Buffer.concat([one.expected, next.expected]),
            shared: false,
          })
        }
        for (const { chunk, expected } of held) expect(expected.equals(chunk.bytes)).toBe(true)
      }
      for (const { chunk } of held) chunk.release()
      held = []
    }),
    { numRuns: 150 },
  )
})

test("chunks that are released in turn use no more than one slab", () => {
  const slabs = new Set<ArrayBufferLike>()
  for (let i = 0; i < 1000; i++) {
    const { chunk } = make([4000, 4000])
    slabs.add(chunk.bytes.buffer)
    chunk.release()
  }
  expect(slabs.size).toBeLessThanOrEqual(2)
})

test("parts that are referred to come between the bytes of a chunk, also of its copy", () => {
  const [first, second] = [new Uint8Array(10).fill(1), new Uint8Array(20).fill(2)]
  builder.begin()
  builder.append(Uint8Array.of(7))
  builder.refer(first)
  builder.append(new Uint8Array(400_000).fill(8)) // moves to another slab
  builder.refer(second)
  const chunk = builder.end(content)
  const all = ({ arrays }: Chunk) => Buffer.concat(arrays)
  const expected = Buffer.concat([Buffer.of(7), first, Buffer.alloc(400_000, 8), second])
  expectSameBytes(all(chunk), expected)
  expect(chunk.length).toBe(expected.length)
  const copy = chunk.copied()
  expectSameBytes(all(copy), expected)
  expect(copy.detached).toBe(undefined)
  structuredClone(second.buffer, { transfer: [second.buffer] })
  expect(copy.detached).toMatchObject({ length: 20 })
  expect(copy.length).toBe(expected.length)
  copy.release()

  builder.begin()
  builder.append(Uint8Array.of(7))
  expect(builder.end(content).references).toEqual([])
})

test.each([
  ["lz4", "lz4", "lz4"],
  ["lz4", undefined, "lz4"],
  [undefined, "zstd", "zstd"],
  [undefined, undefined, undefined],
  ["lz4", "zstd", "apart"],
  ["zstd", "lz4", "apart"],
] as const)("chunks with parts of %s and %s are joined as %s", (one, other, expected) => {
  const [first, second] = [one, other].map((format) => {
    builder.begin()
    builder.append(Uint8Array.of(1))
    return builder.end({ ...content, format })
  }) as [Chunk, Chunk]
  const joined = first.joined(second)
  expect(joined ? joined.format : "apart").toBe(expected)
  for (const chunk of joined ? [joined] : [first, second]) chunk.release()
})
