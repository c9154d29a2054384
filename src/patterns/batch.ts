import { Chunk } from "../codec/chunk.js"
import { outOfRange } from "../codec/errors.js"
import { countFrames, framesLength, MORE, PARTS_MAX, writeFrameHead } from "../codec/frames.js"
import type { PlainMessages } from "../codec/sender.js"
import { KEEPS_BYTES, type Slab, Slabs } from "../codec/slabs.js"
import { SENTINEL_BYTES } from "../codec/wire.js"
import type { OpenMemory, Waiting } from "../transport/transport.js"
import type { Message } from "./message.js"

/** Bytes at which a batch is encoded, unless the end of the program's current burst comes first. */
export const BATCH_BYTES: number = 64 * 1024
/** The same limit for a batch that several pipes share: each write costs a system call for each pipe. */
export const SHARED_BATCH_BYTES: number = 256 * 1024
/** Sizes of a new batch when no buffer is spare, and of the one that replaces it when it is full. */
const FIRST_BYTES = 4096
const MIDDLE_BYTES = 16 * 1024
/** The largest message that zeromq.js copies, in bytes; it keeps a reference to larger ones. */
const ZEROMQ_COPIED_MAX_BYTES = 128
/** Maximum number of spare buffers of each size. */
const SPARE_MAX = 32
const SPARE_LARGE_MAX = 4

const allocate = (bytes: number) => Buffer.allocUnsafeSlow(bytes)
const firstBuffers = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES, FIRST_BYTES)
const middleBuffers = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES, MIDDLE_BYTES)
const buffers = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES, BATCH_BYTES)
const largeBuffers = new Slabs(allocate, SPARE_LARGE_MAX, KEEPS_BYTES, SHARED_BATCH_BYTES)

/**
 * Returns the bytes that `message` takes on the wire if it is sent plain; its frames alone are
 * shorter.
 *
 * @throws RangeError with code ERR_OUT_OF_RANGE if it has more parts than receivers accept.
 */
export function plainLength(message: Message): number {
  if (message.length > PARTS_MAX)
    throw outOfRange(
      `a message of ${message.length} parts, with those that the socket type adds; at most ${PARTS_MAX} are allowed`,
    )
  return framesLength(message, SENTINEL_BYTES)
}

export function areBelow(message: Message, bytes: number): boolean {
  for (let i = 0; i < message.length; i++)
    if ((message[i] as Uint8Array).length >= bytes) return false
  return true
}

/**
 * Messages that will be encoded together. Plain messages need no encoding: as long as every message
 * appended is plain, they are stored in wire form. From the first other message on, all are stored
 * as plain frames.
 */
export class Batch implements PlainMessages {
  #buffer: Uint8Array
  /** The slab that owns the buffer, unless `#memory` does. */
  #slab: Slab | undefined
  length = 0
  count = 0
  /** Number of messages in wire form; `#plainEnd` is the end of their bytes. */
  messages = 0
  plainBytes = 0
  wireBytes = 0
  #plainEnd = 0
  readonly #plainBelow: number
  /**
   * The latest large message. As in zeromq.js, a queued message keeps the caller's memory alive; it
   * is not read again.
   */
  protected latest: Message | undefined
  readonly maxBytes: number
  readonly #memory: OpenMemory | undefined
  /** Bytes that had left when the batch was sealed. */
  #flushed: number | undefined

  /**
   * @param plainBelow messages are sent plain if all their parts are smaller than this, in bytes.
   * @param memory holds plain frames only, which may leave early.
   */
  constructor(plainBelow: number, bytes: number = BATCH_BYTES, memory?: OpenMemory) {
    this.#plainBelow = memory ? 0 : plainBelow
    this.#memory = memory
    if (memory) {
      this.#buffer = memory.bytes
      this.maxBytes = memory.bytes.length
      return
    }
    this.maxBytes = bytes
    if (bytes > BATCH_BYTES) this.#slab = largeBuffers.take()
    else this.#slab = largestSpare().take()
    this.#buffer = this.#slab.bytes
  }

  /** The messages in wire form. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#plainEnd)
  }

  /** The messages and bytes that have not left yet. */
  get waiting(): Waiting {
    const flushed = this.#memory?.flushed ?? 0
    const bytes = this.length - flushed
    if (flushed === 0) return { messages: this.count, bytes }
    return { messages: countFrames(this.#buffer.subarray(flushed, this.length)).messages, bytes }
  }

  /** Stops messages from leaving early, and returns the frames that have not left. */
  seal(): Uint8Array {
    this.#flushed ??= this.#memory?.seal() ?? 0
    return this.#buffer.subarray(this.#flushed + this.#plainEnd, this.length)
  }

  /** Appends a message. `bytes` is its `plainLength`. */
  append(message: Message, bytes: number): void {
    if (this.length + bytes > this.#buffer.length) this.#grow(this.length + bytes)
    const plainBelow = this.#plainEnd === this.length ? this.#plainBelow : 0
    const isPlain = plainBelow > 0 && areBelow(message, plainBelow)
    const sentinelBytes = isPlain ? SENTINEL_BYTES : 0
    const buffer = this.#buffer
    let at = this.length
    const last = message.length - 1
    for (let i = 0; i <= last; i++) {
      const part = message[i] as Uint8Array
      const { length } = part // once: a view of growable memory gets longer at any time
      at = writeFrameHead(buffer, at, i < last ? MORE : 0, sentinelBytes + length)
      if (isPlain) {
        buffer[at++] = 0
        buffer[at++] = 0
        buffer[at++] = 0
        buffer[at++] = 0
        this.plainBytes += length
        this.wireBytes += SENTINEL_BYTES + length
      }
      buffer.set(part, at)
      at += length
    }
    this.length = at
    this.count++
    if (isPlain) {
      this.#plainEnd = at
      this.messages++
    }
    this.#memory?.publish(at)
    if (bytes > ZEROMQ_COPIED_MAX_BYTES) this.latest = message
  }

  /**
   * Returns the messages in wire form as a chunk, which takes over their memory. Call only when
   * there are no other messages.
   */
  takeChunk(): Chunk {
    const slab = this.#slab as Slab
    this.#slab = undefined
    slab.live++
    const content = {
      messages: this.messages,
      plainBytes: this.plainBytes,
      wireBytes: this.wireBytes,
      dictionary: undefined,
      packing: "parts" as const,
    }
    return new Chunk(this.bytes, content, slab, 0)
  }

  /** Returns the buffer to its pool, unless a chunk took it over. */
  release(): void {
    if (this.#memory) {
      this.seal()
      this.#memory.close(this.length)
    }
    if (this.#slab) this.#giveBack(this.#slab)
    this.length = 0
  }

  #grow(bytes: number): void {
    const larger = this.#larger(bytes)
    larger.bytes.set(this.#buffer.subarray(0, this.length))
    if (this.#slab) this.#giveBack(this.#slab)
    this.#slab = larger
    this.#buffer = larger.bytes
  }

  #larger(bytes: number): Slab {
    if (bytes <= MIDDLE_BYTES) return middleBuffers.take()
    return bytes <= BATCH_BYTES ? buffers.take() : buffers.make(bytes)
  }

  #giveBack(slab: Slab): void {
    slab.slabs.emptied(slab)
    this.#slab = undefined
  }
}

/** Returns the buffers for a new batch: the largest of which one is spare, or the smallest. */
function largestSpare(): Slabs {
  if (buffers.spare > 0) return buffers
  return middleBuffers.spare > 0 ? middleBuffers : firstBuffers
}
