import { readAll, type Source } from "./source.js"

/**
 * Arrays shorter than this are copied together, so that bytes which arrive a few at a time do not
 * take an object each.
 */
const SMALL_BYTES = 4096

/** Bytes received but not yet consumed: a queue of copies. */
export class ByteQueue implements Source {
  #chunks: Uint8Array[] = []
  /** Bytes of the first chunk that were consumed. */
  #offset = 0
  #length = 0
  /** Bytes used in the last chunk, if small arrays are copied into it; otherwise 0. */
  #filled = 0

  get length(): number {
    return this.#length
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#length += bytes.length
    const last = this.#chunks.at(-1)
    if (last && this.#filled > 0 && this.#filled + bytes.length <= last.length) {
      last.set(bytes, this.#filled)
      this.#filled += bytes.length
      return
    }
    if (last && this.#filled > 0) {
      this.#chunks[this.#chunks.length - 1] = last.subarray(0, this.#filled)
      this.#filled = 0
    }
    if (bytes.length >= SMALL_BYTES || this.#chunks.length === 0) {
      this.#chunks.push(new Uint8Array(bytes))
    } else {
      const shared = new Uint8Array(2 * SMALL_BYTES)
      shared.set(bytes)
      this.#filled = bytes.length
      this.#chunks.push(shared)
    }
  }

  peek(target: Uint8Array): void {
    let from = this.#offset
    let at = 0
    for (let i = 0; at < target.length; i++) {
      const end = Math.min(this.#end(i), from + target.length - at)
      target.set((this.#chunks[i] as Uint8Array).subarray(from, end), at)
      at += end - from
      from = 0
    }
  }

  skip(bytes: number): void {
    this.#length -= bytes
    this.#offset += bytes
    while (this.#chunks.length > 0 && this.#offset >= this.#end(0)) {
      this.#offset -= this.#end(0)
      if (this.#chunks.length === 1) this.#filled = 0
      this.#chunks.shift()
    }
  }

  /** Copies the next bytes and consumes them. Each array is dropped as soon as it is consumed. */
  read(target: Uint8Array): void {
    for (let at = 0; at < target.length; ) {
      const length = Math.min(target.length - at, this.#end(0) - this.#offset)
      this.peek(target.subarray(at, at + length))
      this.skip(length)
      at += length
    }
  }

  rest(): Uint8Array {
    return readAll(this)
  }

  /** Returns the offset of the end of a chunk's bytes. */
  #end(index: number): number {
    const last = index === this.#chunks.length - 1
    return last && this.#filled > 0 ? this.#filled : (this.#chunks[index] as Uint8Array).length
  }
}
