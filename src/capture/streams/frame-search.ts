import { areFlags, COMMAND, FrameHead, LONG, MORE, SHORT_MAX_BYTES } from "../../codec/frames.js"
import { EXPANSION_MAX, HEAD_BYTES } from "../../codec/lz4/wire.js"
import {
  ARENA_HEAD_BYTES,
  ARENA_PART_MAX_BYTES,
  DICTIONARY_MAX_BYTES,
  SENTINEL_BYTES,
} from "../../codec/wire.js"
import { MESSAGE_EXTRA_BYTES } from "../../curve/cipher.js"
import { commandName, isKnownCommand } from "../../zmtp/commands.js"
import type { Time } from "../events.js"
import { kindOf } from "./messages.js"

/**
 * Finds frames after a header was missed. It looks for a run of frames, each of which begins where
 * the previous one ends, with enough evidence in total.
 *
 * A weight says how unlikely a frame is to appear by chance. A sentinel that is not zero, or the
 * name of a command, takes 32 bits to guess besides flags and length. Zeros and small lengths are
 * common in data of all kinds. A run must reach ENOUGH, which takes two frames of the first kind,
 * or eight plain parts with text in them, or sixteen short frames of plain ZMTP. HALF is enough if
 * a run ends exactly where the bytes do, or continues beyond them.
 */
const ENOUGH = 16
const HALF = 8
const EXACT_END = 5
const STRONG = 8
const LONG_FRAME = 4
const SHORT_PLAIN = 2
const SHORT_FRAME = 1
const IMPOSSIBLE = -1

/** Limits a run whose frames have no weight. */
const RUN_MAX_FRAMES = 64
/** Maximum bytes over which a run is followed. About as many are kept during a search. */
const SIGHT_BYTES = 256 * 1024
/** Memory of an extent in bytes. */
const EXTENT_BYTES = 64
/** Smaller memory is not worth freeing. */
const SMALL_BYTES = 1024
/** Bytes of a body that are read to recognise it. */
const PEEK_BYTES = 16
/** Longer commands are allowed, but far too rare to be evidence. */
const LIKELY_COMMAND_MAX_BYTES = 64 * 1024
/** Longer frames are allowed, but far too rare, while other protocols are full of such numbers. */
const LENGTH_MAX_BYTES = 2 ** 32
const DICTIONARY_PART_MAX_BYTES = SENTINEL_BYTES + DICTIONARY_MAX_BYTES
/** A frame of Zstandard has a sentinel, a header that states the size, and a block. */
const ZSTD_PART_MIN_BYTES = 9

type Verdict = "frames" | "no frames" | "unknown"

/** Bytes that are contiguous in the file. */
export interface Extent {
  bytes: Uint8Array
  offset: number
  time: Time
}

/** The evidence that is required. */
export interface Expectation {
  /** Whether parts must begin with a sentinel. */
  sentinels: boolean
  /** Whether there must be a message: with commands only, the connection may be of another protocol. */
  messages: boolean
}

/** Keeps bytes until it finds where frames begin in them. */
export class FrameSearch {
  #bytes = new Uint8Array(0)
  #start = 0
  #end = 0
  /** Offsets in the file by position; positions count from the first push. */
  readonly #extents: { position: number; offset: number; time: Time }[] = []
  #firstExtent = 0
  /** The position of #start. */
  #position = 0
  /** Where the search began, and the bytes skipped since. */
  offset = 0
  skipped = 0
  /** Whether the reason for the search has been reported. */
  isTold = false

  get length(): number {
    return this.#end - this.#start
  }

  /** The memory in use, in bytes. */
  get heldBytes(): number {
    return this.#bytes.length + EXTENT_BYTES * this.#extents.length
  }

  /** Begins at an offset, after which bytes are skipped already. */
  begin(offset: number, skipped: number, isTold: boolean): void {
    this.offset = offset
    this.skipped = skipped
    this.isTold = isTold
  }

  /** Skips all bytes, and frees their memory. */
  drop(): void {
    this.skipped += this.length
    this.advance(this.length)
    this.#bytes = new Uint8Array(0)
  }

