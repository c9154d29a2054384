/** The bytes received so far of a recording in progress. */
import type { CaptureFile, Range } from "./reading.js"

/** Bytes that are kept in one Blob, which the browser may move to its disk. */
const BLOCK_BYTES = 1 << 20

export class GrowingFile implements CaptureFile {
  readonly name: string
  readonly #blocks: Blob[] = []
  /** The bytes after the blocks. */
  #tail = new Uint8Array(BLOCK_BYTES)
  #tailBytes = 0
  ended = false
  /** Why following it ended before the recording did; undefined if it did not. */
  ending: string | undefined
  #waiting: (() => void)[] = []

  constructor(name: string) {
    this.name = name
  }

  get size(): number {
    return this.#blocks.length * BLOCK_BYTES + this.#tailBytes
  }

  async open(): Promise<void> {}

  append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + BLOCK_BYTES - this.#tailBytes)
      this.#tail.set(piece, this.#tailBytes)
      this.#tailBytes += piece.length
      at += piece.length
      if (this.#tailBytes < BLOCK_BYTES) continue
      this.#blocks.push(new Blob([this.#tail]))
      this.#tailBytes = 0
    }
    this.#notify()
  }

  end(ending?: string): void {
    if (this.ended) return
    this.ended = true
    this.ending = ending
    this.#notify()
  }

  async read(ranges: readonly Range[]): Promise<Uint8Array> {
    const pieces = ranges.flatMap(([from, to]) => this.#pieces(from, Math.min(to, this.size)))
    return new Uint8Array(await new Blob(pieces).arrayBuffer())
  }

  #pieces(from: number, end: number): BlobPart[] {
    const pieces: BlobPart[] = []
    for (let at = from; at < end; ) {
      const index = Math.floor(at / BLOCK_BYTES)
      const start = index * BLOCK_BYTES
      const stop = Math.min(end, start + BLOCK_BYTES)
      const block = this.#blocks[index]
      pieces.push((block ?? this.#tail).slice(at - start, stop - start))
      at = stop
    }
    return pieces
  }

  /** Resolves with the next bytes, or at the end. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended) resolve()
      else this.#waiting.push(resolve)
    })
  }

  #notify(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
