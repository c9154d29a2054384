import { copyShared } from "./copy-shared.js"

/** The factor by which the room grows, for callers that do not count unused room as in use. */
const GROWTH = 16
/** The room for the beginning of a body, as a multiple of the growth. */
const FIRST_ROOM_BYTES = 256

/** Maximum number of bytes to read at once; some systems refuse 2 GiB. */
const LANDING_MAX_BYTES = 2 ** 30

const EMPTY = new Uint8Array(0)

/**
 * A frame or its body, collected from pieces. Its room grows with the bytes that have arrived: a head
 * alone never causes an allocation of the size that it declares.
 */
export class CollectedBody<Bytes extends Uint8Array = Uint8Array> {
  readonly #allocate: (bytes: number) => Bytes
  readonly #growth: number
  #bytes: Bytes = EMPTY as Uint8Array as Bytes
  #length = 0
  #filled = 0

  /** @param allocate returns at least so many bytes. */
  constructor(allocate: (bytes: number) => Bytes, growth: number = GROWTH) {
    this.#allocate = allocate
    this.#growth = growth
  }

  /** Begins a body of `length` bytes. */
  begin(length: number): void {
    this.#length = length
    this.#filled = 0
  }

  /** Sets the length of a body that has begun, once its first bytes show more of it. */
  extend(length: number): void {
    this.#length = length
  }

  get missingBytes(): number {
    return this.#length - this.#filled
  }

  get filledBytes(): number {
    return this.#filled
  }

  /** The memory in use, in bytes. */
  get roomBytes(): number {
    return this.#bytes.length
  }

  /** The bytes collected so far, until the next call. */
  get filled(): Uint8Array {
    return this.#bytes.subarray(0, this.#filled)
  }

  /** Returns where the next bytes go, for `landed()`. Call only if some are missing. */
  room(): Bytes {
    if (this.#filled === this.#bytes.length) this.#grow(this.#filled)
    return this.#bytes.subarray(this.#filled, this.#filled + LANDING_MAX_BYTES) as Bytes
  }

  /** Counts bytes that were read into the room. */
  landed(bytes: number): void {
    this.#filled += bytes
  }

  /** Copies as many bytes from `at` on as are missing. Returns the position after them. */
  collect(bytes: Uint8Array, at: number): number {
    const take = Math.min(bytes.length - at, this.missingBytes)
    const filled = this.#filled + take
    if (filled > this.#bytes.length) this.#grow(filled)
    const whole = at === 0 && take === bytes.length
    copyShared(this.#bytes, this.#filled, whole ? bytes : bytes.subarray(at, at + take))
    this.#filled = filled
    return at + take
  }

  /** Makes room in proportion to the `filled` bytes that have come, whatever the head declares. */
  #grow(filled: number): void {
    const first = FIRST_ROOM_BYTES * this.#growth
    const room = filled < first ? first : this.#growth * filled
    const larger = this.#allocate(Math.min(this.#length, room))
    larger.set(this.#bytes.subarray(0, this.#filled))
    this.#bytes = larger
  }

  /** Returns the complete body, and forgets it. */
  take(): Bytes {
    // An empty body is an object of its own, too: its receiver may transfer its memory.
    const bytes = this.#length === 0 ? this.#allocate(0) : this.#bytes
    const body = bytes.length === this.#length ? bytes : bytes.subarray(0, this.#length)
    this.drop()
    return body as Bytes
  }

  /** Forgets what was collected. */
  drop(): void {
    this.#bytes = EMPTY as Uint8Array as Bytes
    this.#length = 0
    this.#filled = 0
  }
}