  push(bytes: Uint8Array, offset: number, time: Time): void {
    if (bytes.length === 0) return
    const position = this.#position + this.length
    const last = this.#extents.at(-1)
    // Bytes that are contiguous with the last ones need no entry of their own.
    if (!last || last.time !== time || last.offset + (position - last.position) !== offset)
      this.#extents.push({ position, offset, time })
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /**
   * Skips bytes that are not frames. Returns whether a frame begins now; if not, more bytes are
   * needed. If `final` is set, there are no more, and the rest is skipped.
   */
  find(expectation: Expectation, final: boolean): boolean {
    const bytes = this.#bytes
    const end = this.#end
    let at = this.#start
    let verdict: Verdict = "unknown"
    for (; at < end; at++) {
      // The hot loop of a search: most bytes cannot be flags.
      if ((bytes[at] as number) > (MORE | LONG | COMMAND)) continue
      verdict = judge(bytes, at, end, expectation, final)
      if (verdict !== "no frames") break
    }
    this.skipped += at - this.#start
    this.advance(at - this.#start)
    return at < end && verdict === "frames"
  }

  /** Frees memory that is no longer needed. Most connections keep few bytes. */
  compact(): void {
    if (this.#bytes.length <= 4 * this.length + SMALL_BYTES) return
    this.#bytes = this.#bytes.slice(this.#start, this.#end)
    this.#end -= this.#start
    this.#start = 0
  }

  /** Returns the next bytes that are contiguous in the file. */
  next(): Extent {
    while ((this.#extents[this.#firstExtent + 1]?.position ?? Infinity) <= this.#position)
      this.#firstExtent++
    const extent = this.#extents[this.#firstExtent] as {
      position: number
      offset: number
      time: Time
    }
    const extentEnd = this.#extents[this.#firstExtent + 1]?.position ?? Infinity
    const end = Math.min(this.#end, this.#start + (extentEnd - this.#position))
    const { time } = extent
    const offset = extent.offset + (this.#position - extent.position)
    return { bytes: this.#bytes.subarray(this.#start, end), offset, time }
  }

  /** Removes bytes from the front. */
  advance(bytes: number): void {
    this.#start += bytes
    this.#position += bytes
    if (this.#start < this.#end) return
    this.#start = this.#end = 0
    this.#extents.length = 0
    this.#firstExtent = 0
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return
    const { length } = this
    const kept = this.#bytes.subarray(this.#start, this.#end)
    // Only move bytes if half the room is free. Otherwise they would be moved over and over.
    const fits = length + more <= this.#bytes.length / 2
    const target = fits ? this.#bytes : new Uint8Array(2 * (length + more))
    target.set(kept)
    this.#bytes = target
    this.#start = 0
    this.#end = length
    this.#extents.splice(0, this.#firstExtent)
    this.#firstExtent = 0
  }
}

/** Returns whether frames begin at a position. */
function judge(
  bytes: Uint8Array,
  start: number,
  end: number,
  { sentinels, messages }: Expectation,
  final: boolean,
): Verdict {
  const head = new FrameHead()
  let weight = 0
  let seen = !messages
  let at = start
  const enough = (minWeight: number): Verdict =>
    seen && weight >= minWeight ? "frames" : "no frames"
  for (let frame = 0; frame < RUN_MAX_FRAMES; frame++) {
    if (at === end && final) return enough(HALF - EXACT_END)
    if (at - start > SIGHT_BYTES) return enough(HALF)
    if (at >= end) return final ? enough(HALF) : "unknown"

    const bodyStart = head.read(bytes, at)
    const { flags, bodyBytes: length } = head
    if (!areFlags(flags)) return "no frames"
    if (bodyStart > end) return final ? enough(HALF) : "unknown"
    if (flags & LONG && (length <= SHORT_MAX_BYTES || length > LENGTH_MAX_BYTES)) return "no frames"
    const peeked = Math.min(length, PEEK_BYTES)
    if (bodyStart + peeked > end) return final ? enough(HALF) : "unknown"

    const worth = weigh(bytes, bodyStart, flags, length, sentinels)
    if (worth === IMPOSSIBLE) return "no frames"
    weight += worth
    if (!(flags & COMMAND) && worth > 0) seen = true
    if (seen && weight >= ENOUGH) return "frames"
    at = bodyStart + length
  }
  return "no frames"
}

/** Returns the weight of a frame as evidence. */
function weigh(
  bytes: Uint8Array,
  at: number,
  flags: number,
  length: number,
  sentinels: boolean,
): number {
  if (flags & COMMAND) {
    const name = commandName(bytes.subarray(at, at + Math.min(length, PEEK_BYTES)))
    return length <= LIKELY_COMMAND_MAX_BYTES && isKnownCommand(name) ? STRONG : IMPOSSIBLE
  }
  const kind = length >= SENTINEL_BYTES ? kindOf(bytes, at) : "none"
  switch (kind) {
    case "LZ4B":
    case "LZ4M":
      return isPlausible(bytes, at, length) ? STRONG : IMPOSSIBLE
    case "ZSTD":
      return length >= ZSTD_PART_MIN_BYTES ? STRONG : IMPOSSIBLE
    case "LZ4D":
    case "ZDICT":
      return !(flags & MORE) && length > SENTINEL_BYTES && length <= DICTIONARY_PART_MAX_BYTES
        ? STRONG
        : IMPOSSIBLE
    case "LZ4A":
    case "ZSTA":
      return !(flags & MORE) && length > ARENA_HEAD_BYTES && length <= ARENA_PART_MAX_BYTES
        ? STRONG
        : IMPOSSIBLE
    case "plain":
      // Zeros after zeros are no evidence, because tables of numbers are full of them.
      if (length === SENTINEL_BYTES || bytes[at + SENTINEL_BYTES] === 0) return 0
      return flags & LONG ? STRONG : SHORT_PLAIN
    case "none":
      if (isMessage(bytes, at, length)) return ENOUGH
      if (sentinels) return IMPOSSIBLE
      if (length > 0) return flags & LONG ? LONG_FRAME : SHORT_FRAME
      // A delimiter. Without MORE, a run of zeros looks the same.
      return flags & MORE ? 0 : IMPOSSIBLE
  }
}

/** Returns whether a body is a MESSAGE of CURVE, whose name takes 64 bits to guess. */
const isMessage = (bytes: Uint8Array, at: number, length: number): boolean =>
  length >= MESSAGE_EXTRA_BYTES && commandName(bytes.subarray(at, at + PEEK_BYTES)) === "MESSAGE"

/** Returns whether a part of this length can have the plain size that it declares. */
function isPlausible(bytes: Uint8Array, at: number, length: number): boolean {
  if (length <= HEAD_BYTES) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const plain = view.getBigUint64(at + SENTINEL_BYTES, true)
  return plain <= BigInt(EXPANSION_MAX) * BigInt(length - HEAD_BYTES)
}
