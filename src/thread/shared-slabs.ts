import { setTimeout } from "../base/runtime.js"
import { outOfMemory } from "../codec/errors.js"
import { LargeSlabs, type Slab, SPARE_MAX } from "../codec/slabs.js"
import type { SlabNotice } from "./protocol.js"

/**
 * Maximum number of spare slabs while messages flow. High-water marks allow many, and new memory
 * costs more than filling it does.
 */
const BUSY_SPARE_MAX = 1024
const IDLE_MS = 1000
/**
 * A queued chunk smaller than this is copied out of its slab. The limit is lower than that of other
 * slabs, because the chunk has to be copied back to shared memory before it is written.
 */
const KEEPS_BYTES = 8 * 1024

/** Allocates memory that several threads can see. */
function allocateShared(bytes: number): Uint8Array {
  try {
    return new Uint8Array(new SharedArrayBuffer(bytes))
  } catch {
    throw outOfMemory("a message on its way to a thread", bytes)
  }
}

/** A reader of slabs on another thread, which must be told when a slab is released. */
export interface SlabReader {
  forget(slab: number): void
}

/** Slabs that other threads can see. They are identified by numbers. */
export class SharedSlabs extends LargeSlabs {
  /** The readers that may know a slab. */
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

  override ofAtLeast(bytes: number): Slab {
    const slab = super.ofAtLeast(bytes)
    this.#byMemory.set(slab.bytes.buffer, slab)
    return slab
  }

  /** Returns the slab that contains `bytes`; undefined for other memory. */
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
    else if ((this.spare > SPARE_MAX || this.spareLarge > 0) && !this.#timer)
      this.#timer = setTimeout(this.#shrink, IDLE_MS).unref()
    return isKept
  }

  /** Releases slabs that have not been needed for a while. */
  readonly #shrink = () => {
    this.#timer = undefined
    for (const slab of [...this.dropSpare(SPARE_MAX), ...this.dropLarge()]) this.#forget(slab)
  }

  #forget(slab: Slab): void {
    const number = this.numberOf(slab)
    this.#numbers.delete(slab)
    this.#slabs.delete(number)
    for (const reader of this.readers) reader.forget(number)
  }
}

/** The slabs that another thread has been told of. */
export class AnnouncedSlabs implements SlabReader {
  readonly #slabs: SharedSlabs
  readonly #announce: (notice: SlabNotice) => void
  readonly #known = new Set<number>()

  constructor(slabs: SharedSlabs, announce: (notice: SlabNotice) => void) {
    this.#slabs = slabs
    this.#announce = announce
    slabs.readers.add(this)
  }

  /** Returns the number of a slab, which the other thread knows from now on. */
  numberOf(slab: Slab): number {
    const number = this.#slabs.numberOf(slab)
    if (!this.#known.has(number)) {
      this.#known.add(number)
      const memory = slab.bytes.buffer as SharedArrayBuffer
      this.#announce({ type: "slab", slab: number, memory })
    }
    return number
  }

  forget(number: number): void {
    if (this.#known.delete(number))
      this.#announce({ type: "slab", slab: number, memory: undefined })
  }

  /** Announces no more, because the other thread has ended. */
  close(): void {
    this.#slabs.readers.delete(this)
  }
}

/** The slabs of another thread. */
export class SeenSlabs {
  readonly #slabs = new Map<number, Uint8Array>()

  take({ slab, memory }: SlabNotice): void {
    if (memory) this.#slabs.set(slab, new Uint8Array(memory))
    else this.#slabs.delete(slab)
  }

  bytes(slab: number, start: number, length?: number): Uint8Array {
    const end = length === undefined ? undefined : start + length
    return (this.#slabs.get(slab) as Uint8Array).subarray(start, end)
  }
}
