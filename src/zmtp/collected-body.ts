import { copyShared } from "../base/copy-shared.js"

/** Room for the beginning of a body, minimum room for more, and the factor by which the room grows. */
const FIRST_ROOM_BYTES = 4096
const ROOM_BYTES = 64 * 1024
const GROWTH = 16

/** Maximum number of bytes to read at once; some systems refuse 2 GiB. */
const LANDING_MAX_BYTES = 2 ** 30

const EMPTY = Buffer.alloc(0)

/**
 * The body of a frame, collected from pieces. Its room grows with the bytes that have arrived: a head
 * alone never causes an allocation of the size that it declares.
 */
export class CollectedBody {
  #bytes: Buffer = EMPTY
  #length = 0
  #filled = 0

  /** Begins a body of `length` bytes. */
  begin(length: number): void {
    this.#length = length
    this.#filled = 0
  }

  get missingBytes(): number {
    return this.#length - this.#filled
  }

  /** Returns where the next bytes go, for `landed()`. Call only if some are missing. */
  room(): Buffer {
    if (this.#filled === this.#bytes.length) this.#grow(this.#filled)
    return this.#bytes.subarray(this.#filled, this.#filled + LANDING_MAX_BYTES)
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

  /** Makes room for a body of which `filled` bytes have come: bounded by these, whatever the head declares. */
  #grow(filled: number): void {
    const more = Math.max(ROOM_BYTES, GROWTH * filled)
    const room = filled < FIRST_ROOM_BYTES ? FIRST_ROOM_BYTES : more
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#length, room))
    larger.set(this.#bytes.subarray(0, this.#filled))
    this.#bytes = larger
  }

  /** Returns the complete body, which has memory of its own. */
  take(): Buffer {
    // An empty body is an object of its own, too: its receiver may transfer its memory.
    const body = this.#length === 0 ? Buffer.allocUnsafeSlow(0) : this.#bytes
    this.#bytes = EMPTY
    return body
  }
}
