import { LONG, StreamHead } from "../codec/frames.js"
import { copyShared } from "../codec/shared-copy.js"

/**
 * Size of the slab that small bodies are copied to together, which takes a single allocation and
 * copy. A message keeps its slab alive, so slabs are no larger than Node's own pool.
 */
const SLAB_MAX_BYTES = 8192
/** Minimum size for a sink that stops often, because the frames that it leaves are copied again. */
const SLAB_MIN_BYTES = 256
const SMALL_MAX_BYTES = 2048
/** Minimum room for a body that arrives in pieces, and the factor by which the room grows. */
const BODY_ROOM_BYTES = 64 * 1024
const BODY_GROWTH = 16

const EMPTY = Buffer.alloc(0)

export interface FrameSink {
  /** Takes ownership of a frame's body. Returns whether to go on with the next frame now. */
  frame(flags: number, body: Buffer): boolean
  /** Checks the head of a frame before any of its body is kept. Throws to refuse the frame. */
  head(flags: number, bodyBytes: number): void
}

/**
 * Splits a stream of ZMTP frames (RFC.md section 3.3; ZMTP 3.1), whose heads have been checked, into
 * frames. Chunks may end anywhere. A head alone never causes an allocation of the size that it
 * declares.
 */
export class FrameReader {
  readonly #head = new StreamHead()
  /** Whether the body of the frame is being collected. */
  #isInBody = false
  #body: Buffer = EMPTY
  #filled = 0
  #slabBytes = SLAB_MAX_BYTES

  /** Whether a frame is incomplete. */
  get insideFrame(): boolean {
    return this.#isInBody || this.#head.isIncomplete
  }

  /** Reads `bytes` from `start` on. Returns the position where the sink stopped, or the end. */
  read(bytes: Uint8Array, start: number, sink: FrameSink): number {
    const head = this.#head
    const end = bytes.length
    let at = start
    while (at < end) {
      if (this.#isInBody) {
        at = this.#collect(bytes, at)
        if (this.#filled < head.bodyBytes) return end
        if (!this.#finish(sink)) return at
        continue
      }
      if (!head.isIncomplete) {
        const stop = head.read(bytes, at) + head.bodyBytes
        if (stop <= end && head.bodyBytes <= SMALL_MAX_BYTES) {
          const next = this.#slab(bytes, at, stop - at, sink)
          if (next < 0) return -next
          at = next
          continue
        }
      }
      at = head.readNext(bytes, at)
      if (head.isIncomplete) return end
      sink.head(head.flags, head.bodyBytes)
      this.#isInBody = true
      this.#filled = 0
      if (head.bodyBytes === 0 && !this.#finish(sink)) return at
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
    const head = this.#head
    let read = 0
    while (read < window) {
      const start = head.read(slab, read)
      const { flags, bodyBytes } = head
      const stop = start + bodyBytes
      if (stop > window || bodyBytes > SMALL_MAX_BYTES) break
      read = stop
      sink.head(flags, bodyBytes)
      const body = bodyBytes === 0 ? EMPTY : slab.subarray(start, stop)
      if (!sink.frame(flags & ~LONG, body)) {
        this.#slabBytes = Math.min(Math.max(2 * read, SLAB_MIN_BYTES), SLAB_MAX_BYTES)
        return -(at + read)
      }
    }
    return at + read
  }

  #collect(bytes: Uint8Array, at: number): number {
    const length = this.#head.bodyBytes
    const take = Math.min(bytes.length - at, length - this.#filled)
    const filled = this.#filled + take
    if (filled > this.#body.length) {
      // Bounded by the bytes received, whatever the head declares.
      const room = Math.max(BODY_ROOM_BYTES, BODY_GROWTH * filled)
      const larger = Buffer.allocUnsafeSlow(Math.min(length, room))
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
    this.#isInBody = false
    return sink.frame(this.#head.flags & ~LONG, body)
  }
}
