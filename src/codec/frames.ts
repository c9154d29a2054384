/** ZMTP frames (RFC.md section 3.3), and sequences of frames inside an arena (appendix A). */
import { copy } from "./arrays.js"
import { hex, ProtocolError } from "./errors.js"
import { copyShared } from "./shared-copy.js"

/** The flags of a frame. */
export const MORE = 1
export const LONG = 2
export const COMMAND = 4

export const SHORT_HEAD_BYTES = 2
export const LONG_HEAD_BYTES = 9
export const SHORT_MAX_BYTES = 255

type Message = readonly Uint8Array[]

/** Returns the length of a message's frames in bytes. */
export function framesLength(message: Message): number {
  let length = 0
  for (const part of message) length += frameHeadLength(part.length) + part.length
  return length
}

/** Writes the frames of a message and returns the position after them. */
export function writeFrames(target: Uint8Array, start: number, message: Message): number {
  let at = start
  for (const [i, part] of message.entries()) {
    at = writeFrameHead(target, at, i < message.length - 1 ? MORE : 0, part.length)
    copyShared(target, at, part)
    at += part.length
  }
  return at
}

/** Writes the head of a frame with MORE, COMMAND or neither, and returns the position after it. */
export function writeFrameHead(
  target: Uint8Array,
  start: number,
  flags: number,
  bodyBytes: number,
): number {
  if (bodyBytes <= SHORT_MAX_BYTES) {
    target[start] = flags
    target[start + 1] = bodyBytes
    return start + SHORT_HEAD_BYTES
  }
  target[start] = flags | LONG
  let high = Math.floor(bodyBytes / 2 ** 32)
  let low = bodyBytes >>> 0
  for (let at = start + 8; at > start + 4; at--) {
    target[at] = low & 0xff
    target[at - 4] = high & 0xff
    low >>>= 8
    high >>>= 8
  }
  return start + LONG_HEAD_BYTES
}

/** Returns whether a frame may have these flags. */
export function areFlags(flags: number): boolean {
  return flags <= (MORE | LONG | COMMAND) && (flags & (MORE | COMMAND)) !== (MORE | COMMAND)
}

/** Returns the length of a frame's head in bytes, by its flags. */
export function frameHeadBytes(flags: number): number {
  return flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
}

/**
 * Returns the length of the body that a frame's head declares: exact below 2^53, and at least 2^63
 * if the real value is not allowed.
 */
export function frameBodyBytes(frames: Uint8Array, at: number): number {
  const end = at + frameHeadBytes(frames[at] as number)
  let length = 0
  for (let byte = at + 1; byte < end; byte++) length = length * 256 + (frames[byte] as number)
  return length
}

export const BODY_MAX_BYTES: number = 2 ** 63

/** Returns the error for a frame whose head is not allowed. `frame` begins with that head. */
export function frameError(frame: Uint8Array): ProtocolError {
  const allowed = areFlags(frame[0] as number)
  const [what, end] = allowed ? ["length is", LONG_HEAD_BYTES] : ["flags are", 1]
  return new ProtocolError(
    "ERR_ZMTP_FRAME",
    `a frame begins with ${hex(frame.subarray(0, end))}; its ${what} not allowed`,
  )
}

/** Returns the messages of a checked sequence of frames. Their parts are copies. */
export function splitFrames(frames: Uint8Array): Uint8Array[][] {
  const messages: Uint8Array[][] = []
  let message: Uint8Array[] = []
  for (let at = 0; at < frames.length; ) {
    const flags = frames[at] as number
    const start = at + frameHeadBytes(flags)
    at = start + frameBodyBytes(frames, at)
    message.push(copy(frames, start, at))
    if (flags & MORE) continue
    messages.push(message)
    message = []
  }
  return messages
}

/** Returns the number of messages that end in a sequence of whole frames, and the bytes of their parts. */
export function countFrames(frames: Uint8Array): { messages: number; plainBytes: number } {
  let messages = 0
  let plainBytes = 0
  for (let at = 0; at < frames.length; ) {
    const flags = frames[at] as number
    const bodyBytes = frameBodyBytes(frames, at)
    if (!(flags & MORE)) messages++
    plainBytes += bodyBytes
    at += frameHeadBytes(flags) + bodyBytes
  }
  return { messages, plainBytes }
}

/** Returns the length of the head of a frame whose body has `bodyBytes`. */
export function frameHeadLength(bodyBytes: number): number {
  return bodyBytes > SHORT_MAX_BYTES ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
}
