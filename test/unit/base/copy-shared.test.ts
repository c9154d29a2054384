import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { copyShared } from "../../../src/base/copy-shared.js"

const ROOM = 10_000
const memories = {
  "memory of its own": () => new Uint8Array(ROOM),
  "shared memory": () => new Uint8Array(new SharedArrayBuffer(ROOM)),
  "memory of WebAssembly": () =>
    new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer).subarray(0, ROOM),
}

describe("copied bytes", () => {
  const pairs = Object.entries(memories).flatMap(([from, source]) =>
    Object.entries(memories).map(([to, target]) => ({ from, source, to, target })),
  )

  test.each(pairs)("from $from to $to are copied, and nothing around them changes", (pair) => {
    const source = pair.source()
    for (let i = 0; i < ROOM; i++) source[i] = (i * 7) & 0xff
    const range = fc.tuple(fc.nat(ROOM), fc.nat(ROOM)).map((ends) => ends.sort((a, b) => a - b))
    fc.assert(
      fc.property(range, fc.nat(ROOM), ([start = 0, end = 0], wanted) => {
        const target = pair.target().fill(0xee)
        const at = Math.min(wanted, ROOM - (end - start))
        copyShared(target, at, source.subarray(start, end))
        const expected = Buffer.alloc(ROOM, 0xee)
        Buffer.from(source).copy(expected, at, start, end)
        expect(Buffer.from(target).equals(expected)).toBe(true)
      }),
    )
  })

  test("have to fit", () => {
    for (const bytes of [100, 5000])
      expect(() => copyShared(new Uint8Array(bytes), 1, new Uint8Array(bytes))).toThrow(RangeError)
  })
})
