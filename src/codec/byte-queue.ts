import { Source } from "./source.js"

/** Minimum size of an array behind the first: bytes may arrive a few at a time. */
const ARRAY_MIN_BYTES = 8192
/** A new array has room for 1 / `ARRAY_SHARE` of the queue: few arrays, and little unused room. */
const ARRAY_SHARE = 8

/** Bytes received but not yet consumed: a queue of copies. */
export class ByteQueue extends Source {
  /** All arrays are full, except for the last one. */
  readonly #arrays: Uint8Array[] = []
  /** Bytes of the first array that were consumed. */
  #offset = 0
  #length = 0
  /** Bytes used in the last array. */
  #filled = 0

  get length(): number {
    return this.#length
  }

  push(bytes: Uint8Array): void {
    const last = this.#arrays.at(-1)
    const fits = last ? Math.min(bytes.length, last.length - this.#filled) : 0
    const rest = bytes.length - fits
    let next: Uint8Array | undefined
    if (rest > 0) {
      // Many connections keep a few bytes only, so the first array is no larger than needed.
      const min = last ? Math.max(ARRAY_MIN_BYTES, Math.ceil(this.#length / ARRAY_SHARE)) : 0
      next = new Uint8Array(Math.max(rest, min))
      next.set(bytes.subarray(fits))
      this.#arrays.push(next)
    }
    if (fits > 0) last?.set(bytes.subarray(0, fits), this.#filled)
    this.#filled = next ? rest : this.#filled + fits
    this.#length += bytes.length
  }

  peek(target: Uint8Array): void {
    let from = this.#offset
    let at = 0
    for (let i = 0; at < target.length; i++) {
      const end = Math.min(this.#end(i), from + target.length - at)
      target.set((this.#arrays[i] as Uint8Array).subarray(from, end), at)
      at += end - from
      from = 0
    }
  }

  skip(bytes: number): void {
    this.#length -= bytes
    this.#offset += bytes
    while (this.#arrays.length > 0 && this.#offset >= this.#end(0)) {
      this.#offset -= this.#end(0)
      this.#arrays.shift()
    }
  }

  /** Copies the next bytes and consumes them. Each array is dropped as soon as it is consumed. */
  override read(target: Uint8Array): void {
    for (let at = 0; at < target.length; ) {
      const length = Math.min(target.length - at, this.#end(0) - this.#offset)
      this.peek(target.subarray(at, at + length))
      this.skip(length)
      at += length
    }
  }

  /** Returns the offset of the end of an array's bytes. */
  #end(index: number): number {
    const isLast = index === this.#arrays.length - 1
    return isLast ? this.#filled : (this.#arrays[index] as Uint8Array).length
  }
}
