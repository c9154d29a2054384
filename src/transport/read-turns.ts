/**
 * Decides when connections decode received bytes. All connections of a thread share one instance of
 * the module and read its output in place, so only one of them may decode at a time. A message may
 * cause a `receive()` on another pipe, whose connection may then resume; it must not decode inside
 * that call. So a request to read on only puts the connection in line.
 */

import { MessageChannel, type MessagePort } from "node:worker_threads"
import { clockMs, nextTick, queueMicrotask, setImmediate } from "../codec/runtime.js"
import { idleTimeMs } from "./idle.js"
import { Queue } from "./queue.js"

/** Milliseconds of decoding before timers and I/O get their turn. */
export const TURN_MAX_MS = 4
/** Maximum number of turns of the event loop to wait for programs that have messages to receive. */
const PASSES_MAX = 16

/** A connection that has bytes to decode. */
export interface Readable {
  /** Decodes one slice. Returns whether to put the connection in line again. */
  readSlice(): boolean
}

const line = new Queue<Readable>()
/** Milliseconds spent decoding since the event loop last had its turn. */
let spentMs = 0
/** Number of programs with more messages than they may receive in one turn of the event loop. */
let behind = 0
/** Number of turns spent waiting for them. */
let passes = 0
/** Number of times that a connection was put in line, and that one had its turn. */
let joined = 0
let served = 0
let isReading = false
let isScheduled = false
/** The event loop's total idle time when it was last read, in milliseconds. */
let idleMs = 0
/** A port whose messages wake this thread's event loop. */
let waker: MessagePort | undefined

/** Returns whether a connection may decode at once: no other decodes or is in line, and programs keep up. */
export function mayReadNow(): boolean {
  return !isReading && !isScheduled && behind === 0
}

/** Decodes a connection's bytes now, and puts it in line if some are left. Call only if `mayReadNow()`. */
export function readNow(readable: Readable): void {
  read(readable)
  if (spentMs >= TURN_MAX_MS && hasIdled()) spentMs = 0
  schedule()
}

/** Puts a connection in line to decode once the call stack has unwound. */
export function readSoon(readable: Readable): void {
  join(readable)
  if (!isReading) schedule()
}

/** Returns the end of the line, for `isServed`. */
export function endOfLine(): number {
  return joined
}

/** Returns whether all connections up to what was the end of the line have had their turn. */
export function isServed(end: number): boolean {
  return served >= end
}

/**
 * Records that a program has more messages than it may receive in this turn of the event loop, and
 * goes first until `caughtUp()`. Messages are received fastest just after they were decoded, and
 * piled up they take memory.
 */
export function fellBehind(): void {
  behind++
}

/** Records that the program's next turn has begun. */
export function caughtUp(): void {
  behind--
}

function join(readable: Readable): void {
  joined++
  line.push(readable)
}

function read(readable: Readable): void {
  isReading = true
  const start = clockMs()
  try {
    if (readable.readSlice()) join(readable)
  } finally {
    isReading = false
    spentMs += clockMs() - start
  }
}

/**
 * Returns whether the event loop has waited for I/O since the last call. If it has, no timer or I/O
 * was kept waiting.
 */
function hasIdled(): boolean {
  const now = idleTimeMs()
  const has = now > idleMs
  idleMs = now
  return has
}

/** Schedules the next slice, after a turn of the event loop if the time of this one is used up. */
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

/** Lets programs receive the messages of the last slice first: a tick runs after all microtasks. */
function yieldToPrograms(): void {
  nextTick(readNext)
}

/**
 * Begins a turn after one of the event loop. The immediate is unreferenced, so that a peer that
 * keeps sending cannot keep the process alive. The event loop would block despite such an
 * immediate, so a message wakes it.
 */
function beginTurnLater(): void {
  setImmediate(beginTurn).unref()
  if (!waker) {
    const { port1, port2 } = new MessageChannel()
    // Not a function of this module: the port stays, and must not keep a copy of the package alive.
    port2.on("message", Function.prototype as () => void).unref()
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
    if (!next) return
    served++
    read(next)
  } finally {
    schedule()
  }
}
