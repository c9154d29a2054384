/** When decisions about connections wait for a poll, with a clock and an event loop of the test's. */
import { performance } from "node:perf_hooks"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type * as lastPoll from "../../../src/transport/last-poll.js"

let nowMs = 0
let immediates: { callback: () => void; isReferenced: boolean }[] = []
let module: typeof lastPoll

beforeEach(async () => {
  nowMs = 1000
  immediates = []
  vi.spyOn(performance, "now").mockImplementation(() => nowMs)
  vi.stubGlobal("setImmediate", (callback: () => void) => {
    const entry = { callback, isReferenced: true }
    immediates.push(entry)
    const immediate = {
      ref: () => Object.assign(entry, { isReferenced: true }) && immediate,
      unref: () => Object.assign(entry, { isReferenced: false }) && immediate,
    }
    return immediate
  })
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
  const ready = immediates
  immediates = []
  for (const { callback } of ready) callback()
}

const isReferenced = () => immediates.some((one) => one.isReferenced)

test("nothing is known before the event loop has polled for certain: the first immediate may run without", () => {
  expect(module.isOutdated()).toBe(true)
  turn()
  expect(module.isOutdated()).toBe(true)
  turn()
  expect(module.isOutdated()).toBe(false)
})

test("what is known is old some milliseconds after the poll", () => {
  module.isOutdated()
  turn()
  turn()
  nowMs += 5
  expect(module.isOutdated()).toBe(false)
  nowMs += 0.1
  expect(module.isOutdated()).toBe(true)
})

test("a poll that took long may have ended without news: what is known is old, until the next poll", () => {
  module.isOutdated()
  turn()
  turn()
  turn(50)
  expect(module.isOutdated()).toBe(true)
  turn()
  expect(module.isOutdated()).toBe(true)
  turn()
  expect(module.isOutdated()).toBe(false)
})

test("the time is noted in two turns every millisecond, without keeping the process alive", () => {
  module.isOutdated()
  let turns = 0
  while (immediates.length > 0) {
    expect(isReferenced()).toBe(false)
    turn(0.1)
    turns++
    module.isOutdated()
  }
  expect(turns).toBe(2)
  nowMs += 1.1
  module.isOutdated()
  expect(immediates.length).toBe(1)
})

test("callbacks wait for a whole poll, keep the process alive until then, and are called in order", () => {
  const called: string[] = []
  module.isOutdated()
  module.afterPoll(() => called.push("one"))
  module.afterPoll(() => called.push("two"))
  expect(isReferenced()).toBe(true)
  turn()
  expect(called).toEqual([])
  turn()
  expect(called).toEqual(["one", "two"])
  expect(isReferenced()).toBe(false)
})

test("callbacks wait for one more poll if the program was busy after it, and then have the latest news", () => {
  const outdated: boolean[] = []
  module.afterPoll(() => {
    nowMs += 50
    outdated.push(module.isOutdated())
  })
  turn(50)
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
  turn()
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
  turn()
  module.handshakeBegan(quick)
  for (let i = 0; i < 5; i++) turn(0.5)
  expect(called).toEqual([])
  module.handshakeEnded(quick)
  turn()
  expect(called).toEqual(["one"])
  module.afterPoll(() => called.push("two"))
  turn()
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
  for (let i = 0; i < 12; i++) {
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
  turn()
  later.mockRestore()
  expect(called).toEqual(["two"])
  nowMs += 10
  expect(module.isOutdated()).toBe(true)
})

test("a callback that waits is not held up by one that began to wait later", () => {
  const called: string[] = []
  module.afterPoll(() => called.push("one"))
  turn(1)
  nowMs += 1
  module.afterPoll(() => called.push("two"))
  turn(1)
  expect(called).toEqual(["one"])
  turn(1)
  expect(called).toEqual(["one", "two"])
})

test("time in which the event loop was idle does not count, unless it is long", () => {
  const idle = vi.spyOn(performance.nodeTiming, "idleTime", "get").mockReturnValue(7)
  module.isOutdated()
  turn()
  turn()
  nowMs += 95
  idle.mockReturnValue(7 + 90)
  expect(module.isOutdated()).toBe(false)
  nowMs += 0.1
  expect(module.isOutdated()).toBe(true)
  idle.mockReturnValue(7 + 95)
  expect(module.isOutdated()).toBe(false)
  nowMs += 5
  idle.mockReturnValue(7 + 100.1)
  expect(module.isOutdated()).toBe(true)
})

test("bytes that come in each poll are waited for in two of them", () => {
  const called: string[] = []
  module.isOutdated()
  turn()
  turn()
  nowMs += 10
  module.afterPoll(() => called.push("after"))
  turn()
  for (let i = 0; i < 2; i++) {
    module.heardBytes()
    turn()
    expect(called).toEqual([])
  }
  module.heardBytes()
  turn()
  expect(called).toEqual(["after"])
})

test("after 100 ms without a poll, other threads have to poll as well, within another 100 ms", () => {
  const polled: (() => void)[] = []
  const thread = { poll: (callback: () => void) => polled.push(callback) }
  const called: string[] = []
  module.isOutdated()
  turn()
  turn()
  module.addThread(thread)
  nowMs += 100
  module.afterPoll(() => called.push("after 100 ms"))
  turn()
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
  turn()
  turn(99)
  expect(called).toHaveLength(2)
  turn(1)
  expect(called).toHaveLength(3)
  module.removeThread(thread)
  nowMs += 101
  module.afterPoll(() => called.push("without threads"))
  turn()
  turn()
  expect(called).toHaveLength(4)
})
