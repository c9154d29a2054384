/**
 * Chooses the effort of the connections that send little each, for all of a thread: the usual effort
 * while the thread has time for it, and no compression while it is busy. The measurements of one such
 * connection do not show it: it waits most of the time, however busy the thread is.
 */
import { type Clock, clock, type Load, load } from "./network-meter.js"

/** Minimum duration of a window in milliseconds. */
const WINDOW_MS = 100
/** Number of windows in a row after which the effort changes. */
const WINDOWS = 3
/**
 * The share of its time from which a thread is busy, and below which it has time again. Processes that
 * wait for each other's answers take turns, so each of them is idle for half of the time or more.
 */
const BUSY = 0.4
const IDLE = 0.3
/**
 * Plaintext in bytes per millisecond below which a thread does not count as busy: compression takes
 * next to no time then, or nothing is compressed and the network is slow.
 */
const LEAST_RATE = (2 << 20) / 100
/** Milliseconds until compression may end again, if it soon had to begin again. */
const RETRY_MS = 5000

/** The effort of a thread. */
export class ThreadEffort {
  /** Whether the meter is for one connection. */
  readonly isAlone = false
  readonly #clock: Clock
  readonly #load: Load
  #compresses = true
  #changedAt = 0
  #nextChangeAt = 0
  /** Number of windows in a row that are a reason for a change. */
  #windows = 0
  /** What the usual effort takes, in milliseconds per byte of plaintext. */
  #cost = 0
  /** Totals of the current window. */
  #begunAt = 0
  #activeMsThen = 0
  #plainBytes = 0
  #encodeMs = 0

  constructor(theClock: Clock = clock, theLoad: Load = load) {
    this.#clock = theClock
    this.#load = theLoad
  }

  /** Whether the next encoding uses the usual effort of its format, and not none. */
  get compresses(): boolean {
    return this.#compresses
  }

  /** Records an encoding that began at `begunAt`. */
  encoded(_effort: number, plainBytes: number, _wireBytes: number, begunAt: number): void {
    const now = this.#clock.now()
    const ms = now - begunAt
    this.#load.plainBytes += plainBytes
    this.#load.encodeMs += ms
    this.#plainBytes += plainBytes
    this.#encodeMs += ms
    if (now - this.#begunAt >= WINDOW_MS) this.#end(now)
  }

  #end(now: number): void {
    const activeMs = this.#clock.activeMs()
    const isReason = this.#isReason(now - this.#begunAt, activeMs - this.#activeMsThen)
    this.#windows = isReason && now >= this.#nextChangeAt ? this.#windows + 1 : 0
    if (this.#windows >= WINDOWS) this.#change(now)
    this.#begunAt = now
    this.#activeMsThen = activeMs
    this.#plainBytes = 0
    this.#encodeMs = 0
  }

  /** Returns whether the window is a reason to change the effort. */
  #isReason(ms: number, activeMs: number): boolean {
    const bytes = this.#plainBytes
    if (this.#compresses) {
      this.#cost = this.#encodeMs / bytes
      return bytes >= LEAST_RATE * ms && activeMs >= BUSY * ms
    }
    const compressingMs = activeMs - this.#encodeMs + bytes * this.#cost
    return bytes < LEAST_RATE * ms || compressingMs < IDLE * ms
  }

  #change(now: number): void {
    this.#compresses = !this.#compresses
    if (this.#compresses && now - this.#changedAt < RETRY_MS) this.#nextChangeAt = now + RETRY_MS
    this.#changedAt = now
    this.#windows = 0
  }
}

/** The effort of this thread. */
export const threadEffort: ThreadEffort = new ThreadEffort()
