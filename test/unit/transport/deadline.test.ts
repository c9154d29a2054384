import { expect, test } from "vitest"
import { Deadline } from "../../../src/transport/deadline.js"
import { readSoon } from "../../../src/transport/read-turns.js"

/** Milliseconds of decoding after which the event loop has its turn, and more. */
const SLICE_MS = 10

const block = (ms: number): void => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

/** A connection that keeps its place in line. */
const connection = { shareMs: 0, isBehind: false }

const busy = {
  ...connection,
  readSlice(): boolean {
    block(SLICE_MS)
    return false
  },
}

test("a deadline expires after what arrived in time was decoded, however many connections are first", async () => {
  const outcome = await new Promise((resolve) => {
    const deadline = new Deadline(1, () => resolve("expired"))
    for (let i = 0; i < 5; i++) readSoon(busy)
    const awaited = {
      ...connection,
      readSlice() {
        deadline.clear()
        resolve("arrived")
        return false
      },
    }
    readSoon(awaited)
  })
  expect(outcome).toBe("arrived")
})

test("a deadline does not wait for connections that always have more to decode", async () => {
  let isOver = false
  readSoon({
    ...connection,
    readSlice() {
      block(SLICE_MS)
      return !isOver
    },
  })
  await new Promise<void>((resolve) => new Deadline(1, resolve))
  isOver = true
})
