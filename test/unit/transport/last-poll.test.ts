/** When decisions about connections wait for a poll, with a clock and an event loop of the test's. */
import { performance } from "node:perf_hooks"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type * as lastPoll from "../../../src/transport/last-poll.js"

let nowMs = 0
let polls = 0
let immediates: (() => void)[] = []
let module: typeof lastPoll

beforeEach(async () => {
  nowMs = 1000
  polls = 0
  immediates = []
  vi.spyOn(performance, "now").mockImplementation(() => nowMs)
  vi.spyOn(performance.nodeTiming, "idleTime", "get").mockReturnValue(0)
  vi.spyOn(performance.nodeTiming, "uvMetricsInfo", "get").mockImplementation(() => ({
    ...{ loopCount: polls, events: 0, eventsWaiting: 0 },
  }))
  vi.stubGlobal("setImmediate", (callback: () => void) => immediates.push(callback))
  vi.resetModules()
  // With this query it is the module itself, and not what stands in for it.
  module = await import("../../../src/transport/last-poll.js?real" as string)
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Lets the event loop poll, which takes so many milliseconds, and run what follows a poll. */
function turn(ms = 0): void {
  nowMs += ms
  polls++
  runImmediates()
}

function runImmediates(): void {
  const ready = immediates
  immediates = []
  for (const callback of ready) callback()
}

/** Lets the event loop poll twice, between looks at it. */
function begin(): void {
  module.isOutdated()
  turn(1)
  module.isOutdated()
  turn(1)
  module.isOutdated()
}

test("nothing is known before the event loop has polled twice", () => {
  expect(module.isOutdated()).toBe(true)
  turn(1)
  expect(module.isOutdated()).toBe(true)
  turn(1)
  expect(module.isOutdated()).toBe(false)
})

test("what is known is old after a turn of more than 8 ms, and in the next one", () => {
  begin()
  nowMs += 7 // after the last look before the poll, which was 1 ms before
  expect(module.isOutdated()).toBe(false)
  nowMs += 0.3
  expect(module.isOutdated()).toBe(true)
  turn(0.3)
  expect(module.isOutdated()).toBe(true)
  turn(0.3)
  expect(module.isOutdated()).toBe(false)
})

test("turns of up to 8 ms are not long", () => {
  begin()
  for (let i = 0; i < 5; i++) {
    turn(8)
    expect(module.isOutdated()).toBe(false)
  }
})

test("a runtime that does not count its polls is taken to have polled if it was not busy", () => {
  vi.spyOn(performance.nodeTiming, "uvMetricsInfo", "get").mockReturnValue(undefined as never)
  begin()
  expect(module.isOutdated()).toBe(false)
  nowMs += 8.1
  expect(module.isOutdated()).toBe(true)
  let isCalled = false
  module.afterPoll(() => {
    isCalled = true
  })
  runImmediates()
  expect(isCalled).toBe(true)
})

test("callbacks wait for a whole poll, and are called in order", () => {
  const called: string[] = []
  module.afterPoll(() => called.push("one"))
  module.afterPoll(() => called.push("two"))
  expect(immediates.length).toBe(1)
  runImmediates() // those of the poll in which they began to wait
  expect(called).toEqual([])
  turn()
  expect(called).toEqual(["one", "two"])
  expect(immediates.length).toBe(0)
})

test("callbacks wait for one more poll if the program was busy after it, and then have the latest news", () => {
  const outdated: boolean[] = []
  module.afterPoll(() => {
    nowMs += 50
    outdated.push(module.isOutdated())
  })
  turn(50)
  expect(outdated).toEqual([])
  turn(50)
  expect(outdated).toEqual([false])
})

test("callbacks wait until a poll brings no more news", () => {
  let isCalled = false
  module.afterPoll(() => {
    isCalled = true
  })
  for (let i = 0; i < 5; i++) {
    module.heard()
    turn(1)
    expect(isCalled).toBe(false)
  }
  turn()
  expect(isCalled).toBe(true)
})

test("callbacks wait for the handshakes of peers that connect meanwhile, at most 10 ms", () => {
  const [early, quick, silent] = [{}, {}, {}]
  const called: string[] = []
  module.handshakeBegan(early) // its peer may be silent for as long as handshakes may take
  module.afterPoll(() => called.push("one"))
  module.handshakeBegan(quick)
  for (let i = 0; i < 5; i++) turn(0.5)
  expect(called).toEqual([])
  module.handshakeEnded(quick)
  turn()
  expect(called).toEqual(["one"])
  module.afterPoll(() => called.push("two"))
  module.handshakeBegan(silent)
  for (let i = 0; i < 10; i++) turn(1)
  expect(called).toEqual(["one"])
  turn(1)
  expect(called).toEqual(["one", "two"])
})

test("callbacks do not wait for more than 10 ms because of more news, such as a flood", () => {
  let isCalled = false
  module.afterPoll(() => {
    isCalled = true
  })
  for (let i = 0; i < 11; i++) {
    expect(isCalled).toBe(false)
    module.heard()
    turn(1)
  }
  expect(isCalled).toBe(true)
})

test("a callback that throws does not keep the others from being called, nor from waiting again", () => {
  const called: string[] = []
  const later = vi.spyOn(process, "nextTick").mockImplementation(() => {})
  module.afterPoll(() => {
    throw new Error("thrown later")
  })
  module.afterPoll(() => called.push("two"))
  turn()
  later.mockRestore()
  expect(called).toEqual(["two"])
  nowMs += 10
  expect(module.isOutdated()).toBe(true)
})

test("a callback that waits is not held up by one that began to wait later", () => {
  const called: string[] = []
  module.afterPoll(() => called.push("one"))
  nowMs += 1
  polls++
  module.afterPoll(() => called.push("two"))
  runImmediates()
  expect(called).toEqual(["one"])
  turn(1)
  expect(called).toEqual(["one", "two"])
})

test("time in which the event loop was idle does not count, unless it is long", () => {
  const idle = vi.spyOn(performance.nodeTiming, "idleTime", "get").mockReturnValue(7)
  begin()
  nowMs += 95
  idle.mockReturnValue(7 + 88)
  expect(module.isOutdated()).toBe(false)
  nowMs += 0.3
  expect(module.isOutdated()).toBe(true)
  idle.mockReturnValue(7 + 89)
  nowMs += 0.3
  expect(module.isOutdated()).toBe(false)
  nowMs += 4
  idle.mockReturnValue(7 + 100)
  expect(module.isOutdated()).toBe(true)
})

test("bytes are waited for in one poll", () => {
  let isCalled = false
  module.afterPoll(() => {
    isCalled = true
  })
  module.heardBytes()
  turn()
  expect(isCalled).toBe(false)
  module.heardBytes()
  turn()
  expect(isCalled).toBe(true)
})

test("after 100 ms without a poll, other threads have to poll as well, within another 100 ms", () => {
  const polled: (() => void)[] = []
  const thread = { poll: (callback: () => void) => polled.push(callback) }
  const called: string[] = []
  begin()
  module.addThread(thread)
  nowMs += 99 // after the last look before the poll, which was 1 ms before
  module.afterPoll(() => called.push("after 100 ms"))
  turn()
  expect(called).toEqual(["after 100 ms"])
  nowMs += 101
  module.afterPoll(() => called.push("after 101 ms"))
  turn()
  turn(50)
  expect(called).toEqual(["after 100 ms"])
  for (const callback of polled) callback()
  turn()
  expect(called).toEqual(["after 100 ms", "after 101 ms"])
  nowMs += 101
  module.afterPoll(() => called.push("after a thread that does not poll"))
  turn()
  turn(99)
  expect(called).toHaveLength(2)
  turn(1)
  expect(called).toHaveLength(3)
  module.removeThread(thread)
  nowMs += 101
  module.afterPoll(() => called.push("without threads"))
  turn()
  expect(called).toHaveLength(4)
})
