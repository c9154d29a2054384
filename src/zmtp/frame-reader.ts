import { CollectedBody } from "../base/collected-body.js"
import { copyShared } from "../base/copy-shared.js"
import { LONG, StreamHead } from "../codec/frames.js"
import { canShareMemory, markUntransferable, ownMemory } from "./untransferable.js"

/**
 * Maximum size of a slab, to which small frames are copied together: a separate ArrayBuffer for each
 * body would cost more than all the rest.
 */
const SLAB_MAX_BYTES = 8192
/** Minimum size for a sink that stops often, because the frames that it leaves are copied again. */
const SLAB_MIN_BYTES = 256
/**
 * Maximum size of a slab in frames like its first one, unless that is very small: a body that the
 * program keeps also keeps the slab.
 */
const SLAB_FRAMES_MAX = 32
const SLAB_FRAMES_MIN_BYTES = 1024
/** Share of a slab that short frames leave free in front of them, for their bodies to move in. */
const SLAB_LEAD = 1 / 8
const SMALL_MAX_BYTES = 2048
/** Bodies begin at multiples of this, so that an array of numbers of any type can view them. */
const ALIGNMENT_BYTES = 8

/** The class that Buffer.subarray() makes objects of. Its constructor takes half the time. */
const View = (
  Buffer as unknown as {
    [Symbol.species]: new (memory: ArrayBufferLike, start: number, length: number) => Buffer
  }
)[Symbol.species]

/** The memory of all empty bodies: one of its own would cost each more than all the rest. */
const NO_MEMORY = new ArrayBuffer(0)
if (canShareMemory) markUntransferable(NO_MEMORY)

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
  readonly #body = new CollectedBody(ownMemory)
  #slabBytes = SLAB_MAX_BYTES

  /** Whether a frame is incomplete. */
  get insideFrame(): boolean {
    return this.#isInBody || this.#head.isIncomplete
  }

  /** Bytes missing of the body that is being collected; 0 if there is none. */
  get missingBytes(): number {
    return this.#isInBody ? this.#body.missingBytes : 0
  }

  /** Size of the body that is being collected. */
  get bodyBytes(): number {
    return this.#head.bodyBytes
  }

  /** Returns where the next bytes of that body go. Call only if some are missing. */
  bodyRoom(): Buffer {
    return this.#body.room()
  }

  /** Goes on after bytes were read into the room. Returns whether to go on with the next frame now. */
  landed(bytes: number, sink: FrameSink): boolean {
    this.#body.landed(bytes)
    return this.#body.missingBytes > 0 || this.#finish(sink)
  }

  /** Reads `bytes` from `start` on. Returns the position where the sink stopped, or the end. */
  read(bytes: Uint8Array, start: number, sink: FrameSink): number {
    const head = this.#head
    const end = bytes.length
    let at = start
    while (at < end) {
      if (this.#isInBody) {
        at = this.#body.collect(bytes, at)
        if (this.#body.missingBytes > 0) return end
        if (!this.#finish(sink)) return at
        continue
      }
      if (!head.isIncomplete) {
        const body = head.read(bytes, at)
        const stop = body + head.bodyBytes
        if (stop <= end && head.bodyBytes <= SMALL_MAX_BYTES) {
          const window = this.#windowOf(stop - at, end - at)
          const next =
            window > 0 ? this.#slab(bytes, at, window, sink) : this.#copy(bytes, body, stop, sink)
          if (next < 0) return -next
          at = next
          continue
        }
      }
      at = head.readNext(bytes, at)
      if (head.isIncomplete) return end
      sink.head(head.flags, head.bodyBytes)
      this.#isInBody = true
      this.#body.begin(head.bodyBytes)
      if (head.bodyBytes === 0 && !this.#finish(sink)) return at
    }
    return end
  }

  /** Returns how many of `restBytes` share a slab with a small frame; 0 if its body gets its own. */
  #windowOf(frameBytes: number, restBytes: number): number {
    if (!canShareMemory || this.#head.bodyBytes === 0) return 0
    const wanted = Math.max(SLAB_FRAMES_MAX * frameBytes, SLAB_FRAMES_MIN_BYTES)
    const slabBytes = Math.min(wanted, this.#slabBytes)
    const most = this.#head.flags & LONG ? slabBytes : slabBytes * (1 - SLAB_LEAD)
    const window = Math.min(restBytes, most - (most % frameBytes))
    return window < 2 * frameBytes ? 0 : window
  }

  /** Reads the frame whose body is from `start` to `stop`. Returns the same as `#slab`. */
  #copy(bytes: Uint8Array, start: number, stop: number, sink: FrameSink): number {
    const { flags, bodyBytes } = this.#head
    sink.head(flags, bodyBytes)
    if (bodyBytes === 0 && canShareMemory)
      return sink.frame(flags & ~LONG, new View(NO_MEMORY, 0, 0)) ? stop : -stop
    const body = Buffer.allocUnsafeSlow(bodyBytes)
    copyShared(body, 0, bytes.subarray(start, stop))
    return sink.frame(flags & ~LONG, body) ? stop : -stop
  }

  /** Reads the small frames in `window`. Returns the position after them, negated if the sink stops. */
  #slab(bytes: Uint8Array, at: number, window: number, sink: FrameSink): number {
    this.#slabBytes = Math.min(2 * this.#slabBytes, SLAB_MAX_BYTES)
    // The heads of long frames leave enough room.
    const lead = this.#head.flags & LONG ? 0 : align(window * SLAB_LEAD)
    const slab = Buffer.allocUnsafeSlow(lead + window)
    const memory = slab.buffer
    markUntransferable(memory)
    copyShared(slab, lead, window === bytes.length ? bytes : bytes.subarray(at, at + window))
    const head = this.#head
    const end = slab.length
    const before = at - lead
    let read = lead
    let to = 0
    while (read < end) {
      const start = head.read(slab, read)
      const { flags, bodyBytes } = head
      const stop = start + bodyBytes
      // Bodies only move towards the front, where everything was read.
      if (stop > end || bodyBytes > SMALL_MAX_BYTES || to > start) break
      read = stop
      sink.head(flags, bodyBytes)
      slab.copyWithin(to, start, stop)
      const body = new View(memory, to, bodyBytes)
      to = align(to + bodyBytes)
      if (!sink.frame(flags & ~LONG, body)) {
        this.#slabBytes = Math.min(Math.max(2 * (read - lead), SLAB_MIN_BYTES), SLAB_MAX_BYTES)
        return -(before + read)
      }
    }
    return before + read
  }

  #finish(sink: FrameSink): boolean {
    this.#isInBody = false
    return sink.frame(this.#head.flags & ~LONG, this.#body.take())
  }
}

function align(bytes: number): number {
  return (bytes + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES
}
