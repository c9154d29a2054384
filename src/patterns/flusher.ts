/**
 * Decides when sent messages are written: at the end of the program's current burst, unless the
 * previous flush was a moment ago.
 *
 * Each flush costs a system call for each peer, however few messages it writes. In libzmq, the I/O
 * thread falls behind a program that sends messages one at a time, and writes together all that
 * were queued meanwhile. Here a queue rests after each flush for as long as the flush took, so
 * flushes take at most half of the event loop's time.
 *
 * There are two exceptions. A message sent after one was received is written at once, because it
 * may be a reply: the peer may have run during the flush, on the same processor. A message sent
 * after the event loop was idle is also written at once, because the program has not overtaken the
 * event loop.
 */
import { clockMs, nextTick, setImmediate, setTimeout } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import { idleTimeMs } from "../transport/idle.js"
import { afterPoll, isOutdated } from "../transport/last-poll.js"

/** Rests of at least this many milliseconds use a timer; shorter ones use turns of the event loop. */
const TIMER_MS = 1

/** A point in time, as the event loop sees it. */
export interface Moment {
  nowMs: number
  /** Total time that the event loop has been idle; 0 if the runtime does not report it. */
  idleMs: number
}

/** The rest after a flush. Each queue has its own, so that it does not delay the others. */
export class Rest {
  #tookMs = 0
  #endMs = Number.NEGATIVE_INFINITY
  #idleMs = 0

  /**
   * Begins the rest after a flush. The shorter of the last two flushes counts: a single long one
   * was probably interrupted.
   */
  begin(flushStartMs: number, { nowMs, idleMs }: Moment): void {
    const tookMs = nowMs - flushStartMs
    this.#endMs = nowMs + Math.min(tookMs, this.#tookMs)
    this.#tookMs = tookMs
    this.#idleMs = idleMs
  }

  /** Ends the rest, because the next message sent may be a reply to one just received. */
  end(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }

  /** Returns the milliseconds until the next flush may begin; 0 or less if it may begin now. */
  remainingMs({ nowMs, idleMs }: Moment): number {
    return idleMs > this.#idleMs ? 0 : this.#endMs - nowMs
  }
}

/** A queue of messages to be written when the program's current burst ends. */
export interface Flushable {
  readonly rest: Rest
  /** Whether to flush without a rest, because a sender waits for room. */
  readonly isUrgent: boolean
  /** Milliseconds that a flush takes besides the call itself: whoever writes can fall behind too. */
  readonly writeMs: number
  /** Returns whether what is known of the peer is recent, whenever the event loop has polled. */
  isUpToDate(nowMs: number): boolean
  flush(): void
}

let waiting: Flushable[] = []
/** What is scheduled: the end of the current burst, a turn of the event loop, a timer, a poll. */
const due = { tick: false, turn: false, timer: false, poll: false }

/** Schedules one flush, for when the current burst has ended and the rest is over. */
export function flushSoon(flushable: Flushable): void {
  waiting.push(flushable)
  if (!due.tick) pollSoon()
}

/** Checks at the end of the current burst whether a scheduled queue has become urgent. */
export function pollSoon(): void {
  if (due.tick) return
  due.tick = true
  nextTick(flushRested, "tick")
}

/** Flushes every scheduled queue at once, because the process is about to exit. */
export function flushAll(): void {
  flushThose(Number.POSITIVE_INFINITY, clockMs())
}

/** Flushes the queues whose rest is over, and keeps the process alive until the others are flushed. */
function flushRested(at: keyof typeof due): void {
  due[at] = false
  if (waiting.length === 0) return
  const nowMs = clockMs()
  const restMs = isOutdated(nowMs) ? flushUpToDate(nowMs) : flushThose(0, nowMs)
  if (restMs >= TIMER_MS && !due.timer) {
    due.timer = true
    setTimeout(flushRested, TIMER_MS, "timer")
  } else if (restMs > 0 && restMs < TIMER_MS && !due.turn) {
    due.turn = true
    setImmediate(flushRested, "turn")
  }
}

/** Flushes what need not wait for a poll of the event loop. Peers of the others may have gone. */
function flushUpToDate(nowMs: number): number {
  const later: Flushable[] = []
  const ready: Flushable[] = []
  for (const one of waiting) (one.isUpToDate(nowMs) ? ready : later).push(one)
  waiting = ready
  if (later.length > 0) flushPolled()
  const restMs = waiting.length > 0 ? flushThose(0, nowMs) : 0
  waiting.push(...later)
  return restMs
}

function flushPolled(): void {
  if (due.poll) return
  due.poll = true
  afterPoll(() => flushRested("poll"))
}

/**
 * Flushes the queues with at most `maxMs` of rest remaining. Returns the shortest rest of the others, or
 * 0 if there are none.
 */
function flushThose(maxMs: number, nowMs: number): number {
  const flushables = waiting
  waiting = []
  let shortestMs = 0
  const moment = { nowMs, idleMs: idleTimeMs() }
  for (let i = 0; i < flushables.length; i++) {
    const flushable = flushables[i] as Flushable
    const restMs = flushable.isUrgent ? 0 : flushable.rest.remainingMs(moment)
    if (restMs > maxMs) {
      waiting.push(flushable)
      shortestMs = shortestMs > 0 ? Math.min(shortestMs, restMs) : restMs
      continue
    }
    const startMs = moment.nowMs
    try {
      flushable.flush()
    } catch (error) {
      // An error must not keep the remaining queues from being flushed.
      throwLater(error)
    }
    moment.nowMs = clockMs()
    flushable.rest.begin(startMs - flushable.writeMs, moment)
  }
  return shortestMs
}
