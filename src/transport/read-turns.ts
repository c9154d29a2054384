/**
 * Decides when connections decode received bytes. All connections of a thread share one instance of
 * the module and read its output in place, so only one of them may decode at a time. A message may
 * cause a `receive()` on another pipe, whose connection may then resume; it must not decode inside
 * that call. So a request to read on only puts the connection in line.
 */

import { MessageChannel, type MessagePort } from "node:worker_threads"
import { Heap } from "../codec/heap.js"
import { clockMs, nextTick, queueMicrotask, setImmediate } from "../codec/runtime.js"
import { idleTimeMs } from "./idle.js"

/** Milliseconds of decoding before timers and I/O get their turn. */
export const TURN_MAX_MS = 1
/** Maximum number of turns of the event loop to wait for programs that have messages to receive. */
const PASSES_MAX = 16

/**
 * How much unused share a connection keeps, in virtual milliseconds. A connection with half of it left
 * has been quiet.
 */
const CREDIT_MS = 0.4
/**
 * Slices of up to so many milliseconds are charged in part only, because most of the time is that of a
 * call, which a question takes like a flood's 256 KiB.
 */
const SHORT_MS = 0.05
const SHORT_CHARGE = 0.25

/** A connection that has bytes to decode. */
export interface Readable {
  /**
   * The virtual time until which the connection has used its share, in milliseconds of decoding. It
   * belongs to this module; undefined at first.
   */
  shareMs: number | undefined
  /**
   * Whether the program that receives the messages has more of them than it may receive in one turn of
   * the event loop. It goes first then: messages are received fastest just after they were decoded,
   * and piled up they take memory.
   */
  readonly isBehind: boolean
  /** Decodes one slice. Returns whether to put the connection in line again. */
  readSlice(): boolean
}

/** A connection in line. */
interface Waiting {
  readonly readable: Readable
  /** The virtual time at which its slice may begin. */
  readonly startMs: number
  /** Whether it has been quiet, so that it does not wait for its program. */
  readonly isQuiet: boolean
  /** Number of connections put in line before it. */
  readonly number: number
}

const isFirst = (one: Waiting, other: Waiting) =>
  one.startMs < other.startMs || (one.startMs === other.startMs && one.number < other.number)

/**
 * The line is start-time fair queueing: a slice begins when the connection has used the share that it
 * had so far, or at once if it has been quiet, and the one that may begin first is decoded next. So
 * whoever used least of the time comes first, and nobody who is always in line waits for ever.
 */
const line = new Heap(isFirst)
/** Connections whose turn has come, but whose programs are behind. */
let held: Waiting[] = []
/** Number of connections ever put in line. */
let joined = 0
/** The virtual time: the start of the last slice, in milliseconds. */
let virtualMs = 0
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
 * been quiet. None may while another one decodes.
 */
export function mayReadNow(readable: Readable): boolean {
  if (isIdle() && !readable.isBehind) return true
  return !isReading && isQuiet(readable) && aheadMs < TURN_MAX_MS
}

/** Decodes a connection's bytes now, and puts it in line if some are left. Call only if `mayReadNow()`. */
export function readNow(readable: Readable): void {
  const isAhead = isScheduled || readable.isBehind
  const tookMs = read(readable, readable.shareMs === undefined ? virtualMs : startOf(readable))
  if (isAhead) aheadMs += tookMs
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
  for (const { number } of line) if (number < end) return false
  return held.every(({ number }) => number >= end)
}

/**
 * Returns when the next slice of a connection may begin. A new connection begins behind those that
 * have been quiet, or a flood of them would go before all others.
 */
function startOf({ shareMs }: Readable): number {
  return shareMs === undefined ? virtualMs + TURN_MAX_MS : Math.max(virtualMs - CREDIT_MS, shareMs)
}

/** Returns whether a connection has used clearly less than its share, so that it may go first. */
function isQuiet({ shareMs }: Readable): boolean {
  return shareMs !== undefined && shareMs + CREDIT_MS / 2 <= virtualMs
}

function charged(tookMs: number): number {
  return tookMs - (1 - SHORT_CHARGE) * Math.min(tookMs, SHORT_MS)
}

function join(readable: Readable): void {
  const startMs = startOf(readable)
  line.add({ readable, startMs, isQuiet: isQuiet(readable), number: joined++ })
}

/** Decodes a slice. Returns the milliseconds that it took. */
function read(readable: Readable, startMs: number): number {
  virtualMs = Math.max(virtualMs, startMs)
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
    readable.shareMs = startMs + charged(tookMs)
    if (isLeft) join(readable)
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
  if (spentMs >= TURN_MAX_MS || (line.length === 0 && held.length > 0)) {
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
  if (held.length > 0) passes++
  const waiting = held
  held = []
  for (const one of waiting) line.add(one)
  readNext()
}

function readNext(): void {
  isScheduled = false
  try {
    for (let next = line.take(); next; next = line.take()) {
      const { readable, startMs } = next
      if (readable.isBehind && !next.isQuiet) {
        if (passes < PASSES_MAX) {
          held.push(next)
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
