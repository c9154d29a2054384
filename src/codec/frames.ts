/** Runs of ZMTP frames, as they are inside an arena (RFC.md appendix A). */
import { copy } from "./arrays.js"

const MORE = 1
const LONG = 2
const SHORT_HEAD_BYTES = 2
const LONG_HEAD_BYTES = 9
const SHORT_MAX_BYTES = 255

const ARENA_MESSAGE_MAX_BYTES = 8192
const ARENA_MAX_MESSAGES = 256
const ARENA_MAX_PARTS = 4096
/** The most bytes of all frames of an arena. */
export const ARENA_MAX_BYTES = 65536

type Message = readonly Uint8Array[]

/** How long the frames of a message are. */
export function framesLength(message: Message): number {
  let length = 0
  for (const part of message) length += headLength(part) + part.length
  return length
}

/** Cuts a list of messages into groups that may share an arena, in order; one that may not is alone. */
export function groupMessages(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = []
  let group: Message[] = []
  let bytes = 0
  let parts = 0
  for (const message of messages) {
    const length = framesLength(message)
    bytes += length
    parts += message.length
    const alone = length > ARENA_MESSAGE_MAX_BYTES || message.length > ARENA_MAX_PARTS
    const full =
      bytes > ARENA_MAX_BYTES || parts > ARENA_MAX_PARTS || group.length === ARENA_MAX_MESSAGES
    if (groups.length === 0 || alone || full) {
      group = []
      groups.push(group)
      // What follows a message that is alone begins a group as well.
      bytes = alone ? ARENA_MAX_BYTES : length
      parts = message.length
    }
    group.push(message)
  }
  return groups
}

/** Writes the frames of a message and returns where they end. */
export function writeFrames(target: Uint8Array, start: number, message: Message): number {
  let at = start
  for (const [i, part] of message.entries()) {
    const more = i < message.length - 1 ? MORE : 0
    const head = headLength(part)
    target[at] = head === LONG_HEAD_BYTES ? more | LONG : more
    let length = part.length
    for (let byte = at + head - 1; byte > at; byte--) {
      target[byte] = length & 0xff
      length >>>= 8
    }
    target.set(part, at + head)
    at += head + part.length
  }
  return at
}

/** The messages of a run of frames that has been checked; their parts are copies. */
export function splitFrames(frames: Uint8Array): Uint8Array[][] {
  const messages: Uint8Array[][] = []
  let message: Uint8Array[] = []
  for (let at = 0; at < frames.length; ) {
    const flags = frames[at] as number
    const start = at + (flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES)
    let length = 0
    for (let byte = at + 1; byte < start; byte++) length = length * 256 + (frames[byte] as number)
    at = start + length
    message.push(copy(frames, start, at))
    if (flags & MORE) continue
    messages.push(message)
    message = []
  }
  return messages
}

function headLength(part: Uint8Array): number {
  return part.length > SHORT_MAX_BYTES ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
}
