/**
 * Decides when connections decode what came. All connections of a thread decode in one instance of the
 * module, whose output is read where it lies: so one connection decodes at a time, and nothing that
 * its messages set off (a `receive()` that takes from another pipe, which may read on then) decodes
 * within. Asking to read on only puts a connection in line.
 */
import { performance } from "node:perf_hooks"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { idleTimeMs } from "./idle.js"
import { Queue } from "./queue.js"

/** Decoding goes on for this long before timers and I/O have their turn, in milliseconds. */
const TURN_MAX_MS = 4
/** Turns of the event loop, at most, that are left to programs that have not received what is there. */
const PASSES_MAX = 16

/** A connection that has something to decode. */
export interface Readable {
  /** Decodes one slice. Returns whether to go on when the others in line had theirs. */
  readSlice(): boolean
}

const line = new Queue<Readable>()
/** Spent on decoding since the event loop last had its turn, in milliseconds. */
let spentMs = 0
/** Programs that have more to receive than they may in one turn of the event loop. */
let behind = 0
/** Turns that were left to them. */
let passes = 0
let isReading = false
let isScheduled = false
/** For how long the event loop had waited for I/O when that was asked last, in milliseconds. */
let idleMs = 0
/** Wakes the event loop of this thread. */
let waker: MessagePort | undefined

/** Whether a connection may decode at once: nobody else does, nobody is in line, and programs keep up. */
export function mayReadNow(): boolean {
  return !isReading && !isScheduled && behind === 0
}

/** Has a connection decode now, and what is left in its next turns; only where `mayReadNow`. */
export function readNow(readable: Readable): void {
  read(readable)
  if (spentMs >= TURN_MAX_MS && hasIdled()) spentMs = 0
  schedule()
}

/** Puts a connection in line; it decodes when the call stack has unwound. */
export function readSoon(readable: Readable): void {
  line.push(readable)
  if (!isReading) schedule()
}

/**
 * A program has more to receive than it may in this turn of the event loop: until `caughtUp`, it goes
 * first. Messages are received fastest just after they were decoded, and those that pile up in the
 * meantime take memory.
 */
export function fellBehind(): void {
  behind++
}

/** The turn has come for which the program waited. */
export function caughtUp(): void {
  behind--
}

function read(readable: Readable): void {
  isReading = true
  const start = performance.now()
  try {
    if (readable.readSlice()) line.push(readable)
  } finally {
    isReading = false
    spentMs += performance.now() - start
  }
}

/** Whether the event loop has waited for I/O since this was asked last: then nothing has waited for it. */
function hasIdled(): boolean {
  const now = idleTimeMs()
  const has = now > idleMs
  idleMs = now
  return has
}

/** Arranges the next slice: after a turn of the event loop where the time of this one is used up. */
function schedule(): void {
  if (isScheduled) return
  if (spentMs >= TURN_MAX_MS || (behind > 0 && line.length > 0)) {
    isScheduled = true
    beginTurnLater()
  } else if (line.length > 0) {
    isScheduled = true
    queueMicrotask(yieldToPrograms)
  }
}

/** Lets programs receive what the last slice brought: a tick comes after all microtasks. */
function yieldToPrograms(): void {
  process.nextTick(readNext)
}

/**
 * Begins a turn once the event loop has had its own. The immediate must not keep the process for as
 * long as peers send; and since the event loop would sleep over one that does not, it is woken.
 */
function beginTurnLater(): void {
  setImmediate(beginTurn).unref()
  if (!waker) {
    const { port1, port2 } = new MessageChannel()
    port2.on("message", () => {}).unref()
    waker = port1
  }
  waker.postMessage(undefined)
}

function beginTurn(): void {
  spentMs = 0
  if (behind > 0 && passes < PASSES_MAX) {
    passes++
    beginTurnLater()
    return
  }
  passes = 0
  readNext()
}

function readNext(): void {
  isScheduled = false
  try {
    const next = line.shift()
    if (next) read(next)
  } finally {
    schedule()
  }
}
