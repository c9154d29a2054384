/**
 * Tells whether what this thread knows of its connections is recent, and waits for news.
 *
 * The system learns at once that a peer has gone or has read what it was sent. Node learns of it when the
 * event loop polls, and not while the program computes. What is decided about connections right after
 * that (which peer is next, whether there is room, whether to write) would be decided on old news, and
 * messages would go to peers that are gone. libzmq's threads have no such pauses.
 *
 * Immediates run after a poll. Before one runs, the event loop may not have polled since whatever happened
 * last, but it has since the immediate before. So two in turn note the time every millisecond while
 * there is traffic. They do not keep the process alive.
 *
 * Time in which the event loop was idle does not count: it would have polled at once. But it seems idle as
 * well while the whole process is stopped, so that does count if it is long.
 *
 * A thread that reads and writes for this one goes on meanwhile. Only where the whole process was stopped has
 * it no news either, and is waited for.
 */
import { clockMs, setImmediate } from "../codec/runtime.js"
import { idleTimeMs } from "./idle.js"
import { isIdle } from "./read-turns.js"
import { throwLater } from "./throw-later.js"

/** Milliseconds of work without a poll after which decisions about connections wait for one. */
const OLD_MS = 5
/** Milliseconds after which the time is noted again, and the number of turns in which it is. */
const NOTED_MS = 1
const NOTED_TURNS = 2
/**
 * After a poll with news, the next one may bring more: the end of a stream follows its last bytes, and the
 * end of a connection follows that. Decisions wait for more news for so many milliseconds.
 */
const MORE_NEWS_MS = 10
/**
 * After so many milliseconds without a poll, the process may have been stopped. Then decisions also wait until
 * its other threads have polled, but not for longer than that.
 */
const STOPPED_MS = 100
/** Number of polls whose bytes are news: while peers send, each poll brings some. */
const BYTES_POLLS = 2
/** Number of polls after which the program may be busy again, so that decisions wait for the next one. */
const BUSY_TURNS_MAX = 1

interface Waiting {
  readonly callback: () => void
  /** The number of the first `check()` before which the event loop has polled for certain. */
  readonly polledBy: number
  /** The time of that, and the number of calls since. */
  polledMs: number | undefined
  polls: number
  /** Number of polls after which the program was busy again. */
  busyTurns: number
}

/** The event loop has polled after this time, at which it had been idle for so long. */
let polledMs = Number.NEGATIVE_INFINITY
let polledIdleMs = 0
/** The same at the last `check()`. */
let checkedMs = Number.NEGATIVE_INFINITY
let checkedIdleMs = 0
/** Number of calls of `check()` so far. */
let checks = 0
/** Number of events of connections, and how many there were at the last `check()`. */
let news = 0
let newsBefore = 0
/** Whether bytes were read since. */
let hasBytes = false
/** Number of turns in which the time is still to be noted. */
let turnsLeft = 0
let immediate: NodeJS.Immediate | undefined
/** Whether callbacks that waited for a poll run. However long they take, nothing newer can be known. */
let isFresh = false
/** The callbacks that wait for a poll, in order. */
let waiting: Waiting[] = []

/** A thread that reads and writes for this one. */
export interface OtherThread {
  /** Calls back once its event loop has polled, and its news have come. */
  poll(polled: () => void): void
}

const threads = new Set<OtherThread>()
/** The threads that have yet to poll. */
const polling = new Set<OtherThread>()

/** The connections that began while callbacks waited, and whose handshake is not over. */
const beginning = new Set<object>()

/** Records that something happened to a connection. The rest of what the poll has brought may follow. */
export function heard(): void {
  news++
}

/** Records that bytes were read from a connection. Its end may follow in the next poll. */
export function heardBytes(): void {
  hasBytes = true
}

/**
 * Records that a peer has connected. It may have come back in place of one that is gone, so decisions that
 * wait also wait for its handshake.
 */
export function handshakeBegan(connection: object): void {
  heard()
  if (waiting.length > 0) beginning.add(connection)
}

/** The handshake has succeeded, or the connection has ended. */
export function handshakeEnded(connection: object): void {
  beginning.delete(connection)
}

/** Returns whether the event loop has not polled for some milliseconds, so that decisions have to wait. */
export function isOutdated(nowMs: number = clockMs()): boolean {
  if (nowMs - checkedMs > NOTED_MS) note()
  const ageMs = nowMs - polledMs
  if (isFresh || ageMs <= OLD_MS) return false
  return ageMs > STOPPED_MS || ageMs - (idleTimeMs() - polledIdleMs) > OLD_MS
}

export function addThread(thread: OtherThread): void {
  threads.add(thread)
}

export function removeThread(thread: OtherThread): void {
  threads.delete(thread)
  polling.delete(thread)
}

/** Calls back once the event loop has polled, and the news of that poll were handled. In order. */
export function afterPoll(callback: () => void): void {
  if (waiting.length === 0) {
    newsBefore = news
    hasBytes = false
    if (threads.size > 0 && clockMs() - polledMs > STOPPED_MS) pollThreads()
  }
  waiting.push({ callback, polledBy: checks + 2, polledMs: undefined, polls: 0, busyTurns: 0 })
  note()
  immediate?.ref()
}

function pollThreads(): void {
  for (const thread of threads) {
    polling.add(thread)
    thread.poll(() => polling.delete(thread))
  }
}

function note(): void {
  turnsLeft = NOTED_TURNS
  immediate ??= setImmediate(check).unref()
}

/** Runs after a poll. */
function check(): void {
  checks++
  polledMs = checkedMs
  polledIdleMs = checkedIdleMs
  checkedMs = clockMs()
  checkedIdleMs = idleTimeMs()
  immediate = --turnsLeft > 0 || waiting.length > 0 ? setImmediate(check) : undefined
  if (waiting.length > 0) callBack()
  if (waiting.length === 0) immediate?.unref()
}

/** Calls those back that have waited long enough. */
function callBack(): void {
  const hasNews = news !== newsBefore
  newsBefore = news
  const hadBytes = hasBytes
  hasBytes = false
  const ready = waiting.filter((one) => isOver(one, hasNews, hadBytes))
  if (ready.length === 0) return
  waiting = waiting.slice(ready.length)
  if (waiting.length === 0) {
    beginning.clear()
    polling.clear()
  }
  polledMs = checkedMs
  polledIdleMs = checkedIdleMs
  isFresh = true
  for (const { callback } of ready) {
    try {
      callback()
    } catch (error) {
      throwLater(error) // an error must not keep the others waiting for ever
    }
  }
  isFresh = false
}

/** Returns whether the event loop has polled since somebody waits, and no more news are to be expected. */
function isOver(one: Waiting, hasNews: boolean, hadBytes: boolean): boolean {
  if (checks < one.polledBy) return false
  one.polledMs ??= checkedMs
  if (polling.size > 0 && checkedMs - one.polledMs < STOPPED_MS) return false
  // The end of a connection that is in line to decode has not been read either.
  const isAwaited =
    hasNews || (hadBytes && one.polls++ < BYTES_POLLS) || beginning.size > 0 || !isIdle()
  if (isAwaited && checkedMs - one.polledMs < MORE_NEWS_MS) return false
  // A callback of the same poll may have been long, and peers may have gone meanwhile.
  return checkedMs - polledMs <= OLD_MS || ++one.busyTurns > BUSY_TURNS_MAX
}
