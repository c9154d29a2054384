import type { ConnectionCounts, DirectionCounts, Waiting } from "../transport/transport.js"

// The number of flushed writes, and the number at which a notification was requested, or 0. A message
// for each write would wake the other thread every time.
const FLUSHED = 0
const WANTED = 1
/** Whether the connection has ended. */
const ENDED = 2
/** The number of flushed writes up to and with the first one whose memory is still in use, or 0. */
const IN_USE = 3
/** These are 32 bits each, and take the first two 64-bit fields. The counts of each direction follow. */
const PROGRESS_FIELDS = 2
const SENT = PROGRESS_FIELDS
const DIRECTION_FIELDS = 4
const RECEIVED = SENT + DIRECTION_FIELDS
const WRITE_MS: number = RECEIVED + DIRECTION_FIELDS
const EFFORT: number = WRITE_MS + 1
const WAITING: number = EFFORT + 1
const FIELDS = WAITING + 2
/** Number of connections that share a block of memory. */
const SHARERS = 128

let memory: SharedArrayBuffer | undefined
let sharers = 0

/** State of a connection in shared memory, which both threads can read at any time. */
export class SharedState {
  /** The fields, to be posted to the other thread. */
  readonly fields: Float64Array
  readonly #progress: Int32Array

  constructor(fields: Float64Array = newFields()) {
    this.fields = fields
    this.#progress = new Int32Array(fields.buffer, fields.byteOffset, 2 * PROGRESS_FIELDS)
  }

  /** Number of flushed writes, modulo 2^32. */
  get flushed(): number {
    return Atomics.load(this.#progress, FLUSHED)
  }

  /** Counts a write as flushed. Returns whether a notification was requested for it. */
  countFlushed(): boolean {
    const flushed = (Atomics.add(this.#progress, FLUSHED, 1) + 1) | 0
    const wanted = Atomics.load(this.#progress, WANTED)
    if (wanted === 0 || ((flushed - wanted) | 0) < 0) return false
    // A request made meanwhile stays.
    Atomics.compareExchange(this.#progress, WANTED, wanted, 0)
    return true
  }

  /** Requests a notification when `flushed` writes have been flushed. */
  want(flushed: number): void {
    // 0 means no request. A notification one write too early does no harm.
    Atomics.store(this.#progress, WANTED, flushed || -1)
  }

  /** Keeps the memory of the next write to be counted, and of those after it, until `freeMemory()`. */
  keepMemory(): void {
    if (Atomics.load(this.#progress, IN_USE) === 0)
      Atomics.store(this.#progress, IN_USE, (this.flushed + 1) | 0 || -1)
  }

  freeMemory(): void {
    Atomics.store(this.#progress, IN_USE, 0)
  }

  /** Number of flushed writes whose memory is no longer in use, modulo 2^32. */
  get freed(): number {
    const { flushed } = this // read first: it is counted after its memory is kept
    const inUse = Atomics.load(this.#progress, IN_USE)
    const freed = (inUse - 1) | 0
    return inUse !== 0 && ((freed - flushed) | 0) < 0 ? freed : flushed
  }

  /** Whether the connection has ended, so that no more writes will be flushed. */
  get hasEnded(): boolean {
    return Atomics.load(this.#progress, ENDED) !== 0
  }

  end(): void {
    Atomics.store(this.#progress, ENDED, 1)
  }

  /** Milliseconds that the latest write took. */
  get writeMs(): number {
    return this.fields[WRITE_MS] as number
  }

  set writeMs(ms: number) {
    this.fields[WRITE_MS] = ms
  }

  /** The traffic so far. */
  get counts(): ConnectionCounts {
    return { sent: this.#direction(SENT), received: this.#direction(RECEIVED) }
  }

  set counts({ sent, received }: ConnectionCounts) {
    this.#store(SENT, sent)
    this.#store(RECEIVED, received)
  }

  /** The compression effort of sent messages. */
  get effort(): number {
    return this.fields[EFFORT] as number
  }

  set effort(effort: number) {
    this.fields[EFFORT] = effort
  }

  /** Messages written that the system has not accepted yet. */
  get waiting(): Waiting {
    return {
      messages: this.fields[WAITING] as number,
      bytes: this.fields[WAITING + 1] as number,
    }
  }

  set waiting({ messages, bytes }: Waiting) {
    this.fields[WAITING] = messages
    this.fields[WAITING + 1] = bytes
  }

  #direction(at: number): DirectionCounts {
    const { fields } = this
    return {
      messages: fields[at] as number,
      plainBytes: fields[at + 1] as number,
      wireBytes: fields[at + 2] as number,
      dictionary: fields[at + 3] !== 0,
    }
  }

  #store(at: number, { messages, plainBytes, wireBytes, dictionary }: DirectionCounts): void {
    const { fields } = this
    fields[at] = messages
    fields[at + 1] = plainBytes
    fields[at + 2] = wireBytes
    fields[at + 3] = dictionary ? 1 : 0
  }
}

function newFields(): Float64Array {
  if (memory === undefined || sharers === SHARERS) {
    memory = new SharedArrayBuffer(SHARERS * FIELDS * Float64Array.BYTES_PER_ELEMENT)
    sharers = 0
  }
  return new Float64Array(memory, sharers++ * FIELDS * Float64Array.BYTES_PER_ELEMENT, FIELDS)
}
