/**
 * How far the writes of a connection have come, in memory that both threads see: it is looked at for
 * every batch, and to post it would wake a thread each time.
 */
const LEFT = 0
const WANTED = 1
const FIELDS = 2
/** Connections that share a piece of memory. */
const SHARERS = 256

let memory: SharedArrayBuffer | undefined
let sharers = 0

export class Progress {
  readonly #fields: Int32Array

  constructor(fields: Int32Array = newFields()) {
    this.#fields = fields
  }

  /** As it is posted. */
  get fields(): Int32Array {
    return this.#fields
  }

  /** Writes that have left, in 32 bits: it begins anew after 2^32. */
  get left(): number {
    return Atomics.load(this.#fields, LEFT)
  }

  /** One more write has left. Returns whether that was waited for. */
  leaves(): boolean {
    const left = (Atomics.add(this.#fields, LEFT, 1) + 1) | 0
    const wanted = Atomics.load(this.#fields, WANTED)
    if (wanted === 0 || ((left - wanted) | 0) < 0) return false
    Atomics.store(this.#fields, WANTED, 0)
    return true
  }

  /** Asks to be told when so many have left. */
  want(left: number): void {
    Atomics.store(this.#fields, WANTED, left || 1)
  }
}

function newFields(): Int32Array {
  if (memory === undefined || sharers === SHARERS) {
    memory = new SharedArrayBuffer(SHARERS * FIELDS * Int32Array.BYTES_PER_ELEMENT)
    sharers = 0
  }
  return new Int32Array(memory, sharers++ * FIELDS * Int32Array.BYTES_PER_ELEMENT, FIELDS)
}
