import { copyShared } from "../base/copy-shared.js"
import { Codec } from "./codec.js"
import type { FormatName } from "./format.js"
import {
  FrameHead,
  framesLength,
  KEPT,
  MORE,
  PLAIN_FORM,
  TRIED_FORM,
  writeFrameHead,
} from "./frames.js"
import { SENTINEL as LZ4 } from "./lz4/wire.js"
import { readSentinel } from "./wire.js"

/** Codecs of the formats whose parts were decoded here. They have no dictionary and no limit. */
const codecs = new Map<FormatName, Codec>()

function codecFor(format: FormatName): Codec {
  let codec = codecs.get(format)
  if (!codec) {
    codec = Codec.createSync({ format })
    codecs.set(format, codec)
  }
  return codec
}

/** A part of a message for which is said in which form it is sent. */
export abstract class FormedPart {
  /** The body of its frame, or its plaintext. */
  readonly bytes: Uint8Array
  /**
   * More than any batch has room for: a part like this is encoded apart, however short. `bytes.length`
   * and `plainLength` are its real lengths.
   */
  readonly length: number = Number.POSITIVE_INFINITY
  /** A flag of its frame between threads, which says how it is sent. */
  abstract readonly flag: number

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** Length of the plaintext in bytes. */
  get plainLength(): number {
    return this.bytes.length
  }

  /** @throws RangeError if memory runs out. */
  plaintext(): Uint8Array {
    return this.bytes
  }

  /** Returns the same part with a copy of its bytes, if the program may change them. */
  abstract copied(): FormedPart
}

/** A part as it came, compressed without a dictionary. It was decoded once, so it is valid. */
export class KeptPart extends FormedPart {
  readonly flag: number = KEPT
  #plainLength: number | undefined

  get format(): FormatName {
    const sentinel = readSentinel(this.bytes)
    return sentinel === LZ4.LZ4B || sentinel === LZ4.LZ4M ? "lz4" : "zstd"
  }

  override get plainLength(): number {
    this.#plainLength ??= codecFor(this.format).decodedSize(this.bytes)
    return this.#plainLength
  }

  /** Decodes the part again. */
  override plaintext(): Uint8Array {
    return codecFor(this.format).decodePart(this.bytes) as Uint8Array
  }

  copied(): FormedPart {
    return this
  }
}

/** A part that is sent plain. */
export class PlainPart extends FormedPart {
  readonly flag: number = PLAIN_FORM

  copied(): FormedPart {
    return new PlainPart(new Uint8Array(this.bytes))
  }
}

/** A part that is compressed if that makes it shorter, whatever the endpoint's threshold and level. */
export class TriedPart extends FormedPart {
  readonly flag: number = TRIED_FORM

  copied(): FormedPart {
    return new TriedPart(new Uint8Array(this.bytes))
  }
}

/** A part of a message: its plaintext, or one whose form is given. */
export type AnyPart = Uint8Array | FormedPart

/** Returns the plaintext of a part. */
export const plainOf = (part: AnyPart): Uint8Array =>
  part instanceof FormedPart ? part.plaintext() : part

/** Returns what is in a part's frame, or will be encoded. */
export const bodyOf = (part: AnyPart): Uint8Array =>
  part instanceof FormedPart ? part.bytes : part

/** Returns whether the form of any part is given. */
export const hasForms = (message: readonly AnyPart[]): boolean =>
  message.some((part) => part instanceof FormedPart)

/** Returns a message with the plaintext of the kept parts that are not sent as they came. */
export function fitted(
  message: readonly AnyPart[],
  forwards: (part: KeptPart) => boolean,
): readonly AnyPart[] {
  if (!message.some((part) => part instanceof KeptPart)) return message
  return message.map((part) => (part instanceof KeptPart && !forwards(part) ? plainOf(part) : part))
}

/** Writes the frames of a message, with flags that say how its parts are sent. Returns their end. */
export function writeParts(target: Uint8Array, start: number, message: readonly AnyPart[]): number {
  let at = start
  for (const [i, part] of message.entries()) {
    const body = bodyOf(part)
    const flags = (i < message.length - 1 ? MORE : 0) | (part instanceof FormedPart ? part.flag : 0)
    at = writeFrameHead(target, at, flags, body.length)
    copyShared(target, at, body)
    at += body.length
  }
  return at
}

/** Returns the parts of a message whose frames `writeParts` has written, in the same memory. */
export function readParts(frames: Uint8Array): AnyPart[] {
  const parts: AnyPart[] = []
  const head = new FrameHead()
  for (let at = 0; at < frames.length; ) {
    const start = head.read(frames, at)
    at = start + head.bodyBytes
    parts.push(partOf(head.flags, frames.subarray(start, at)))
  }
  return parts
}

/** Returns such frames with the plaintext of parts as they came. */
export function withoutKept(frames: Uint8Array): Uint8Array {
  const parts = fitted(readParts(frames), () => false)
  const plain = new Uint8Array(framesLength(parts.map(bodyOf)))
  writeParts(plain, 0, parts)
  return plain
}

/** Returns the flag of a message all of whose parts are sent plain, or tried; otherwise 0. */
export function formFlagOf(message: readonly AnyPart[] | undefined): number {
  const [first] = message ?? []
  if (!(first instanceof FormedPart) || first instanceof KeptPart) return 0
  return message?.every((part) => part instanceof FormedPart && part.flag === first.flag)
    ? first.flag
    : 0
}

/** Adds a flag to the frames of a message, in place. */
export function addFlag(frames: Uint8Array, flag: number): void {
  const head = new FrameHead()
  for (let at = 0; at < frames.length; ) {
    const start = head.read(frames, at)
    frames[at] = head.flags | flag
    at = start + head.bodyBytes
  }
}

function partOf(flags: number, body: Uint8Array): AnyPart {
  if (flags & KEPT) return new KeptPart(body)
  if (flags & PLAIN_FORM) return new PlainPart(body)
  return flags & TRIED_FORM ? new TriedPart(body) : body
}
