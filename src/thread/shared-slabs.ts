import { type Slab, Slabs } from "../codec/chunk.js"

/** Memory that several threads see. */
export const allocateShared = (bytes: number): Uint8Array =>
  new Uint8Array(new SharedArrayBuffer(bytes))

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
  #last = 0

  constructor() {
    super(allocateShared)
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
    if (super.emptied(slab)) return true
    const number = this.numberOf(slab)
    this.#numbers.delete(slab)
    this.#slabs.delete(number)
    for (const reader of this.readers) reader.forget(number)
    return false
  }
}
