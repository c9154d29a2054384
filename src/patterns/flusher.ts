/**
 * Decides when messages that were sent leave: when the current burst of the program ends, unless the
 * flush before has only just been. Each flush costs a system call for each peer, however few messages
 * leave with it. libzmq's thread falls behind a program that sends one at a time, and writes together
 * what has come meanwhile. Here as much time passes after a flush as it took, so that at most half of
 * the event loop's time goes into flushes. What answers a message leaves at once: a peer may have run
 * within the flush, on the same processor, and its answer have come in no time. So does what is sent
 * when the event loop has been idle since the flush: it does not fall behind.
 */
import { performance } from "node:perf_hooks"
import { idleTimeMs } from "../transport/idle.js"
import { throwLater } from "../transport/throw-later.js"

/** Rests of this length and more are left to a timer, in milliseconds; turns of the event loop see to the others. */
const TIMER_MS = 1

/** A moment of the event loop. */
export interface Moment {
  nowMs: number
  /** Time that the event loop has been idle in all; 0 where the runtime does not tell. */
  idleMs: number
}

/** The rest after a flush, of which each queue has its own: what goes elsewhere need not wait. */
export class Rest {
  #tookMs = 0
  #endMs = Number.NEGATIVE_INFINITY
  #idleMs = 0

  /** Begins after a flush. One that took long for once, as it was interrupted, is no measure. */
  begin(flushStartMs: number, { nowMs, idleMs }: Moment): void {
    const tookMs = nowMs - flushStartMs
    this.#endMs = nowMs + Math.min(tookMs, this.#tookMs)
    this.#tookMs = tookMs
    this.#idleMs = idleMs
  }

  /** Ends, for what may answer a message that has come. */
  end(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }

  /** Returns the milliseconds until the next flush may begin; 0 or less where it may now. */
  left({ nowMs, idleMs }: Moment): number {
    return idleMs > this.#idleMs ? 0 : this.#endMs - nowMs
  }
}

/** A queue of messages that leave when the current burst of the program ends. */
export interface Flushable {
  readonly rest: Rest
  /** Whether it does not rest, because somebody waits for it. */
  readonly isUrgent: boolean
  /** Milliseconds that a flush takes on another thread, which falls behind as well. */
  readonly threadMs: number
  flush(): void
}

let waiting: Flushable[] = []
let isTickDue = false
let isTurnDue = false
let isTimerDue = false

/** Flushes when the current burst ends and the rest is over; to be asked for once. */
export function flushSoon(flushable: Flushable): void {
  waiting.push(flushable)
  pollSoon()
}

/** Looks when the current burst ends whether a flushable that waits has become urgent. */
export function pollSoon(): void {
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
  const moment = { nowMs: performance.now(), idleMs: idleTimeMs() }
  for (let i = 0; i < flushables.length; i++) {
    const flushable = flushables[i] as Flushable
    const leftMs = flushable.isUrgent ? 0 : flushable.rest.left(moment)
    if (leftMs > maxMs) {
      waiting.push(flushable)
      shortestMs = shortestMs > 0 ? Math.min(shortestMs, leftMs) : leftMs
      continue
    }
    const startMs = moment.nowMs
    try {
      flushable.flush()
    } catch (error) {
      // Those behind it are flushed all the same.
      throwLater(error)
    }
    moment.nowMs = performance.now()
    flushable.rest.begin(startMs - flushable.threadMs, moment)
  }
  return shortestMs
}
