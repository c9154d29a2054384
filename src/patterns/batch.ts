import { Chunk, type Slab, Slabs } from "../codec/chunk.js"
import { countFrames, frameHeadLength, MORE, writeFrameHead } from "../codec/frames.js"
import type { PlainMessages } from "../codec/sender.js"
import { SENTINEL_BYTES } from "../codec/wire.js"
import type { OpenMemory, Waiting } from "../transport/transport.js"
import type { Message } from "./message.js"

/** A batch is encoded when it has this many bytes, or when the current burst of the program ends. */
export const BATCH_BYTES: number = 64 * 1024
/** The same of a batch that goes to many: each write to each of them counts. */
export const SHARED_BATCH_BYTES: number = 256 * 1024
/** Bytes of a new batch when no spare buffer is left. */
const FIRST_BYTES = 4096
/** zeromq.js copies messages up to this size, and holds on to larger ones. */
const COPIED_MAX_BYTES = 128
/** Buffers of each size that are kept for use, at most. */
const SPARE_MAX = 32
const SPARE_LARGE_MAX = 4

/** A chunk of fewer bytes that has to wait is copied out of the buffer that it was made in. */
const KEEPS_BYTES = 32 * 1024

const allocate = (bytes: number) => Buffer.allocUnsafeSlow(bytes)
const firstBuffers = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES, FIRST_BYTES)
const buffers = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES, BATCH_BYTES)
const largeBuffers = new Slabs(allocate, SPARE_LARGE_MAX, KEEPS_BYTES, SHARED_BATCH_BYTES)

/** Returns the bytes of a message on the wire if it goes plain; its frames are shorter. */
export function plainLength(message: Message): number {
  let length = 0
  for (let i = 0; i < message.length; i++) {
    const bytes = SENTINEL_BYTES + (message[i] as Uint8Array).length
    length += frameHeadLength(bytes) + bytes
  }
  return length
}

/** Whether all parts of a message have fewer bytes than that. */
export function areBelow(message: Message, bytes: number): boolean {
  for (let i = 0; i < message.length; i++)
    if ((message[i] as Uint8Array).length >= bytes) return false
  return true
}

/**
 * Messages that wait to be encoded together. Those that go plain need not be encoded: they are
 * written as they go over the wire, up to the first that may not. The others follow as plain frames.
 */
export class Batch implements PlainMessages {
  #buffer: Uint8Array
  /** The owner of the buffer, if that is not `memory`. */
  #slab: Slab | undefined
  length = 0
  /** All messages that were appended. */
  count = 0
  /** Those in wire form, and where they end. */
  messages = 0
  plainBytes = 0
  wireBytes = 0
  #plainEnd = 0
  readonly #plainBelow: number
  /** As in zeromq.js, a large message that waits keeps the program's memory alive, though not for use. */
  protected latest: Message | undefined
  /** The bytes that it may grow to. */
  readonly maxBytes: number
  readonly #memory: OpenMemory | undefined
  /** Bytes that had left by themselves when it was sealed. */
  #left: number | undefined

  /**
   * @param plainBelow messages go plain if all their parts have fewer bytes.
   * @param memory from which messages may leave by themselves; all are plain frames there.
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
    else this.#slab = (buffers.spare > 0 ? buffers : firstBuffers).take()
    this.#buffer = this.#slab.bytes
  }

  /** Those in wire form. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#plainEnd)
  }

  /** What has not left by itself. */
  get waiting(): Waiting {
    const left = this.#memory?.left ?? 0
    const bytes = this.length - left
    if (left === 0) return { messages: this.count, bytes }
    return { messages: countFrames(this.#buffer.subarray(left, this.length)).messages, bytes }
  }

  /** The frames that have not left; none leaves by itself any more. */
  seal(): Uint8Array {
    this.#left ??= this.#memory?.seal() ?? 0
    return this.#buffer.subarray(this.#left + this.#plainEnd, this.length)
  }

  /** Appends a message that takes so many bytes if it goes plain. */
  append(message: Message, bytes: number): void {
    if (this.length + bytes > this.#buffer.length) this.#grow(this.length + bytes)
    const isPlain = this.#plainEnd === this.length && areBelow(message, this.#plainBelow)
    const sentinelBytes = isPlain ? SENTINEL_BYTES : 0
    const buffer = this.#buffer
    let at = this.length
    const last = message.length - 1
    for (let i = 0; i <= last; i++) {
      const part = message[i] as Uint8Array
      at = writeFrameHead(buffer, at, i < last ? MORE : 0, sentinelBytes + part.length)
      if (isPlain) {
        buffer[at++] = 0
        buffer[at++] = 0
        buffer[at++] = 0
        buffer[at++] = 0
        this.plainBytes += part.length
        this.wireBytes += SENTINEL_BYTES + part.length
      }
      buffer.set(part, at)
      at += part.length
    }
    this.length = at
    this.count++
    if (isPlain) {
      this.#plainEnd = at
      this.messages++
    }
    this.#memory?.publish(at)
    if (bytes > COPIED_MAX_BYTES) this.latest = message
  }

  /** A chunk of the messages in wire form, with the memory that they are in; there are no others. */
  takeChunk(): Chunk {
    const slab = this.#slab as Slab
    this.#slab = undefined
    slab.live++
    const content = {
      messages: this.messages,
      plainBytes: this.plainBytes,
      wireBytes: this.wireBytes,
      shipsDictionary: false,
      needsDictionary: false,
      packing: "parts" as const,
    }
    return new Chunk(this.bytes, content, slab, 0)
  }

  /** Gives the buffer back, unless a chunk has it. */
  release(): void {
    if (this.#memory) {
      this.seal()
      this.#memory.close(this.length)
    }
    this.#giveBack()
    this.length = 0
  }

  #grow(bytes: number): void {
    const size = Math.max(bytes, Math.min(2 * this.#buffer.length, this.maxBytes))
    const larger = size === BATCH_BYTES ? buffers.take() : buffers.make(size)
    larger.bytes.set(this.#buffer.subarray(0, this.length))
    this.#giveBack()
    this.#slab = larger
    this.#buffer = larger.bytes
  }

  #giveBack(): void {
    this.#slab?.slabs.emptied(this.#slab)
    this.#slab = undefined
  }
}
