import { concat } from "../codec/arrays.js"
import { type DecodeFramesOptions, decodeFrames } from "./decode-frames.js"
import { type DecodedMessage, kindOf } from "./streams/messages.js"

/** What bytes without a capture are, and what is in them. */
export interface DecodedBytes {
  /** Whole messages in frames, or one part without the head of its frame. */
  as: "frames" | "part"
  messages: DecodedMessage[]
}

/**
 * Decodes bytes of which nobody says what they are: a part if they begin as one over `lz4+tcp`, otherwise
 * frames.
 *
 * @throws as decodeFrames does.
 */
export function decodeBytes(bytes: Uint8Array, options: DecodeFramesOptions): DecodedBytes {
  // No message over lz4+tcp begins like this, so there is nothing to choose.
  const isPart = options.transport === "lz4+tcp" && kindOf(bytes) !== "none"
  return {
    as: isPart ? "part" : "frames",
    messages: decodeFrames(isPart ? concat([headOf(bytes.length), bytes]) : bytes, options),
  }
}

/** Returns the head of a frame with a length of 8 bytes (RFC 23/ZMTP). */
function headOf(length: number): Uint8Array {
  const head = new DataView(new ArrayBuffer(9))
  head.setUint8(0, 2)
  head.setBigUint64(1, BigInt(length))
  return new Uint8Array(head.buffer)
}
