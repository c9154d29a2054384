import { ProtocolError } from "../codec/errors.js"
import { COMMAND, frameBodyBytes, frameHeadBytes, LONG_HEAD_BYTES, MORE } from "../codec/frames.js"
import { GREETING_BYTES } from "../zmtp/greeting.js"

/** Limits of one message, either way. */
export interface MessageLimits {
  /** Bytes of all its parts, at most; -1 is no limit. */
  maxBytes: number
  maxParts: number
}

/**
 * Reads the heads of the frames of a ZMTP stream, to find a message that is beyond the limits
 * before anything of the part that makes it so is kept. What is no frame is left to the transcoder.
 */
export class LimitedStream {
  readonly #limits: MessageLimits
  /** Bytes of the greeting, or of a body, that are still to come. */
  #passing = GREETING_BYTES
  /** The head of a frame, as far as it came. */
  readonly #head = new Uint8Array(LONG_HEAD_BYTES)
  #headBytes = 0
  /** Of the message that is under way. */
  #parts = 0
  #bytes = 0

  constructor(limits: MessageLimits) {
    this.#limits = limits
  }

  /** Reads a chunk. Returns the error for the first part that is too much, and where its frame or what is here of it begins. */
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
      if (this.#headBytes === 0) frameAt = at
      this.#head[this.#headBytes++] = chunk[at++] as number
      if (this.#headBytes < frameHeadBytes(this.#head[0] as number)) continue
      this.#headBytes = 0
      const error = this.#frame(this.#head[0] as number, frameBodyBytes(this.#head, 0))
      if (error) return { error, at: frameAt }
    }
    return undefined
  }

  #frame(flags: number, bodyBytes: number): ProtocolError | undefined {
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
