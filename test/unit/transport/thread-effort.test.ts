/** The effort of the many connections of a thread that send little each. */
import { expect, test } from "vitest"
import { NO_EFFORT } from "../../../src/codec/no-effort.js"
import { type Clock, Load } from "../../../src/transport/network-meter.js"
import { ThreadEffort } from "../../../src/transport/thread-effort.js"

/** What the thread does in a millisecond, with and without compression. */
interface Work {
  /** Plaintext that it sends, in bytes. */
  plain: number
  compressed: number
  /** The share of the time that it is at work without compression. */
  active: number
}

/** Milliseconds per byte that level 0 takes. */
const COST = 2e-6
const STEP_MS = 5
const KB = 1000

class FakeClock implements Clock {
  ms = 0
  active = 0
  now = () => this.ms
  activeMs = () => this.active
}

/** Returns the times, in tenths of a second, at which compression ends and begins again within `ms`. */
function changes(ms: number, workAt: (now: number) => Work): number[] {
  const clock = new FakeClock()
  const effort = new ThreadEffort(clock, new Load())
  const times: number[] = []
  let compresses = true
  while (clock.ms < ms) {
    const { plain, compressed, active } = workAt(clock.ms)
    const now = effort.compresses
    if (now !== compresses) times.push(clock.ms)
    compresses = now
    const bytes = (compresses ? compressed : plain) * STEP_MS
    const encodeMs = compresses ? bytes * COST : 0
    const begunAt = clock.ms
    clock.ms += encodeMs
    effort.encoded(compresses ? 1 : NO_EFFORT, bytes, bytes, begunAt)
    clock.ms += STEP_MS - encodeMs
    clock.active += Math.min(STEP_MS, active * STEP_MS + encodeMs)
  }
  return times.map((time) => Math.round(time / 100))
}

const always = (work: Work) => () => work

test.each<[what: string, work: Work, times: number[]]>([
  ["an idle thread compresses", { plain: 50 * KB, compressed: 50 * KB, active: 0.2 }, []],
  ["a busy thread that sends little compresses", { plain: KB, compressed: KB, active: 0.9 }, []],
  ["a busy thread does not compress", { plain: 80 * KB, compressed: 50 * KB, active: 0.4 }, [3]],
  [
    "a thread that would be busy with compression does not compress",
    { plain: 80 * KB, compressed: 50 * KB, active: 0.35 },
    [3],
  ],
  [
    "a thread whose network is slow compresses, but for 0.3 s of 5.6",
    { plain: 12 * KB, compressed: 40 * KB, active: 0.9 },
    [3, 6, 58, 61],
  ],
])("%s", (_, work, times) => {
  expect(changes(7000, always(work))).toEqual(times)
})

test.each([
  ["is idle", { plain: 80 * KB, compressed: 80 * KB, active: 0.1 }],
  ["sends little", { plain: 5 * KB, compressed: 5 * KB, active: 0.9 }],
])("a thread compresses again when it %s", (_, later) => {
  const busy = { plain: 80 * KB, compressed: 50 * KB, active: 0.6 }
  expect(changes(9000, (now) => (now < 7000 ? busy : later))).toEqual([3, 73])
})

test("a burst changes nothing", () => {
  const burst = { plain: 80 * KB, compressed: 80 * KB, active: 0.9 }
  const quiet = { plain: 80 * KB, compressed: 80 * KB, active: 0.1 }
  expect(changes(5000, (now) => (now % 500 < 200 ? burst : quiet))).toEqual([])
})
