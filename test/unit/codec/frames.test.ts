/** Heads of frames, and the lengths of messages as frames. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import {
  BODY_MAX_BYTES,
  FrameHead,
  framesLength,
  StreamHead,
  writeFrameHead,
  writeFrames,
} from "../../../src/codec/frames.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frameHead, LONG, MORE } from "../../support/zmtp.js"

const lengths = [0, 1, 255, 256, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]

describe("the head of a frame", () => {
  test.each(lengths)(
    "the head of a frame of %d bytes is read as it was written, after other bytes",
    (bodyBytes) => {
      for (const flags of [0, MORE, COMMAND]) {
        const bytes = new Uint8Array(20).fill(0xee)
        const end = writeFrameHead(bytes, 3, flags, bodyBytes)
        expect(bytes.subarray(3, end)).toEqual(frameHead(bodyBytes, flags))
        const head = new FrameHead()
        expect(head.read(bytes, 3)).toBe(end)
        expect([head.flags & ~LONG, head.bodyBytes]).toEqual([flags, bodyBytes])
      }
    },
  )

  test("is read the same wherever chunks end", () => {
    const lengthOf = fc.oneof(fc.constantFrom(...lengths), fc.maxSafeNat())
    const heads = fc.array(fc.record({ bodyBytes: lengthOf, flags: fc.constantFrom(0, MORE) }))
    fc.assert(
      fc.property(
        heads,
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
        (all, cuts) => {
          const stream = concat(...all.map(({ bodyBytes, flags }) => frameHead(bodyBytes, flags)))
          const head = new StreamHead()
          const seen: { bodyBytes: number; flags: number }[] = []
          for (let start = 0, i = 0; start < stream.length; i++) {
            const chunk = stream.slice(start, start + (cuts[i % cuts.length] as number))
            for (let at = 0; at < chunk.length; ) {
              at = head.readNext(chunk, at)
              if (!head.isIncomplete)
                seen.push({ bodyBytes: head.bodyBytes, flags: head.flags & ~LONG })
            }
            start += chunk.length
            chunk.fill(0xee)
          }
          expect(head.isIncomplete).toBe(false)
          expect(seen).toEqual(all)
        },
      ),
    )
  })

  test("shows its flags from the first byte on, and is incomplete up to the last", () => {
    for (const bytes of [frameHead(5, MORE), frameHead(300, COMMAND)]) {
      const head = new StreamHead()
      for (let at = 0; at < bytes.length; at++) {
        expect(head.readNext(bytes.subarray(at, at + 1), 0)).toBe(1)
        expect(head.flags).toBe(bytes[0])
        expect(head.isIncomplete).toBe(at < bytes.length - 1)
      }
    }
  })

  test("the head of a frame that ends after the bytes is not read, and its body begins after their end", () => {
    for (const bytes of [frameHead(5), frameHead(300)]) {
      const head = new FrameHead()
      for (let cut = 1; cut < bytes.length; cut++)
        expect(head.read(bytes.subarray(0, cut), 0)).toBe(bytes.length)
      expect(head.bodyBytes).toBe(0)
    }
  })

  test.each([2n ** 63n, 2n ** 64n - 1n])(
    "the head of a frame of %d bytes has a length that is refused",
    (bodyBytes) => {
      const head = new FrameHead()
      head.read(frameHead(bodyBytes), 0)
      expect(head.bodyBytes).toBeGreaterThanOrEqual(BODY_MAX_BYTES)
    },
  )
})

test("a message takes as many bytes as its frames", () => {
  for (const sizes of [[0], [255], [256], [3, 0, 300], [251, 252, 70_000]]) {
    const parts = sizes.map((size) => new Uint8Array(size))
    const target = new Uint8Array(100_000)
    expect(framesLength(parts)).toBe(writeFrames(target, 0, parts))
    const longer = sizes.map((size) => new Uint8Array(size + 4))
    expect(framesLength(parts, 4)).toBe(writeFrames(target, 0, longer))
  }
})
