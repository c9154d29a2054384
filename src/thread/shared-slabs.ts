import { type Slab, Slabs, SPARE_MAX } from "../codec/chunk.js"
import { outOfMemory } from "../codec/errors.js"

/**
 * Plaintext waits for another thread in slabs, as many as high-water marks allow: they are not given
 * back while messages flow, as new memory costs more than to fill it.
 */
const BUSY_SPARE_MAX = 1024
const IDLE_MS = 1000
/** Plaintext that has to wait elsewhere is copied twice more. */
const KEEPS_BYTES = 8 * 1024

/** Memory that several threads see. */
export function allocateShared(bytes: number): Uint8Array {
  try {
    return new Uint8Array(new SharedArrayBuffer(bytes))
  } catch {
    throw outOfMemory("a message on its way to a thread", bytes)
  }
}

/** Whom another thread's knowledge of slabs is told to. */
export interface SlabReader {
  forget(slab: number): void
}

/** Slabs that other threads see, to whom they go by number. */
export class SharedSlabs extends Slabs {
  /** Those who may know a slab. */
  readonly readers: Set<SlabReader> = new Set()
  readonly #numbers = new Map<Slab, number>()
  readonly #slabs = new Map<number, Slab>()
  readonly #byMemory = new WeakMap<ArrayBufferLike, Slab>()
  #last = 0
  #timer: NodeJS.Timeout | undefined

  constructor() {
    super(allocateShared, BUSY_SPARE_MAX, KEEPS_BYTES)
  }

  override next(): Slab {
    const slab = super.next()
    this.#byMemory.set(slab.bytes.buffer, slab)
    return slab
  }

  /** The slab that this is in; undefined for other memory. */
  of(bytes: Uint8Array): Slab | undefined {
    return this.#byMemory.get(bytes.buffer)
  }

  numberOf(slab: Slab): number {
    let number = this.#numbers.get(slab)
    if (number === undefined) {
      number = ++this.#last
      this.#numbers.set(slab, number)
      this.#slabs.set(number, slab)
    }
    return number
  }

  at(number: number): Slab {
    return this.#slabs.get(number) as Slab
  }

  override emptied(slab: Slab): boolean {
    const isKept = super.emptied(slab)
    if (!isKept) this.#forget(slab)
    else if (this.spare > SPARE_MAX && !this.#timer)
      this.#timer = setTimeout(shrink, IDLE_MS, this).unref()
    return isKept
  }

  /** Gives back what has not been needed for a while. */
  shrink(): void {
    this.#timer = undefined
    for (const slab of this.dropSpare(SPARE_MAX)) this.#forget(slab)
  }

  #forget(slab: Slab): void {
    const number = this.numberOf(slab)
    this.#numbers.delete(slab)
    this.#slabs.delete(number)
    for (const reader of this.readers) reader.forget(number)
  }
}

function shrink(slabs: SharedSlabs): void {
  slabs.shrink()
}
