/** Decodes bytes of a connection: frames, a greeting or a part, whichever they look like. */

import {
  areFlags,
  BODY_MAX_BYTES,
  COMMAND,
  FrameHead,
  framesLength,
  LONG,
  MORE,
  writeFrames,
} from "../codec/frames.js"
import { commandName } from "../zmtp/commands.js"
import { GREETING_BYTES } from "../zmtp/greeting.js"
import { decodeFrames } from "./decode-frames.js"
import type { Handshake } from "./events.js"
import { MESSAGE_MAX_BYTES, MESSAGE_MAX_PARTS } from "./message-limit.js"
import { shipmentIn } from "./parts.js"
import { isSealed } from "./sealed-bytes.js"
import { describeCommand } from "./streams/describe-command.js"
import { greetingHandshake } from "./streams/handshake.js"
import { type DecodedMessage, kindOf, type TransportName, transportIn } from "./streams/messages.js"
import { withoutPassword } from "./streams/password.js"

/**
 * Frames with their heads, a greeting that frames may follow, or one part without the head of its frame.
 */
export type BytesKind = "frames" | "greeting" | "part"

export type DecodedPiece =
  | ({ type: "greeting"; offset: number } & Pick<Handshake, "version" | "mechanism" | "asServer">)
  | {
      type: "command"
      offset: number
      bytes: number
      name: string
      detail: string
      data: Uint8Array
    }
  /** A MESSAGE command of CURVE, whose frames have no COMMAND. */
  | { type: "encrypted"; offset: number; bytes: number }
  | MessagePiece
  /** What cannot be understood, with its byte in the message. */
  | { type: "error"; message: string }

/** The messages of a frame or several: an arena has more than one. */
export interface MessagePiece {
  type: "message"
  offset: number
  bytes: number
  transport: TransportName
  /** Whether its last part is there. */
  isWhole: boolean
  messages: DecodedMessage[]
  /** The offset of each part; for the messages of an arena, the arena's. */
  partOffset(message: DecodedMessage, part: number): number
}

const SIGNATURE_FIRST = 0xff

/** Thrown at bytes that no connection can have. It is caught and reported, never thrown to callers. */
class Misplaced extends Error {}

/** Returns what bytes look like. Only parts over `lz4+tcp` or `zstd+tcp` begin with a sentinel. */
export function kindOfBytes(bytes: Uint8Array): BytesKind {
  if (kindOf(bytes) !== "none") return "part"
  return bytes[0] === SIGNATURE_FIRST ? "greeting" : "frames"
}

/**
 * Decodes everything, up to what cannot be understood.
 *
 * @param dictionary the one that the sender had shipped before.
 */
export function* decodeBytes(
  bytes: Uint8Array,
  dictionary: Uint8Array | undefined,
): Generator<DecodedPiece> {
  const kind = kindOfBytes(bytes)
  if (kind === "part") {
    yield messageOf([{ at: 0, body: bytes, isLast: true }], 0, bytes.length, dictionary)
    return
  }
  try {
    if (kind === "greeting") yield greetingOf(bytes)
    yield* framesIn(bytes, kind === "greeting" ? GREETING_BYTES : 0, dictionary)
  } catch (error) {
    if (!(error instanceof Misplaced)) throw error
    yield { type: "error", message: error.message }
  }
}

function greetingOf(bytes: Uint8Array): DecodedPiece {
  if (bytes.length < GREETING_BYTES)
    throw new Misplaced(`byte 0: a greeting has ${GREETING_BYTES} bytes; there are ${bytes.length}`)
  if (bytes[9] !== 0x7f)
    throw new Misplaced(`byte 9: ${hexOf(bytes, 9)} where a greeting, which begins with ff, has 7f`)
  const { version, mechanism, asServer } = greetingHandshake(bytes.subarray(0, GREETING_BYTES))
  return { type: "greeting", offset: 0, version, mechanism, asServer }
}

interface Part {
  at: number
  body: Uint8Array
  isLast: boolean
}

