import { CollectedBody } from "../base/collected-body.js"
import { allocate } from "../codec/arrays.js"
import { FrameHead } from "../codec/frames.js"

/**
 * Splits a stream of frames (RFC.md section 3.3), whose heads have been checked, at the ends of frames.
 * Pieces may end anywhere.
 */
export class WholeFrames {
  readonly #head = new FrameHead()
  /** An incomplete frame, of which the end of the head is known first. */
  readonly #frame = new CollectedBody(allocate)

  /** Passes on all frames that are complete now, valid during the call of `sink` only. */
  push(piece: Uint8Array, sink: (frames: Uint8Array) => void): void {
    const frame = this.#frame
    let at = 0
    while (frame.filledBytes > 0) {
      const wanted = this.#endOf(frame.filled, 0)
      if (frame.filledBytes === wanted) sink(frame.take())
      else if (at === piece.length) return
      else {
        frame.extend(wanted)
        at = frame.collect(piece, at)
      }
    }
    let end = at
    for (let next = at; next <= piece.length; next = this.#endOf(piece, next)) {
      end = next
      if (end === piece.length) break
    }
    if (end > at) sink(piece.subarray(at, end))
    if (end === piece.length) return
    frame.begin(this.#endOf(piece, end) - end)
    frame.collect(piece, end)
  }

  /** Returns the end of the frame at `at`, or of its head if that is incomplete. */
  #endOf(bytes: Uint8Array, at: number): number {
    const body = this.#head.read(bytes, at)
    return body > bytes.length ? body : body + this.#head.bodyBytes
  }
}
