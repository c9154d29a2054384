/** Open batches, from which another thread may take data; tested without that thread. */
import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"

import { OpenBatch, SeenBatch } from "../../../src/thread/open-batch.js"

const opened = (): { batch: OpenBatch; seen: SeenBatch } => {
  const batch = OpenBatch.open() as OpenBatch
  const memory = new Uint8Array(batch.slab.bytes.buffer, batch.start)
  return { batch, seen: new SeenBatch(batch.cells, batch.at, memory, [1]) }
}

/** Adds as many bytes as the batch has, and returns the new size. */
const add = (batch: OpenBatch, from: number, text: string): number => {
  batch.bytes.write(text, from)
  batch.publish(from + text.length)
  return from + text.length
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

describe("an open batch", () => {
  test("gives the data added since the last time, and at its end the amount taken", () => {
    const { batch, seen } = opened()
    expect(text(seen.take())).toBe("")
    let length = add(batch, 0, "one")
    length = add(batch, length, "two")
    expect(text(seen.take())).toBe("onetwo")
    expect(text(seen.take())).toBe("")
    length = add(batch, length, "three")
    expect(text(seen.take())).toBe("three")
    length = add(batch, length, "four")
    expect(seen.isOver).toBe(false)
    expect(batch.seal()).toBe("onetwothree".length)
    expect(seen.isOver).toBe(true)
    expect(text(seen.take())).toBe("")
    batch.close(length)
  })

  test("an open batch that is sealed before anything was taken gives nothing", () => {
    const { batch, seen } = opened()
    add(batch, 0, "one")
    expect(batch.seal()).toBe(0)
    expect(text(seen.take())).toBe("")
    batch.close(3)
  })

  test("gives nothing of another in the same slot", () => {
    const before = opened()
    before.batch.seal()
    before.batch.close(0)
    const after = opened()
    expect(after.batch.slot).toBe(before.batch.slot)
    add(after.batch, 0, "one")
    expect(before.seen.isOver).toBe(true)
    expect(text(before.seen.take())).toBe("")
    expect(text(after.seen.take())).toBe("one")
    expect(after.batch.seal()).toBe(3)
    after.batch.close(3)
  })

  test("an open batch that has ended stays ended, however many others have used its slot since", () => {
    const before = opened()
    add(before.batch, 0, "stale")
    before.batch.seal()
    before.batch.close(5)
    for (let opening = 0; opening < 2 ** 18; opening++) {
      const batch = OpenBatch.open() as OpenBatch
      // Not expect(), which would take most of the time.
      if (batch.slot !== before.batch.slot) throw new Error("it has another slot")
      batch.bytes.write("other")
      batch.publish(5)
      if (!before.seen.isOver || before.seen.take().length > 0)
        throw new Error(`it is taken for that of opening ${opening}`)
      batch.seal()
      batch.close(0)
    }
  })

  test("an open batch whose memory is reused while it is being copied gives nothing", () => {
    const { batch, seen } = opened()
    add(batch, 0, "one")
    const slice = vi.spyOn(Uint8Array.prototype, "slice").mockImplementationOnce(function (
      this: Uint8Array,
      start,
      end,
    ) {
      batch.seal()
      batch.close(0)
      const next = opened()
      add(next.batch, 0, "two")
      const copy = Uint8Array.from(this.subarray(start, end))
      next.batch.seal()
      next.batch.close(0)
      return copy
    })
    expect(text(seen.take())).toBe("")
    slice.mockRestore()
  })

  test("an open batch that is sealed while it is being copied gives nothing: the other thread posts it", () => {
    const { batch, seen } = opened()
    add(batch, 0, "one")
    let taken = -1
    const slice = vi.spyOn(Uint8Array.prototype, "slice").mockImplementationOnce(function (
      this: Uint8Array,
      start,
      end,
    ) {
      const copy = Uint8Array.from(this.subarray(start, end))
      taken = batch.seal()
      return copy
    })
    expect(text(seen.take())).toBe("")
    slice.mockRestore()
    expect(taken).toBe(0)
    batch.close(3)
  })

  test("gives every byte once, taken or posted, in any order of events", () => {
    const events = fc.array(fc.constantFrom("add", "take", "next"), { maxLength: 60 })
    fc.assert(
      fc.property(events, (sequence) => {
        let { batch, seen } = opened()
        let length = 0
        let left = ""
        let number = 0
        let all = ""
        const next = () => {
          const taken = batch.seal()
          left += batch.bytes.toString("latin1", taken, length)
          batch.close(length)
          ;({ batch, seen } = opened())
          length = 0
        }
        for (const event of sequence) {
          if (event === "add") {
            const what = `${number++},`
            all += what
            length = add(batch, length, what)
          } else if (event === "take") left += text(seen.take())
          else next()
        }
        next()
        expect(left).toBe(all)
        batch.seal()
        batch.close(0)
      }),
    )
  })

  test("does not exist if too many are open", () => {
    const all = Array.from({ length: 32 }, opened)
    expect(OpenBatch.open()).toBeUndefined()
    for (const { batch } of all) {
      batch.seal()
      batch.close(0)
    }
    const { batch } = opened()
    batch.seal()
    batch.close(0)
  })
})
