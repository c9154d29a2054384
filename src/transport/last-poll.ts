/**
 * Tells whether what this thread knows of its connections is recent, and waits for news.
 *
 * The system learns at once that a peer has gone or has read what it was sent. Node learns of it when
 * the event loop polls, and not while the program computes. What is decided about connections right
 * after that (which peer is next, whether there is room, whether to write) would be decided on old news,
 * and messages would go to peers that are gone. libzmq's threads have no such pauses.
 *
 * The event loop counts its polls. Whoever asks looks at the count from time to time: a poll was after
 * the latest look that saw fewer. The last one may not have told all its news yet, so neither the turn
 * before it nor the one since may have taken long. Time in which the event loop was idle does not count,
 * as it would have polled at once. But it seems idle as well while the whole process is stopped, so that
 * does count if it is long. A thread that reads and writes for this one goes on meanwhile. Only if the
 * process was stopped it has no news either, and is waited for.
 */
import { performance } from "node:perf_hooks"
import { clockMs, setImmediate } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import { idleTimeMs } from "./idle.js"
import { isIdle } from "./read-turns.js"

/** Milliseconds of work in a turn after which decisions about connections wait for a poll. */
const OLD_MS = 8
/** Milliseconds after which the count of polls is looked at again. */
const LOOK_MS = 0.25
/**
 * After a poll with news, the next one may bring more: the end of a stream follows its last bytes, and
 * the end of a connection follows that. Decisions wait for more news for so many milliseconds.
 */
const MORE_NEWS_MS = 10
/**
 * After so many milliseconds without a poll, the process may have been stopped. Then decisions also wait
 * until its other threads have polled, but not for longer than that.
 */
const STOPPED_MS = 100
/** Number of polls whose bytes are news: while peers send, each poll brings some. */
const BYTES_POLLS = 1
/**
 * Number of polls after which the program may be busy again, so that decisions wait for the next one.
 */
const BUSY_TURNS_MAX = 1

interface Decision {
  readonly callback: () => void
  /** The number of polls at the call. */
  readonly polls: number
  /** The time after the first poll since, and the number of turns since. */
  polledMs: number | undefined
  turns: number
  /** Number of polls after which the program was busy again. */
  busyTurns: number
}

interface Look {
  /** Number of polls so far; NaN in runtimes that do not count them. */
  readonly polls: number
  readonly ms: number
  /** Milliseconds for which the event loop had been idle. */
  readonly idleMs: number
}

/** The latest look, the latest before the last poll, and the latest before the one before that. */
let latest: Look = { polls: 0, ms: Number.NEGATIVE_INFINITY, idleMs: 0 }
let before = latest
let earlier = latest
/** Whether there were news of connections since the last `check()`, and whether bytes were read. */
let hasNews = false
let hasBytes = false
let isChecking = false
/** Whether callbacks that waited for a poll run. However long they take, nothing newer can be known. */
let isFresh = false
let waiting: Decision[] = []

/** A thread that reads and writes for this one. */
export interface OtherThread {
  /** Calls back once its event loop has polled, and its news have come. */
  poll(polled: () => void): void
}

const threads = new Set<OtherThread>()
/** The threads that have yet to poll, with what tells the question of each from others. */
const polling = new Map<OtherThread, object>()

/** The connections that began while callbacks waited, and whose handshake is not over. */
const beginning = new Set<object>()

/** Records that something happened to a connection. The rest of what the poll has brought may follow. */
export function heard(): void {
  hasNews = true
}

/** Records that bytes were read from a connection. Its end may follow in the next poll. */
export function heardBytes(): void {
  hasBytes = true
}

/**
 * Records that a peer has connected. It may have come back in place of one that is gone, so decisions
 * that wait also wait for its handshake.
 */
export function handshakeBegan(connection: object): void {
  heard()
  if (waiting.length > 0) beginning.add(connection)
}

/** The handshake has succeeded, or the connection has ended. */
export function handshakeEnded(connection: object): void {
  beginning.delete(connection)
}

/**
 * Returns whether the event loop has not polled for some milliseconds, so that decisions have to wait.
 */
