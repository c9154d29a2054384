import type { Source } from "./source.js"

/** Arrays shorter than this are copied together, so that dribbled bytes cost bytes, not objects. */
const SMALL_BYTES = 4096

/** What arrived of a stream and was not used yet: a queue of arrays, which it may keep. */
export class ByteQueue implements Source {
  #chunks: Uint8Array[] = []
  /** Bytes of the first chunk that are gone. */
  #offset = 0
  #length = 0
  /** Bytes in use of the last chunk, when it is one that small arrays are copied into. */
  #filled = 0

  get length(): number {
    return this.#length
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    this.#length += chunk.length
    if (chunk.length >= SMALL_BYTES || this.#chunks.length === 0) {
      this.#seal()
      this.#chunks.push(chunk)
      return
    }
    let tail = this.#chunks[this.#chunks.length - 1] as Uint8Array
    if (this.#filled === 0 || this.#filled + chunk.length > tail.length) {
      this.#seal()
      tail = new Uint8Array(2 * SMALL_BYTES)
      this.#chunks.push(tail)
    }
    tail.set(chunk, this.#filled)
    this.#filled += chunk.length
  }

  peek(target: Uint8Array): void {
    let from = this.#offset
    let at = 0
    for (let i = 0; at < target.length; i++) {
      const chunk = this.#chunks[i] as Uint8Array
      const end = Math.min(this.#end(i), from + target.length - at)
      target.set(chunk.subarray(from, end), at)
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
    this.#shrink()
  }

  /** Copies and takes bytes, giving each array back as soon as it is used up. */
  read(target: Uint8Array): void {
    for (let at = 0; at < target.length; ) {
      const length = Math.min(target.length - at, this.#end(0) - this.#offset)
      this.peek(target.subarray(at, at + length))
      this.skip(length)
      at += length
    }
  }

  /** Where the bytes of a chunk end. */
  #end(index: number): number {
    const last = index === this.#chunks.length - 1
    return last && this.#filled > 0 ? this.#filled : (this.#chunks[index] as Uint8Array).length
  }

  /** Ends the chunk that small arrays are copied into. */
  #seal(): void {
    if (this.#filled === 0) return
    const last = this.#chunks.length - 1
    this.#chunks[last] = (this.#chunks[last] as Uint8Array).subarray(0, this.#filled)
    this.#filled = 0
  }

  /** A few bytes must not keep a large array alive while a connection is idle. */
  #shrink(): void {
    const [rest] = this.#chunks
    if (this.#chunks.length !== 1 || this.#length >= SMALL_BYTES || this.#filled > 0) return
    if (rest === undefined || this.#offset === 0) return
    this.#chunks[0] = new Uint8Array(rest.subarray(this.#offset))
    this.#offset = 0
  }
}
