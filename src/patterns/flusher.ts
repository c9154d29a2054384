/**
 * Decides when messages that were sent leave: when the current burst of the program ends, unless the
 * flush before has only just been. Each flush costs a system call for each peer, however few messages
 * leave with it. libzmq's thread falls behind a program that sends one at a time, and writes together
 * what has come meanwhile. Here as much time passes after a flush as it took, so that at most half of
 * the event loop's time goes into flushes.
 */
import { throwLater } from "../transport/throw-later.js"

/** Rests of this length and more are left to a timer, in milliseconds; turns of the event loop see to the others. */
const TIMER_MS = 1

/** The rest after a flush, of which each queue has its own: what goes elsewhere need not wait. */
export class Rest {
  #tookMs = 0
  #endMs = Number.NEGATIVE_INFINITY

  /** Begins after a flush. One that took long for once, as it was interrupted, is no measure. */
  begin(flushStartMs: number, flushEndMs: number): void {
    const tookMs = flushEndMs - flushStartMs
    this.#endMs = flushEndMs + Math.min(tookMs, this.#tookMs)
    this.#tookMs = tookMs
  }

  /** Returns the milliseconds until the next flush may begin; 0 or less where it may now. */
  left(nowMs: number): number {
    return this.#endMs - nowMs
  }
}

/** A queue of messages that leave when the current burst of the program ends. */
export interface Flushable {
  readonly rest: Rest
  /** Whether it does not rest, because somebody waits for it. */
  readonly isUrgent: boolean
  flush(): void
}

let waiting: Flushable[] = []
let isTickDue = false
let isTurnDue = false
let isTimerDue = false

/** Flushes when the current burst ends and the rest is over; to be asked for once. */
export function flushSoon(flushable: Flushable): void {
  waiting.push(flushable)
  lookSoon()
}

/** Looks when the current burst ends whether a flushable that waits has become urgent. */
export function lookSoon(): void {
  if (isTickDue) return
  isTickDue = true
  process.nextTick(atTick)
}

/** Flushes all that waits at once, as the process ends. */
export function flushAll(): void {
  flushThose(Number.POSITIVE_INFINITY)
}

function atTick(): void {
  isTickDue = false
  flushRested()
}

function atTurn(): void {
  isTurnDue = false
  flushRested()
}

function atTimer(): void {
  isTimerDue = false
  flushRested()
}

/** Flushes those whose rest is over. The process lives on for the others, which are looked at again. */
function flushRested(): void {
  const leftMs = flushThose(0)
  if (leftMs >= TIMER_MS && !isTimerDue) {
    isTimerDue = true
    setTimeout(atTimer, TIMER_MS)
  } else if (leftMs > 0 && leftMs < TIMER_MS && !isTurnDue) {
    isTurnDue = true
    setImmediate(atTurn)
  }
}

/** Flushes those that are to rest no longer than this. Returns the shortest rest of the others, or 0. */
function flushThose(maxMs: number): number {
  const flushables = waiting
  waiting = []
  let shortestMs = 0
  let nowMs = performance.now()
  for (let i = 0; i < flushables.length; i++) {
    const flushable = flushables[i] as Flushable
    const leftMs = flushable.isUrgent ? 0 : flushable.rest.left(nowMs)
    if (leftMs > maxMs) {
      waiting.push(flushable)
      shortestMs = shortestMs > 0 ? Math.min(shortestMs, leftMs) : leftMs
      continue
    }
    const startMs = nowMs
    try {
      flushable.flush()
    } catch (error) {
      // Those behind it are flushed all the same.
      throwLater(error)
    }
    nowMs = performance.now()
    flushable.rest.begin(startMs, nowMs)
  }
  return shortestMs
}
