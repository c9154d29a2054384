import { DESCRIBED_BYTES, describeGreeting } from "../../codec/describe-greeting.js"
import { GREETING_BYTES, isOld, mayGreet, SIGNATURE_BYTES } from "../../zmtp/greeting.js"
import type { Time } from "../events.js"

const NOTHING = new Uint8Array(0)

/** The greeting of one direction, as far as it was captured. */
export class GreetingReader {
  /** The bytes so far; those in a gap are zero. */
  #bytes: Uint8Array = new Uint8Array(GREETING_BYTES)
  #length = 0
  #isDamaged = false
  #isDescribed = false
  /** The place of the first byte; -1 before it. */
  offset = -1
  time: Time

  /** The number of bytes so far, with those in a gap. */
  get length(): number {
    return this.#length
  }

  get hasSignature(): boolean {
    return this.#length >= SIGNATURE_BYTES
  }

  get isComplete(): boolean {
    return this.#length === GREETING_BYTES
  }

  /** Whether the bytes so far may be those of a greeting. */
  get isPossible(): boolean {
    return mayGreet(this.#seen)
  }

  get #seen(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Takes bytes from `at` on, until there are `end`. Returns the position after them. */
  take(bytes: Uint8Array, at: number, end: number): number {
    const taken = Math.min(bytes.length - at, Math.max(0, end - this.#length))
    this.#bytes.set(bytes.subarray(at, at + taken), this.#length)
    this.#length += taken
    return at + taken
  }

  /** Skips missing bytes. Returns false if frames are among them. */
  skip(bytes: number): boolean {
    if (!this.hasSignature || this.#length + bytes > GREETING_BYTES) return false
    this.#isDamaged = true
    this.#length += bytes
    return true
  }

  /**
   * Returns the greeting once it can be read, and frees it, because many connections send nothing else.
   * Of ZMTP 1 and 2 these are the bytes up to its version.
   */
  release(): Uint8Array | undefined {
    const seen = this.#seen
    const isReadable = this.isComplete || (this.#length > SIGNATURE_BYTES && isOld(seen))
    if (this.#isDamaged || !isReadable) return undefined
    this.#bytes = NOTHING
    return seen
  }

  /**
   * Describes, once, bytes of another protocol; undefined while too few have come and more may follow.
   */
  describe(hasEnded: boolean): string | undefined {
    if (this.#isDescribed || (this.#length < DESCRIBED_BYTES && !hasEnded)) return undefined
    this.#isDescribed = true
    return `the greeting ${describeGreeting(this.#seen)}`
  }
}
