import { allocate } from "./arrays.js"

/** Bytes that are read once, from the front. The caller must not read beyond the end. */
export abstract class Source {
  /** Number of bytes left. */
  abstract readonly length: number
  /** Copies the next bytes without consuming them. */
  abstract peek(target: Uint8Array): void
  abstract skip(bytes: number): void

  /** Copies the next bytes and consumes them. */
  read(target: Uint8Array): void {
    this.peek(target)
    this.skip(target.length)
  }

  /** Consumes and returns all bytes left. */
  rest(): Uint8Array {
    const all = allocate(this.length)
    this.read(all)
    return all
  }
}

/** An array as a source. */
export class ArraySource extends Source {
  protected readonly bytes: Uint8Array
  protected at = 0

  constructor(bytes: Uint8Array) {
    super()
    this.bytes = bytes
  }

  get length(): number {
    return this.bytes.length - this.at
  }

  peek(target: Uint8Array): void {
    target.set(this.bytes.subarray(this.at, this.at + target.length))
  }

  skip(bytes: number): void {
    this.at += bytes
  }
}

/** An array as a source whose rest is a view of it, for callers that keep the array anyway. */
export class SharedSource extends ArraySource {
  override rest(): Uint8Array {
    return this.bytes.subarray(this.at)
  }
}

/** The first bytes of another source. */
export class FrontSource extends Source {
  readonly #source: Source
  #length: number

  constructor(source: Source, length: number) {
    super()
    this.#source = source
    this.#length = length
  }

  get length(): number {
    return this.#length
  }

  peek(target: Uint8Array): void {
    this.#source.peek(target)
  }

  skip(bytes: number): void {
    this.#source.skip(bytes)
    this.#length -= bytes
  }

  override read(target: Uint8Array): void {
    this.#source.read(target)
    this.#length -= target.length
  }
}