export function isOutdated(nowMs: number = clockMs()): boolean {
  lookAgain(nowMs)
  if (isFresh || nowMs - earlier.ms <= OLD_MS) return false
  return mayHaveStopped(nowMs) || worksLong(nowMs) || isLong(earlier, before)
}

/** Returns whether the program has worked for some milliseconds since the event loop polled. */
export function hasWorkedLong(): boolean {
  const nowMs = clockMs()
  lookAgain(nowMs)
  return worksLong(nowMs)
}

const worksLong = (nowMs: number): boolean => workMs(before, latest, nowMs) > OLD_MS

const isLong = (from: Look, to: Look): boolean => workMs(from, to, to.ms) > OLD_MS

/** Returns the time since a look in which the event loop was not idle. */
const workMs = (from: Look, { idleMs }: Look, nowMs: number): number =>
  nowMs - from.ms - (idleMs - from.idleMs)

/** Returns whether what was learned at a time is recent enough for decisions. */
export function isRecent(ms: number, nowMs: number): boolean {
  return nowMs - ms <= OLD_MS
}

/** Returns whether the event loop has not polled for so long that the process may have been stopped. */
export function mayHaveStopped(nowMs: number): boolean {
  return nowMs - before.ms > STOPPED_MS || before.ms - earlier.ms > STOPPED_MS
}

function lookAgain(nowMs: number): void {
  if (nowMs - latest.ms > LOOK_MS) look(nowMs)
}

function look(nowMs: number): void {
  const polls = performance.nodeTiming?.uvMetricsInfo?.loopCount ?? Number.NaN
  if (polls !== latest.polls) {
    earlier = before
    before = latest
  }
  latest = { polls, ms: nowMs, idleMs: idleTimeMs() }
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
  const nowMs = clockMs()
  look(nowMs)
  if (waiting.length === 0) {
    hasNews = false
    hasBytes = false
  }
  if (threads.size > polling.size && mayHaveStopped(nowMs)) pollThreads()
  waiting.push({ callback, polls: latest.polls, polledMs: undefined, turns: 0, busyTurns: 0 })
  checkSoon()
}

/** Asks the threads that have not been asked yet. An answer to an earlier question does not count. */
function pollThreads(): void {
  for (const thread of threads) {
    if (polling.has(thread)) continue
    const question = {}
    polling.set(thread, question)
    thread.poll(() => {
      if (polling.get(thread) === question) polling.delete(thread)
    })
  }
}

function checkSoon(): void {
  if (isChecking) return
  isChecking = true
  setImmediate(check)
}

/** Calls those back that have waited long enough. Immediates run after a poll. */
function check(): void {
  isChecking = false
  look(clockMs())
  const news = { any: hasNews, bytes: hasBytes }
  hasNews = false
  hasBytes = false
  const ready = waiting.filter((one) => isOver(one, news))
  if (ready.length > 0) callBack(ready)
  if (waiting.length > 0) checkSoon()
}

function callBack(ready: readonly Decision[]): void {
  waiting = waiting.slice(ready.length)
  if (waiting.length === 0) {
    beginning.clear()
    polling.clear()
  }
  before = latest
  earlier = latest
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

/**
 * Returns whether the event loop has polled since somebody waits, and no more news are to be expected.
 */
function isOver(one: Decision, news: { any: boolean; bytes: boolean }): boolean {
  if (latest.polls <= one.polls) return false
  one.polledMs ??= latest.ms
  const waitedMs = latest.ms - one.polledMs
  if (polling.size > 0 && waitedMs < STOPPED_MS) return false
  // While peers send, each poll brings bytes. Of a connection in line to decode, the end is not read.
  const hasBytes = news.bytes && one.turns++ < BYTES_POLLS
  const isAwaited = news.any || hasBytes || beginning.size > 0 || !isIdle()
  if (isAwaited && waitedMs < MORE_NEWS_MS) return false
  // A callback of the same poll may have been long, and peers may have gone meanwhile.
  return latest.ms - before.ms <= OLD_MS || ++one.busyTurns > BUSY_TURNS_MAX
}
