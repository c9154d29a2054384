import { FrameHead } from "../codec/frames.js"

/** Minimum room for a frame that arrives in pieces, and the factor by which the room grows. */
const ROOM_BYTES = 4096
const GROWTH = 4
const NOTHING = new Uint8Array(0)

/**
 * Splits a stream of frames (RFC.md section 3.3), whose heads have been checked, at the ends of frames.
 * Pieces may end anywhere. A head alone never causes an allocation of the size that it declares.
 */
export class WholeFrames {
  readonly #head = new FrameHead()
  /** The bytes received so far of an incomplete frame. */
  #frame: Uint8Array = NOTHING
  #filled = 0

  /** Passes on all frames that are complete now, valid during the call of `sink` only. */
  push(piece: Uint8Array, sink: (frames: Uint8Array) => void): void {
    let at = 0
    while (this.#filled > 0) {
      const wanted = this.#endOf(this.#frame.subarray(0, this.#filled), 0)
      if (this.#filled === wanted) {
        sink(this.#frame.subarray(0, wanted))
        this.#frame = NOTHING
        this.#filled = 0
      } else if (at < piece.length) {
        at += this.#collect(piece.subarray(at), wanted)
      } else return
    }
    let end = at
    for (let next = at; next <= piece.length; next = this.#endOf(piece, next)) {
      end = next
      if (end === piece.length) break
    }
    if (end > at) sink(piece.subarray(at, end))
    const rest = piece.subarray(end)
    if (rest.length > 0) this.#collect(rest, this.#endOf(rest, 0))
  }

  /** Returns the end of the frame at `at`, or of its head if that is incomplete. */
  #endOf(bytes: Uint8Array, at: number): number {
    const body = this.#head.read(bytes, at)
    return body > bytes.length ? body : body + this.#head.bodyBytes
  }

  /** Keeps bytes up to those `wanted` of a frame. Returns how many. */
  #collect(bytes: Uint8Array, wanted: number): number {
    const taken = bytes.subarray(0, wanted - this.#filled)
    const filled = this.#filled + taken.length
    if (filled > this.#frame.length) {
      const larger = new Uint8Array(
        Math.max(filled, Math.min(wanted, Math.max(ROOM_BYTES, GROWTH * filled))),
      )
      larger.set(this.#frame.subarray(0, this.#filled))
      this.#frame = larger
    }
    this.#frame.set(taken, this.#filled)
    this.#filled = filled
    return taken.length
  }
}
