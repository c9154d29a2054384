/**
 * Lets a process end while attempts to connect are pending, as over tcp://: libuv keeps the event loop
 * alive for each, referenced or not, until the system gives up, which may take minutes.
 */
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "../base/runtime.js"

/** An attempt to connect that can be interrupted. */
export interface Attempt {
  /** Gives up the attempt, without a report. */
  interrupt(): void
  /** Makes the attempt again. */
  dial(): void
}

/**
 * Milliseconds until the first check of what keeps the event loop alive; doubled after each wrong guess.
 */
const CHECK_FIRST_MS = 50
const CHECK_MAX_MS = 10_000
/** Milliseconds within which an event loop with nothing left to do ends. */
const END_MS = 20

/** Node's names for an attempt, and for standard output and error, which do not keep a loop alive. */
const ATTEMPT = "ConnectWrap"
export const STREAM: RegExp = /^(TTY|Pipe)Wrap$/
const STREAMS_MAX = 2

const pending = new Set<Attempt>()
const interrupted = new Set<Attempt>()
let checkMs = CHECK_FIRST_MS
let timer: NodeJS.Timeout | undefined
let immediate: NodeJS.Immediate | undefined

export function attemptBegan(attempt: Attempt): void {
  pending.add(attempt)
  timer ??= checkLater()
}

/**
 * After its timers, a loop that was busy learns which attempts have succeeded meanwhile: only then is
 * checked.
 */
function checkLater(): NodeJS.Timeout {
  return setTimeout(() => {
    immediate = setImmediate(check)
  }, checkMs).unref()
}

/** The attempt succeeded, failed, or is no longer wanted. */
export function attemptEnded(attempt: Attempt): void {
  pending.delete(attempt)
  interrupted.delete(attempt)
  if (pending.size + interrupted.size > 0) return
  clearTimeout(timer)
  clearImmediate(immediate)
  timer = undefined
}

/** Interrupts the attempts if nothing else seems to keep the event loop alive. */
function check(): void {
  if (!areAllThatIsLeft()) {
    timer = checkLater()
    return
  }
  for (const attempt of pending) {
    interrupted.add(attempt)
    attempt.interrupt()
  }
  pending.clear()
  timer = setTimeout(repeat, END_MS).unref()
}

function areAllThatIsLeft(): boolean {
  // Node lists the channel to a parent process as a stream, which it keeps open for these listeners.
  if (
    process.connected &&
    process.listenerCount("message") + process.listenerCount("disconnect") > 0
  )
    return false
  // Not in all runtimes.
  const resources = process.getActiveResourcesInfo?.() ?? []
  const attempts = resources.filter((name) => name === ATTEMPT).length
  const streams = resources.filter((name) => STREAM.test(name)).length
  const others = resources.length - attempts - streams
  return attempts > 0 && attempts <= pending.size && streams <= STREAMS_MAX && others === 0
}

/** The loop has not ended: something that Node does not list keeps it alive, or standard input. */
function repeat(): void {
  timer = undefined
  checkMs = Math.min(2 * checkMs, CHECK_MAX_MS)
  const attempts = [...interrupted]
  interrupted.clear()
  for (const attempt of attempts) attempt.dial()
}
