import { frameHeadLength, MORE, writeFrameHead } from "../codec/frames.js"
import type { OpenMemory } from "../transport/transport.js"
import type { Message } from "./pipe.js"

/** A batch is encoded when it has this many bytes, or when the current burst of the program ends. */
export const BATCH_BYTES: number = 64 * 1024
/** The same of a batch that goes to many: each write to each of them counts. */
export const SHARED_BATCH_BYTES: number = 256 * 1024
/** What a batch starts with when there is no buffer to spare. */
const FIRST_BYTES = 4096
/** zeromq.js copies messages up to this size, and holds on to larger ones. */
const COPIED_MAX_BYTES = 128
/** Buffers of each size that are kept for use, at most. */
const SPARE_MAX = 32
const SPARE_LARGE_MAX = 4

const spare: Buffer[] = []
const spareFirst: Buffer[] = []
const spareLarge: Buffer[] = []

/** Keeps a buffer for use if it has one of the sizes that batches start with, and few are kept already. */
function keep(buffer: Buffer): void {
  if (buffer.length === BATCH_BYTES && spare.length < SPARE_MAX) spare.push(buffer)
  else if (buffer.length === FIRST_BYTES && spareFirst.length < SPARE_MAX) spareFirst.push(buffer)
  else if (buffer.length === SHARED_BATCH_BYTES && spareLarge.length < SPARE_LARGE_MAX)
    spareLarge.push(buffer)
}

/** How many bytes the frames of a message take. */
export function framesLength(message: Message): number {
  let length = 0
  for (let i = 0; i < message.length; i++) {
    const { length: bytes } = message[i] as Uint8Array
    length += frameHeadLength(bytes) + bytes
  }
  return length
}

/** Messages that wait to be encoded together, as plain frames. */
export class Batch {
  #buffer: Buffer
  length = 0
  messages = 0
  /** As in zeromq.js, a large message that waits keeps the program's memory alive, though not for use. */
  protected latest: Message | undefined
  /** How long it may become. */
  readonly maxBytes: number
  readonly #memory: OpenMemory | undefined
  /** Bytes that had left by themselves when it was sealed. */
  #left: number | undefined

  /** @param memory from which messages may leave by themselves. */
  constructor(bytes: number = BATCH_BYTES, memory?: OpenMemory) {
    this.#memory = memory
    if (memory) {
      this.#buffer = memory.bytes
      this.maxBytes = memory.bytes.length
      return
    }
    this.maxBytes = bytes
    this.#buffer =
      bytes > BATCH_BYTES
        ? (spareLarge.pop() ?? Buffer.allocUnsafeSlow(bytes))
        : (spare.pop() ?? spareFirst.pop() ?? Buffer.allocUnsafeSlow(FIRST_BYTES))
  }

  /** The frames that have not left; none leaves by itself any more. */
  seal(): Uint8Array {
    this.#left ??= this.#memory?.seal() ?? 0
    return this.#buffer.subarray(this.#left, this.length)
  }

  /** Appends a message whose frames take so many bytes. */
  append(message: Message, bytes: number): void {
    if (this.length + bytes > this.#buffer.length) this.#grow(this.length + bytes)
    const buffer = this.#buffer
    let at = this.length
    const last = message.length - 1
    for (let i = 0; i <= last; i++) {
      const part = message[i] as Uint8Array
      at = writeFrameHead(buffer, at, i < last ? MORE : 0, part.length)
      buffer.set(part, at)
      at += part.length
    }
    this.length = at
    this.messages++
    this.#memory?.publish(at)
    if (bytes > COPIED_MAX_BYTES) this.latest = message
  }

  clear(): void {
    this.length = 0
    this.messages = 0
  }

  /** Gives the buffer back. */
  release(): void {
    if (this.#memory) {
      this.seal()
      this.#memory.close(this.length)
    } else keep(this.#buffer)
    this.clear()
  }

  #grow(bytes: number): void {
    const doubled = Math.min(2 * this.#buffer.length, this.maxBytes)
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, doubled))
    larger.set(this.#buffer.subarray(0, this.length))
    keep(this.#buffer)
    this.#buffer = larger
  }
}
