import type { ConnectionCounts, DirectionCounts, Waiting } from "../transport/transport.js"

// Writes that have left, and how many are waited for, or 0. To post them would wake a thread each time.
const LEFT = 0
const WANTED = 1
/** These are 32 bits each and share the first number of 64; the counts of each direction follow. */
const PROGRESS_FIELDS = 1
const SENT = PROGRESS_FIELDS
const DIRECTION_FIELDS = 4
const RECEIVED = SENT + DIRECTION_FIELDS
const WRITE_MS: number = RECEIVED + DIRECTION_FIELDS
const EFFORT: number = WRITE_MS + 1
const WAITING: number = EFFORT + 1
const FIELDS = WAITING + 2
/** Connections that share a piece of memory. */
const SHARERS = 128

let memory: SharedArrayBuffer | undefined
let sharers = 0

/** State of a connection that both threads see at any time, in shared memory. */
export class SharedState {
  /** As it is posted. */
  readonly fields: Float64Array
  readonly #progress: Int32Array

  constructor(fields: Float64Array = newFields()) {
    this.fields = fields
    this.#progress = new Int32Array(fields.buffer, fields.byteOffset, 2 * PROGRESS_FIELDS)
  }

  /** Writes that have left, in 32 bits: it begins anew after 2^32. */
  get left(): number {
    return Atomics.load(this.#progress, LEFT)
  }

  /** One more write leaves. Returns whether that was waited for. */
  leaves(): boolean {
    const left = (Atomics.add(this.#progress, LEFT, 1) + 1) | 0
    const wanted = Atomics.load(this.#progress, WANTED)
    if (wanted === 0 || ((left - wanted) | 0) < 0) return false
    // What is wanted meanwhile stays wanted.
    Atomics.compareExchange(this.#progress, WANTED, wanted, 0)
    return true
  }

  /** Asks to be told when so many have left. */
  want(left: number): void {
    // 0 is for nobody. To be told one write too early does no harm.
    Atomics.store(this.#progress, WANTED, left || -1)
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

  /** Compression effort of sent messages. */
  get effort(): number {
    return this.fields[EFFORT] as number
  }

  set effort(effort: number) {
    this.fields[EFFORT] = effort
  }

  /** What was written and the system has not taken. */
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
