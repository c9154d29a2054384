/** Bytes that wait for the rest of a part, in pieces of any size. */
import { describe, expect, onTestFinished, test } from "vitest"

import { createRandom } from "../../../bench/random.mjs"
import { ByteQueue } from "../../../src/codec/byte-queue.js"
import { expectSameBytes } from "../../support/same-bytes.js"

const MIB = 2 ** 20

test("returns the bytes in order, however they are pushed and read", () => {
  const random = createRandom("byte queue")
  const stream = random.bytes(MIB)
  for (let round = 0; round < 20; round++) {
    const queue = new ByteQueue()
    let pushed = 0
    let read = 0
    for (let step = 0; step < 100; step++) {
      const bytes = random.below(random.pick([4, 100, 5000, 10_000]))
      if (random.below(2) === 0) {
        const lent = stream.slice(pushed, pushed + bytes)
        queue.push(lent)
        lent.fill(0) // the queue has a copy
        pushed += bytes
      } else {
        const target = new Uint8Array(Math.min(bytes, queue.length))
        const how = random.pick(["read", "peek", "peek and skip"])
        if (how === "read") queue.read(target)
        else queue.peek(target)
        if (how === "peek and skip") queue.skip(target.length)
        expectSameBytes(target, stream.subarray(read, read + target.length))
        if (how !== "peek") read += target.length
      }
      expect(queue.length).toBe(pushed - read)
    }
    expectSameBytes(queue.rest(), stream.subarray(read, pushed))
    expect(queue.length).toBe(0)
  }
})

/** Counts the items that arrays move up when one is taken from the front. */
function countMoved(): () => number {
  const { shift } = Array.prototype
  let moved = 0
  Array.prototype.shift = function (this: unknown[]) {
    moved += this.length
    return shift.call(this)
  }
  onTestFinished(() => {
    Array.prototype.shift = shift
  })
  return () => moved
}

describe("a peer that sends a large part in small pieces", () => {
  test.each([1, 1000, 4096, 8192])(
    "a part in pieces of %i bytes makes nobody move them over and over",
    (size) => {
      const moved = countMoved()
      const queue = new ByteQueue()
      const bytes = Math.min(32 * MIB, size * 2 ** 18)
      const piece = new Uint8Array(size)
      for (let at = 0; at < bytes; at += size) queue.push(piece)
      const target = new Uint8Array(1024)
      while (queue.length > 0) queue.read(target.subarray(0, queue.length))
      expect(moved()).toBeLessThan(10_000)
    },
  )
})
