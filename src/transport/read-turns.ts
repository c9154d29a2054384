/**
 * Decides when connections decode received bytes; read-order.ts decides which is next. All connections
 * of a thread share one instance of the module and read its output in place, so only one of them may
 * decode at a time. A message may cause a `receive()` on another pipe, whose connection may then resume;
 * it must not decode inside that call. So a request to read on only puts the connection in line.
 */

import { MessageChannel, type MessagePort } from "node:worker_threads"
import { clockMs, nextTick, queueMicrotask, setImmediate } from "../base/runtime.js"
import { idleTimeMs } from "./idle.js"
import { type Readable, ReadOrder } from "./read-order.js"

/** Milliseconds of decoding before timers and I/O get their turn. */
export const TURN_MAX_MS = 1
/** Maximum number of turns of the event loop to wait for programs that have messages to receive. */
const PASSES_MAX = 16

const line = new ReadOrder(TURN_MAX_MS)
/** Milliseconds spent decoding since the event loop last had its turn. */
let spentMs = 0
/** Those of them that were spent on quiet connections, whoever was in line. */
let aheadMs = 0
/** Number of turns spent waiting for programs. */
let passes = 0
let isReading = false
let isScheduled = false
/** The event loop's total idle time when it was last read, in milliseconds. */
let idleMs = 0
/** A port whose messages wake this thread's event loop. */
let waker: MessagePort | undefined

/** Returns whether no connection decodes or is in line. */
export function isIdle(): boolean {
  return !isReading && !isScheduled
}

/**
 * Returns whether a connection may decode at once: none is in line and its program keeps up, or it has
 * been quiet, and none in line used less. None may while another one decodes.
 */
export function mayReadNow(readable: Readable): boolean {
  if (isIdle() && !readable.isBehind) return true
  return !isReading && line.goesFirst(readable) && aheadMs < TURN_MAX_MS
}

/**
 * Decodes a connection's bytes now, and puts it in line if some are left. Call only if `mayReadNow()`.
 */
export function readNow(readable: Readable): void {
  const isAhead = isScheduled || readable.isBehind
  try {
    const tookMs = read(readable, line.startNow(readable))
    if (isAhead) aheadMs += tookMs
    if (spentMs >= TURN_MAX_MS && hasIdled()) spentMs = 0
  } finally {
    schedule()
  }
}

/** Puts a connection in line to decode once the call stack has unwound. */
export function readSoon(readable: Readable): void {
  line.join(readable)
  if (!isReading) schedule()
}

/** Returns the end of the line, for `isServed`. */
export function endOfLine(): number {
  return line.joined
}

/** Returns whether all connections up to what was the end of the line have had their turn. */
export function isServed(end: number): boolean {
  return line.isServed(end)
}

/** Decodes a slice. Returns the milliseconds that it took. */
function read(readable: Readable, startMs: number): number {
  line.begin(startMs)
  isReading = true
  const beginMs = clockMs()
  let tookMs = 0
  let isLeft = false
  try {
    isLeft = readable.readSlice()
  } finally {
    isReading = false
    tookMs = clockMs() - beginMs
    spentMs += tookMs
    line.end(readable, startMs, tookMs)
    if (isLeft) line.join(readable)
  }
  return tookMs
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
  if (spentMs >= TURN_MAX_MS || (line.length === 0 && line.holds)) {
    isScheduled = true
    beginTurnLater()
  } else if (line.length > 0) {
    isScheduled = true
    queueMicrotask(yieldToPrograms)
  } else aheadMs = 0
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
    // The port stays for good. A function of this module would keep its copy of the package in memory.
    port2.on("message", Function.prototype as () => void).unref()
    waker = port1
  }
  waker.postMessage(undefined)
}

function beginTurn(): void {
  spentMs = 0
  aheadMs = 0
  if (line.holds) passes++
  line.release()
  readNext()
}

function readNext(): void {
  isScheduled = false
  try {
    for (let next = line.take(); next; next = line.take()) {
      const { readable, startMs } = next
      if (readable.isBehind && !next.isQuiet) {
        if (passes < PASSES_MAX) {
          line.hold(next)
          continue
        }
        passes = 0
      }
      read(readable, startMs)
      return
    }
  } finally {
    schedule()
  }
}
