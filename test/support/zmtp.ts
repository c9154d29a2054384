/** Builds and parses ZMTP 3 for tests (RFC.md section 3). */
import { concat, SENTINELS } from "./wire.js"

export const MORE = 1
export const LONG = 2
export const COMMAND = 4
export const GREETING_BYTES = 64

export interface Frame {
  flags: number
  body: Uint8Array
  /** The position of the frame in its stream. */
  offset: number
}

/** The data that one side of a connection has sent. */
export interface ParsedStream {
  greeting: Uint8Array
  /** Complete frames, including those of the handshake. */
  frames: Frame[]
  /** Bytes of an incomplete frame. */
  restBytes: number
}

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")

export function greeting({ major = 3, minor = 1, mechanism = "NULL" } = {}): Uint8Array {
  const bytes = new Uint8Array(GREETING_BYTES)
  bytes[0] = 0xff
  bytes.set([1, 0x7f, major, minor], 8)
  bytes.set(ascii(mechanism), 12)
  return bytes
}

/** Returns a greeting, or what begins with one, as peers in Ruby, Rust and Python send it. */
export function asOthersThanLibzmq(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes).fill(0, 1, 9)
}

/** Returns the head of a frame whose body has, or claims to have, this many bytes. */
export function frameHead(bodyBytes: number | bigint, flags = 0): Uint8Array {
  if (bodyBytes <= 255) return Uint8Array.of(flags, Number(bodyBytes))
  const head = new Uint8Array(9)
  head[0] = flags | LONG
  new DataView(head.buffer).setBigUint64(1, BigInt(bodyBytes))
  return head
}

export const frame = (body: Uint8Array, flags = 0): Uint8Array =>
  concat(frameHead(body.length, flags), body)

/** Returns the frames of one message. */
export const message = (...parts: readonly Uint8Array[]): Uint8Array =>
  concat(...parts.map((part, i) => frame(part, i < parts.length - 1 ? MORE : 0)))

/** Returns the frame of an arena that has messages of at most 255 bytes with their frame heads, not compressed. */
export function storedArena(...messages: readonly Uint8Array[][]): Uint8Array {
  const frames = concat(...messages.map((parts) => message(...parts)))
  const sizes = Uint8Array.of(0, 0, 0, 0, frames.length, 0, 0, 0, messages.length, 0, 0, 0)
  return frame(concat(SENTINELS.LZ4A, sizes, frames))
}

/** The most parts that an arena may make out of the 23 bytes in `arenaOfEmptyParts`, RFC.md section A.1. */
export const MOST_EMPTY_PARTS = 1392

/** Returns an arena that makes a message of at least 20 empty parts out of as few bytes as possible. */
export function arenaOfEmptyParts(parts: number): Uint8Array {
  const size = 2 * parts
  // The first part, a match that repeats it, and the last three parts: a block ends with literals.
  const ofMatch = size - 2 - 6 - 19
  const block = concat(
    Uint8Array.of(0x2f, MORE, 0, 2, 0),
    new Uint8Array(Math.floor(ofMatch / 255)).fill(255),
    Uint8Array.of(ofMatch % 255, 0x60, MORE, 0, MORE, 0, 0, 0),
  )
  const sizes = Uint8Array.of(1, 0, 0, 0, size & 255, size >> 8, 0, 0, 1, 0, 0, 0)
  return concat(SENTINELS.LZ4A, sizes, block)
}

/** Returns the READY of a peer, which announces a revision of a format if one is given. */
export function ready(socketType: string, revision?: number, format = "Lz4"): Uint8Array {
  const property = (name: string, value: string) =>
    concat(
      Uint8Array.of(name.length),
      ascii(name),
      Uint8Array.of(0, 0, 0, value.length),
      ascii(value),
    )
  const body = concat(
    Uint8Array.of(5),
    ascii("READY"),
    property("Socket-Type", socketType),
    ...(revision === undefined ? [] : [property(`X-${format}-Revision`, String(revision))]),
  )
  return frame(body, COMMAND)
}

/** Returns everything that a peer with the mechanism NULL sends before its first message. */
export const handshake = (socketType: string, revision?: number, format?: string): Uint8Array =>
  concat(greeting(), ready(socketType, revision, format))

export function parseStream(bytes: Uint8Array): ParsedStream {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const frames: Frame[] = []
  let at = Math.min(GREETING_BYTES, bytes.length)
  for (;;) {
    const flags = bytes[at] ?? 0
    const headBytes = flags & LONG ? 9 : 2
    if (at + headBytes > bytes.length) break
    const bodyBytes = flags & LONG ? Number(view.getBigUint64(at + 1)) : view.getUint8(at + 1)
    const end = at + headBytes + bodyBytes
    if (end > bytes.length) break
    frames.push({ flags, body: bytes.subarray(at + headBytes, end), offset: at })
    at = end
  }
  return { greeting: bytes.subarray(0, GREETING_BYTES), frames, restBytes: bytes.length - at }
}

/** Returns the wire parts of each whole message among the frames of a stream. */
export function messagesOf(frames: readonly Frame[]): Uint8Array[][] {
  const messages: Uint8Array[][] = []
  let parts: Uint8Array[] = []
  for (const { flags, body } of frames) {
    if (flags & COMMAND) continue
    parts.push(body)
    if (flags & MORE) continue
    messages.push(parts)
    parts = []
  }
  return messages
}

export function commandName({ body }: Frame): string {
  return Buffer.from(body.subarray(1, 1 + (body[0] ?? 0))).toString("latin1")
}
