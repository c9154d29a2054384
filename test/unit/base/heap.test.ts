import fc from "fast-check"
import { expect, test } from "vitest"
import { Heap } from "../../../src/base/heap.js"

interface Item {
  readonly key: number
  readonly number: number
}

const isBefore = (one: Item, other: Item) =>
  one.key < other.key || (one.key === other.key && one.number < other.number)

test("a heap gives its items in order, whatever was added and taken before", () => {
  const steps = fc.array(fc.option(fc.nat(20)), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (keys) => {
      const heap = new Heap(isBefore)
      let sorted: Item[] = []
      keys.forEach((key, number) => {
        if (key === null) expect(heap.take()).toBe(sorted.shift())
        else {
          const item = { key, number }
          heap.add(item)
          sorted = [...sorted, item].sort((a, b) => (isBefore(a, b) ? -1 : 1))
        }
        expect(heap.length).toBe(sorted.length)
        expect(heap.first).toBe(sorted[0])
        expect(new Set(heap)).toEqual(new Set(sorted))
      })
    }),
  )
})
