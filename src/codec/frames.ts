/**
 * ZMTP frames (RFC.md section 3.3), and sequences of frames inside an arena (appendix A). All
 * TypeScript reads and writes the heads of frames here; all C does in wasm/zmtp.c.
 */

import { copyShared } from "../base/copy-shared.js"
import { copy } from "./arrays.js"
import { hex, ProtocolError } from "./errors.js"

/** The flags of a frame. */
export const MORE = 1
export const LONG = 2
export const COMMAND = 4
/** In frames inside this package only: the body is a compressed part as it came. */
export const KEPT = 8
/** In frames between threads: the body is sent plain, or compressed whatever the threshold. */
export const PLAIN_FORM = 16
export const TRIED_FORM = 32

export const SHORT_HEAD_BYTES = 2
export const LONG_HEAD_BYTES = 9
export const SHORT_MAX_BYTES = 255

/** The length of a body from which on a receiver refuses it (RFC.md section 3.3). */
export const BODY_MAX_BYTES: number = 2 ** 63

/** Maximum number of parts in a message (RFC.md section 7): each takes more memory than its bytes. */
export const PARTS_MAX = 65_536

type Message = readonly Uint8Array[]

/**
 * The head of a frame (RFC.md section 3.3; ZMTP 3.1): its flags, and the length of its body in one
 * byte, or with LONG in eight. One object reads many heads, one after another. It checks nothing.
 */
export class FrameHead {
  flags = 0
  /** Length of the body: exact below 2^53, and at least BODY_MAX_BYTES if it is not allowed. */
  bodyBytes = 0

  /**
   * Reads the head at `at`, which is before the end of `bytes`. Returns the position of the body.
   * If that is after the end, the head is incomplete, and only its flags are read.
   */
  read(bytes: Uint8Array, at: number): number {
    const flags = bytes[at] as number
    const body = at + (flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES)
    this.flags = flags
    if (body > bytes.length) return body
    let length = bytes[at + 1] as number
    for (let i = at + 2; i < body; i++) length = length * 256 + (bytes[i] as number)
    this.bodyBytes = length
    return body
  }
}

/** The heads of the frames in a stream, whose chunks may end anywhere. */
export class StreamHead extends FrameHead {
  /** The bytes received so far of a head that chunks split, and their number. */
  #received: Uint8Array | undefined
  #receivedBytes = 0

  /** Whether the last chunk ended within a head. Only its flags are known then. */
  get isIncomplete(): boolean {
    return this.#received !== undefined
  }

  /** Reads the head at `at`, or goes on with it. Returns the position after the bytes that it took. */
  readNext(chunk: Uint8Array, at: number): number {
    if (this.#received === undefined) {
      const body = this.read(chunk, at)
      if (body <= chunk.length) return body
      this.#received = new Uint8Array(LONG_HEAD_BYTES)
      this.#receivedBytes = 0
    }
    const received = this.#received
    const headBytes = this.flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
    let next = at
    while (next < chunk.length && this.#receivedBytes < headBytes)
      received[this.#receivedBytes++] = chunk[next++] as number
    if (this.#receivedBytes === headBytes) {
      this.read(received, 0)
      this.#received = undefined
    }
    return next
  }
}

/** Returns the length of a message's frames in bytes. Each body is `extraBytes` longer than its part. */
export function framesLength(
  message: readonly { readonly length: number }[],
  extraBytes: number = 0,
): number {
  let length = 0
  for (const part of message) {
    const bodyBytes = extraBytes + part.length
    length += frameHeadLength(bodyBytes) + bodyBytes
  }
  return length
}

/** Writes the frames of a message and returns the position after them. */
export function writeFrames(target: Uint8Array, start: number, message: Message): number {
  let at = start
  let left = message.length
  for (const part of message) {
    at = writeFrameHead(target, at, --left > 0 ? MORE : 0, part.length)
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
  // Each element takes the lowest 8 bits.
  const high = bodyBytes / 2 ** 32
  for (let i = 0; i < 4; i++) {
    target[start + 4 - i] = high >>> (8 * i)
    target[start + 8 - i] = bodyBytes >>> (8 * i)
  }
  return start + LONG_HEAD_BYTES
}

/** Returns whether a frame may have these flags. */
export function areFlags(flags: number): boolean {
  return flags <= (MORE | LONG | COMMAND) && (flags & (MORE | COMMAND)) !== (MORE | COMMAND)
}

/**
 * Checks the head of a frame that no transcoder has checked.
 *
 * @throws ProtocolError if it is not allowed.
 */
export function checkHead(flags: number, bodyBytes: number): void {
  if (!areFlags(flags)) throw frameError(Uint8Array.of(flags))
  if (bodyBytes >= BODY_MAX_BYTES)
    throw new ProtocolError("ERR_ZMTP_FRAME", "the length of a frame has its highest bit set")
}

/** Returns the error for a frame whose head is not allowed. `frame` begins with that head. */
export function frameError(frame: Uint8Array): ProtocolError {
  const allowed = areFlags(frame[0] as number)
  const [what, end] = allowed ? ["length is", LONG_HEAD_BYTES] : ["flags are", 1]
  return new ProtocolError(
    "ERR_ZMTP_FRAME",
    `a frame begins with ${hex(frame.subarray(0, end))}; its ${what} not allowed`,
  )
}

/** Returns the error for the part of a received message that is one too many. */
export function tooManyParts(): ProtocolError {
  return new ProtocolError("ERR_ZMTP_PARTS", `a message has over ${PARTS_MAX} parts`)
}

/** Returns the messages of a checked sequence of frames. Their parts are copies. */
export function splitFrames(frames: Uint8Array): Uint8Array[][] {
  const messages: Uint8Array[][] = []
  let message: Uint8Array[] = []
  const head = new FrameHead()
  for (let at = 0; at < frames.length; ) {
    const start = head.read(frames, at)
    at = start + head.bodyBytes
    message.push(copy(frames, start, at))
    if (head.flags & MORE) continue
    messages.push(message)
    message = []
  }
  return messages
}

/** Counts the messages that end in a sequence of whole frames, and the bytes of their parts. */
export function countFrames(frames: Uint8Array): { messages: number; plainBytes: number } {
  let messages = 0
  let plainBytes = 0
  const head = new FrameHead()
  for (let at = 0; at < frames.length; ) {
    at = head.read(frames, at) + head.bodyBytes
    plainBytes += head.bodyBytes
    if (!(head.flags & MORE)) messages++
  }
  return { messages, plainBytes }
}

/** Returns the length of the head of a frame whose body has `bodyBytes`. */
export function frameHeadLength(bodyBytes: number): number {
  return bodyBytes > SHORT_MAX_BYTES ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
}
