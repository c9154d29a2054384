import { LONG, LONG_HEAD_BYTES, SHORT_HEAD_BYTES } from "../codec/frames.js"
import { copyShared } from "../codec/shared-copy.js"

/**
 * Small bodies are copied together: a slab costs one allocation and one copy. A message keeps
 * the slab it is in alive, so slabs are no larger than Node's own pool.
 */
const SLAB_MAX_BYTES = 8192
/** A sink that stops gets small slabs: what it does not take is copied again. */
const SLAB_MIN_BYTES = 256
const SMALL_MAX_BYTES = 2048
/** A body that comes in pieces has room for this many bytes at least, and so many times what has come. */
const BODY_ROOM_BYTES = 64 * 1024
const BODY_GROWTH = 4

const EMPTY = Buffer.alloc(0)

export interface FrameSink {
  /** Takes a frame whose body is the sink's to keep. Returns whether it wants the next one now. */
  frame(flags: number, body: Buffer): boolean
  /** Checks the head of a frame before anything is kept of its body; throws to refuse it. */
  head(flags: number, bodyBytes: number): void
}

/**
 * Cuts a stream of ZMTP frames, whose heads have been checked, into frames. Chunks may end
 * anywhere; nothing is allocated on the word of a head alone.
 */
export class FrameReader {
  /** The head of a frame that is cut, as far as it came. */
  #head: number[] | undefined
  #flags = 0
  /** Bytes of a body that is being collected; -1 between frames. */
  #length = -1
  #body: Buffer = EMPTY
  #filled = 0
  #slabBytes = SLAB_MAX_BYTES

  /** Whether a frame has begun and not ended. */
  get insideFrame(): boolean {
    return this.#length >= 0 || this.#head !== undefined
  }

  /**
   * Reads `bytes` from `start`; returns where the sink had enough, or their end. Where they are
   * `copied`, nobody else uses them, and one that is a whole body is not copied.
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

  /** Reads the small frames at `at`, of which the first is whole. A negative end: the sink had enough. */
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
      // Bounded by what has come, whatever the head says.
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
 * A length of 64 bits; exact below 2^53. frameBodyBytes gives it as well, but reads the flags, which
 * are known here for every frame, once more.
 */
function readLength(bytes: ArrayLike<number>, at: number): number {
  let length = 0
  for (let i = at; i < at + 8; i++) length = length * 256 + (bytes[i] as number)
  return length
}
