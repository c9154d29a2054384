import { LONG, LONG_HEAD_BYTES, SHORT_HEAD_BYTES } from "../codec/frames.js"
import { copyShared } from "../codec/shared-copy.js"

/**
 * Size of the slab that small bodies are copied to together, which takes a single allocation and
 * copy. A message keeps its slab alive, so slabs are no larger than Node's own pool.
 */
const SLAB_MAX_BYTES = 8192
/** Size of the slab for a sink that stops reading: the frames that it does not take are copied again. */
const SLAB_MIN_BYTES = 256
const SMALL_MAX_BYTES = 2048
/** Minimum room for a body that arrives in pieces, and the factor by which the room grows. */
const BODY_ROOM_BYTES = 64 * 1024
const BODY_GROWTH = 4

const EMPTY = Buffer.alloc(0)

export interface FrameSink {
  /** Takes ownership of a frame's body. Returns whether to go on with the next frame now. */
  frame(flags: number, body: Buffer): boolean
  /** Checks the head of a frame before any of its body is kept. Throws to refuse the frame. */
  head(flags: number, bodyBytes: number): void
}

/**
 * Splits a stream of ZMTP frames, whose heads have been checked, into frames. Chunks may end
 * anywhere. A head alone never causes an allocation of the size that it declares.
 */
export class FrameReader {
  /** The bytes received so far of an incomplete head. */
  #head: number[] | undefined
  #flags = 0
  /** Length of the body being collected; -1 between frames. */
  #length = -1
  #body: Buffer = EMPTY
  #filled = 0
  #slabBytes = SLAB_MAX_BYTES

  /** Whether a frame is incomplete. */
  get insideFrame(): boolean {
    return this.#length >= 0 || this.#head !== undefined
  }

  /**
   * Reads `bytes` from `start` on. Returns the position where the sink stopped, or the end. If
   * `copied` is set, nobody else uses the bytes, so a piece that is a whole body is not copied.
   */
  read(bytes: Uint8Array, start: number, sink: FrameSink, copied = false): number {
    const end = bytes.length
    let at = start
    while (at < end) {
      if (this.#length >= 0) {
        at = this.#collect(bytes, at, copied)
        if (this.#filled < this.#length) return end
        if (!this.#finish(sink)) return at
        continue
      }
      if (this.#head !== undefined) {
        at = this.#completeHead(bytes, at, sink)
        if (this.#head !== undefined) return end
        if (this.#length === 0 && !this.#finish(sink)) return at
        continue
      }
      const flags = bytes[at] as number
      const left = end - at
      if (left < (flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES)) {
        this.#head = Array.from(bytes.subarray(at))
        return end
      }
      const bodyBytes = flags & LONG ? readLength(bytes, at + 1) : (bytes[at + 1] as number)
      const head = flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
      if (bodyBytes <= SMALL_MAX_BYTES && head + bodyBytes <= left) {
        const next = this.#slab(bytes, at, head + bodyBytes, sink)
        if (next < 0) return -next
        at = next
        continue
      }
      sink.head(flags, bodyBytes)
      this.#begin(flags, bodyBytes)
      at += head
      if (bodyBytes === 0 && !this.#finish(sink)) return at
    }
    return end
  }

  /**
   * Reads the small frames at `at`, the first of which is complete. Returns the position after
   * them, negated if the sink stopped there.
   */
  #slab(bytes: Uint8Array, at: number, firstBytes: number, sink: FrameSink): number {
    const window = Math.min(bytes.length - at, Math.max(this.#slabBytes, firstBytes))
    this.#slabBytes = Math.min(2 * this.#slabBytes, SLAB_MAX_BYTES)
    const slab = Buffer.allocUnsafeSlow(window)
    copyShared(slab, 0, window === bytes.length ? bytes : bytes.subarray(at, at + window))
    let read = 0
    for (;;) {
      if (window - read < SHORT_HEAD_BYTES) return at + read
      const flags = slab[read] as number
      let start: number
      let bodyBytes: number
      if (flags & LONG) {
        if (window - read < LONG_HEAD_BYTES) return at + read
        bodyBytes = readLength(slab, read + 1)
        start = read + LONG_HEAD_BYTES
      } else {
        bodyBytes = slab[read + 1] as number
        start = read + SHORT_HEAD_BYTES
      }
      const stop = start + bodyBytes
      if (bodyBytes > SMALL_MAX_BYTES || stop > window) return at + read
      read = stop
      sink.head(flags, bodyBytes)
      const body = bodyBytes === 0 ? EMPTY : slab.subarray(start, stop)
      if (!sink.frame(flags & ~LONG, body)) {
        this.#slabBytes = Math.min(Math.max(2 * read, SLAB_MIN_BYTES), SLAB_MAX_BYTES)
        return -(at + read)
      }
    }
  }

  #completeHead(bytes: Uint8Array, start: number, sink: FrameSink): number {
    const head = this.#head as number[]
    let at = start
    for (;;) {
      const flags = head[0] as number
      const headBytes = flags & LONG ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES
      if (head.length === headBytes) {
        this.#head = undefined
        const bodyBytes = flags & LONG ? readLength(head, 1) : (head[1] as number)
        sink.head(flags, bodyBytes)
        this.#begin(flags, bodyBytes)
        return at
      }
      if (at === bytes.length) return at
      head.push(bytes[at++] as number)
    }
  }

  #begin(flags: number, bodyBytes: number): void {
    this.#flags = flags & ~LONG
    this.#length = bodyBytes
    this.#filled = 0
  }

  #collect(bytes: Uint8Array, at: number, copied: boolean): number {
    if (copied && at === 0 && this.#filled === 0 && bytes.length === this.#length) {
      this.#body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      this.#filled = bytes.length
      return bytes.length
    }
    const take = Math.min(bytes.length - at, this.#length - this.#filled)
    const filled = this.#filled + take
    if (filled > this.#body.length) {
      // Bounded by the bytes received, whatever the head declares.
      const room = Math.max(BODY_ROOM_BYTES, BODY_GROWTH * filled)
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#length, room))
      larger.set(this.#body.subarray(0, this.#filled))
      this.#body = larger
    }
    const whole = at === 0 && take === bytes.length
    copyShared(this.#body, this.#filled, whole ? bytes : bytes.subarray(at, at + take))
    this.#filled = filled
    return at + take
  }

  #finish(sink: FrameSink): boolean {
    const body = this.#body
    this.#body = EMPTY
    this.#length = -1
    return sink.frame(this.#flags, body)
  }
}

/**
 * Reads a 64-bit length, exact below 2^53. frameBodyBytes does this too, but would read the flags
 * again for every frame.
 */
function readLength(bytes: ArrayLike<number>, at: number): number {
  let length = 0
  for (let i = at; i < at + 8; i++) length = length * 256 + (bytes[i] as number)
  return length
}
