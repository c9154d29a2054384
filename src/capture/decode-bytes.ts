import { framesLength, writeFrames } from "../codec/frames.js"
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
    messages: decodeFrames(isPart ? framed(bytes) : bytes, options),
  }
}

/** Returns a part with the head of its frame. */
function framed(part: Uint8Array): Uint8Array {
  const frames = new Uint8Array(framesLength([part]))
  writeFrames(frames, 0, [part])
  return frames
}
