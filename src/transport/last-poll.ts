/**
 * Tells whether what this thread knows of its connections is recent, and waits for news.
 *
 * The system learns at once that a peer has gone or has read what it was sent. Node learns of it when the
 * event loop polls, and not while the program computes. What is decided about connections right after
 * that (which peer is next, whether there is room, whether to write) would be decided on old news, and
 * messages would go to peers that are gone. libzmq's threads have no such pauses.
 *
 * An unreferenced immediate notes the time after each poll while there is traffic. Before an immediate
 * runs, the event loop may not have polled since whatever happened last, but it has polled since the
 * immediate before that.
 */
import { clockMs, setImmediate } from "../codec/runtime.js"

/** Milliseconds without a poll after which decisions about connections wait for one. */
const OLD_MS = 4
/**
 * After a poll with news, the next one may bring more: the end of a stream follows its last bytes, and the
 * end of a connection follows that. Decisions wait for more news for so many milliseconds.
 */
const MORE_NEWS_MS = 10
/** Maximum number of polls that are repeated because the program was busy after them. */
const BUSY_TURNS_MAX = 3
/** Turns of the event loop without a decision after which they are no longer watched. */
const WATCHED_TURNS = 100

interface Waiting {
  readonly callback: () => void
  readonly sinceMs: number
  /** Number of polls after which the program was busy again. */
  busyTurns: number
}

/** The event loop has polled after this time. */
let polledMs = Number.NEGATIVE_INFINITY
/** The time of the last `check()`, while turns are watched. */
let checkedMs = Number.NEGATIVE_INFINITY
/** Number of events of connections, and how many there were at the last `check()`. */
let news = 0
let newsBefore = 0
let turnsLeft = 0
/** Whether callbacks that waited for a poll run. However long they take, nothing newer can be known. */
let isFresh = false
let immediate: NodeJS.Immediate | undefined
/** The callbacks that wait for a poll, in order. */
let waiting: Waiting[] = []

/** Records that something happened to a connection: bytes, its beginning, its end. */
export function heard(): void {
  news++
}

/** Returns whether the event loop has not polled for some milliseconds, so that decisions have to wait. */
export function isOutdated(nowMs: number = clockMs()): boolean {
  watch()
  return !isFresh && nowMs - polledMs > OLD_MS
}

/** Calls back once the event loop has polled, and the news of that poll were handled. In order. */
export function afterPoll(callback: () => void): void {
  waiting.push({ callback, sinceMs: clockMs(), busyTurns: 0 })
  watch()
  immediate?.ref()
}

function watch(): void {
  turnsLeft = WATCHED_TURNS
  immediate ??= setImmediate(check).unref()
}

/** Runs after each poll. */
function check(): void {
  polledMs = checkedMs
  checkedMs = clockMs()
  const hasNews = news !== newsBefore
  newsBefore = news
  immediate = undefined
  const ready = waiting.filter((one) => isOver(one, hasNews))
  if (ready.length > 0) {
    waiting = waiting.slice(ready.length)
    polledMs = checkedMs
  }
  if (waiting.length > 0 || --turnsLeft > 0) {
    immediate = setImmediate(check)
    if (waiting.length === 0) immediate.unref()
  } else checkedMs = Number.NEGATIVE_INFINITY
  isFresh = ready.length > 0
  try {
    for (const { callback } of ready) callback()
  } finally {
    isFresh = false
  }
}

/** Returns whether the event loop has polled since a call, and no more news are to be expected. */
function isOver(one: Waiting, hasNews: boolean): boolean {
  if (polledMs < one.sinceMs) return false
  if (hasNews && checkedMs - one.sinceMs < MORE_NEWS_MS) return false
  // A callback of the same poll may have been long, and peers may have gone meanwhile.
  return checkedMs - polledMs <= OLD_MS || ++one.busyTurns > BUSY_TURNS_MAX
}
