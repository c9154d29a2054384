import { allocate } from "./arrays.js"

/** Bytes that are read once, from the front. The caller must not read beyond the end. */
export interface Source {
  /** Number of bytes left. */
  readonly length: number
  /** Copies the next bytes without consuming them. */
  peek(target: Uint8Array): void
  skip(bytes: number): void
  /** Copies the next bytes and consumes them. */
  read(target: Uint8Array): void
  /** Consumes and returns all bytes left. */
  rest(): Uint8Array
}

export function readAll(source: Source): Uint8Array {
  const all = allocate(source.length)
  source.read(all)
  return all
}

/** An array as a source. */
export class ArraySource implements Source {
  protected readonly bytes: Uint8Array
  protected at = 0

  constructor(bytes: Uint8Array) {
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

  read(target: Uint8Array): void {
    this.peek(target)
    this.skip(target.length)
  }

  rest(): Uint8Array {
    return readAll(this)
  }
}

/** An array as a source whose rest is a view of it, for callers that keep the array anyway. */
export class SharedSource extends ArraySource {
  override rest(): Uint8Array {
    return this.bytes.subarray(this.at)
  }
}

/** The first bytes of another source. */
export class FrontSource implements Source {
  readonly #source: Source
  #length: number

  constructor(source: Source, length: number) {
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

  read(target: Uint8Array): void {
    this.#source.read(target)
    this.#length -= target.length
  }

  rest(): Uint8Array {
    return readAll(this)
  }
}
