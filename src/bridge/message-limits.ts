import { ProtocolError } from "../codec/errors.js"
import { COMMAND, type FrameHead, MORE, StreamHead } from "../codec/frames.js"
import { GREETING_BYTES } from "../zmtp/greeting.js"

/** Limits of one message, in either direction. */
export interface MessageLimits {
  /** Maximum bytes of all its parts; -1 is no limit. */
  maxBytes: number
  maxParts: number
}

/**
 * Reads the heads of the frames of a ZMTP stream (RFC.md section 3.3; ZMTP 3.1), to refuse a message
 * that exceeds the limits before any byte of the excessive part is kept. Malformed frames are left
 * to the transcoder.
 */
export class LimitedStream {
  readonly #limits: MessageLimits
  /** Bytes of the greeting, or of a body, not yet received. */
  #passing = GREETING_BYTES
  readonly #head = new StreamHead()
  /** Counts of the current message. */
  #parts = 0
  #bytes = 0

  constructor(limits: MessageLimits) {
    this.#limits = limits
  }

  /**
   * Reads a chunk. Returns the error for the first part that exceeds a limit, and the position of
   * its frame, or of the rest of the frame that is in this chunk.
   */
  check(chunk: Uint8Array): { error: ProtocolError; at: number } | undefined {
    let at = 0
    let frameAt = 0
    while (at < chunk.length) {
      if (this.#passing > 0) {
        const passed = Math.min(this.#passing, chunk.length - at)
        this.#passing -= passed
        at += passed
        continue
      }
      if (!this.#head.isIncomplete) frameAt = at
      at = this.#head.readNext(chunk, at)
      if (this.#head.isIncomplete) break
      const error = this.#frame(this.#head)
      if (error) return { error, at: frameAt }
    }
    return undefined
  }

  #frame({ flags, bodyBytes }: FrameHead): ProtocolError | undefined {
    this.#passing = bodyBytes
    if (flags & COMMAND) return undefined
    const { maxBytes, maxParts } = this.#limits
    if (this.#parts === maxParts)
      return new ProtocolError(
        "ERR_ZMTP_PARTS",
        `a message has over ${maxParts} parts, which is maxParts`,
      )
    const left = maxBytes - this.#bytes
    if (maxBytes >= 0 && bodyBytes > left)
      return new ProtocolError(
        "ERR_LZ4_BUDGET_EXCEEDED",
        `part ${this.#parts} declares ${BigInt(bodyBytes)} bytes; ${left} left of maxPlainMessageSize ${maxBytes}`,
      )
    const more = (flags & MORE) !== 0
    this.#parts = more ? this.#parts + 1 : 0
    this.#bytes = more ? this.#bytes + bodyBytes : 0
    return undefined
  }
}