function* framesIn(
  bytes: Uint8Array,
  start: number,
  given: Uint8Array | undefined,
): Generator<DecodedPiece> {
  let dictionary = given
  let parts: Part[] = []
  let messageAt = start
  let at = start
  while (at < bytes.length) {
    const { flags, bodyAt, end } = frameAt(bytes, at)
    const body = bytes.subarray(bodyAt, end)
    if (flags & COMMAND) {
      yield commandOf(body, at, end - at)
    } else {
      if (parts.length === 0) messageAt = at
      if (parts.length === MESSAGE_MAX_PARTS)
        throw new Misplaced(`byte ${at}: the message has more than ${MESSAGE_MAX_PARTS} parts`)
      parts.push({ at: bodyAt, body, isLast: (flags & MORE) === 0 })
      if (!(flags & MORE)) {
        const piece = messageOf(parts, messageAt, end - messageAt, dictionary)
        yield piece
        if (piece.type === "message")
          dictionary = shipmentIn(piece.messages[0] as DecodedMessage) ?? dictionary
        parts = []
      }
    }
    at = end
  }
  if (parts.length > 0) yield messageOf(parts, messageAt, at - messageAt, dictionary)
}

/** Reads the frame at a position. @throws Misplaced if there is none, or not all of it. */
function frameAt(bytes: Uint8Array, at: number): { flags: number; bodyAt: number; end: number } {
  const head = new FrameHead()
  const bodyAt = head.read(bytes, at)
  const { flags, bodyBytes } = head
  if (!areFlags(flags)) {
    const expected = at === 0 ? "a frame, a greeting or a part with its sentinel" : "a frame"
    throw new Misplaced(`byte ${at}: ${hexOf(bytes, at)} cannot begin ${expected}`)
  }
  if (bodyAt > bytes.length)
    throw new Misplaced(
      `byte ${at}: the head of a ${flags & LONG ? "long" : "short"} frame has ${bodyAt - at} bytes; there are ${bytes.length - at}`,
    )
  if (bodyBytes >= BODY_MAX_BYTES)
    throw new Misplaced(`byte ${at + 1}: the length of the frame has its highest bit set`)
  if (bodyAt + bodyBytes > bytes.length)
    throw new Misplaced(
      `byte ${at + 1}: the frame declares ${BigInt(bodyBytes)} bytes; ${bytes.length - bodyAt} follow`,
    )
  return { flags, bodyAt, end: bodyAt + bodyBytes }
}

function commandOf(body: Uint8Array, offset: number, bytes: number): DecodedPiece {
  const name = commandName(body)
  if (name === undefined)
    return { type: "error", message: `byte ${offset}: a command without a name` }
  const all = body.subarray(1 + name.length)
  const data = name === "HELLO" ? withoutPassword(all) : all
  return { type: "command", offset, bytes, name, detail: describeCommand(name, data), data }
}

/** Decodes a message; one whose last part is missing as if it ended here. */
function messageOf(
  parts: readonly Part[],
  offset: number,
  bytes: number,
  dictionary: Uint8Array | undefined,
): DecodedPiece {
  const [first] = parts as [Part]
  if (isSealed(first.body)) return { type: "encrypted", offset, bytes }
  const bodies = parts.map(({ body }) => body)
  const frames = new Uint8Array(framesLength(bodies))
  writeFrames(frames, 0, bodies)
  const transport = transportIn(bodies) ?? "lz4+tcp"
  return {
    type: "message",
    offset,
    bytes,
    transport,
    isWhole: parts.at(-1)?.isLast === true,
    messages: decodeFrames(frames, {
      transport,
      maxMessageSize: MESSAGE_MAX_BYTES,
      ...(dictionary && { dictionary }),
    }),
    partOffset: ({ arena }, part) => parts[arena ? 0 : part]?.at ?? offset,
  }
}

const hexOf = (bytes: Uint8Array, at: number): string =>
  (bytes[at] as number).toString(16).padStart(2, "0")
