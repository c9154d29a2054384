import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { Linger } from "../../../src/sockets/endpoints/linger.js"

const expired = vi.fn()
let blockedMs = 0

beforeEach(() => {
  vi.useFakeTimers()
  const now = performance.now.bind(performance)
  vi.spyOn(performance, "now").mockImplementation(() => now() + blockedMs)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  expired.mockClear()
  blockedMs = 0
})

/** Lets time pass in which no timer is called. */
const block = (ms: number) => {
  blockedMs += ms
}

test("expires after its time, and not once it was cleared", () => {
  const linger = new Linger(300, expired)
  new Linger(300, expired).clear()
  vi.advanceTimersByTime(200)
  expect(linger.leftMs).toBe(100)
  expect(expired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1000)
  expect(expired).toHaveBeenCalledTimes(1)
})

test("is extended by the time for which the event loop was blocked at its end, at most once", () => {
  new Linger(300, expired)
  vi.advanceTimersByTime(299)
  block(200)
  vi.advanceTimersByTime(200)
  expect(expired).not.toHaveBeenCalled()
  block(1000)
  vi.advanceTimersByTime(1)
  expect(expired).toHaveBeenCalledTimes(1)
})

test("is extended by no more than its time", () => {
  const linger = new Linger(300, expired)
  block(5000)
  expect(linger.leftMs).toBe(300)
  linger.clear()
})
