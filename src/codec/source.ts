/** Bytes that are read once, from the front. Reading beyond the end is the caller's mistake. */
export interface Source {
  /** Bytes that are left. */
  readonly length: number
  /** Copies the next bytes without taking them. */
  peek(target: Uint8Array): void
  skip(bytes: number): void
  /** Copies and takes the next bytes. */
  read(target: Uint8Array): void
}

/** An array as a source. */
export class ArraySource implements Source {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get length(): number {
    return this.#bytes.length - this.#at
  }

  peek(target: Uint8Array): void {
    target.set(this.#bytes.subarray(this.#at, this.#at + target.length))
  }

  skip(bytes: number): void {
    this.#at += bytes
  }

  read(target: Uint8Array): void {
    this.peek(target)
    this.skip(target.length)
  }
}

/** The first bytes of another source, as one of its own. */
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
}
