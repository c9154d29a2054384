/**
 * Decides when connections decode what came. All connections of a thread decode in one instance of the
 * module, whose output is read where it lies: so one connection decodes at a time, and nothing that
 * its messages set off (a `receive()` that takes from another pipe, which may read on then) decodes
 * within. Asking to read on only puts a connection in line.
 */
import { Queue } from "./queue.js"

/** Decoding goes on for this long before timers and I/O have their turn, in milliseconds. */
const TURN_MAX_MS = 4

/** A connection that has something to decode. */
export interface Readable {
  /** Decodes one slice. Returns whether to go on when the others in line had theirs. */
  readSlice(): boolean
}

const line = new Queue<Readable>()
/** Spent on decoding since the event loop last had its turn, in milliseconds. */
let spentMs = 0
let isReading = false
let isScheduled = false

/** Whether a connection may decode at once: nobody else does, and nobody is in line. */
export function mayReadNow(): boolean {
  return !isReading && !isScheduled
}

/** Has a connection decode now, and what is left in its next turns; only where `mayReadNow`. */
export function readNow(readable: Readable): void {
  read(readable)
  schedule()
}

/** Puts a connection in line; it decodes when the call stack has unwound. */
export function readSoon(readable: Readable): void {
  line.push(readable)
  if (!isReading) schedule()
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

/** Arranges the next turn: after a turn of the event loop where the time of this one is used up. */
function schedule(): void {
  if (isScheduled) return
  if (spentMs >= TURN_MAX_MS) {
    isScheduled = true
    setImmediate(beginTurn)
  } else if (line.length > 0) {
    isScheduled = true
    process.nextTick(readLine)
  }
}

function beginTurn(): void {
  spentMs = 0
  readLine()
}

function readLine(): void {
  isScheduled = false
  try {
    while (line.length > 0 && spentMs < TURN_MAX_MS) read(line.shift() as Readable)
  } finally {
    schedule()
  }
}
