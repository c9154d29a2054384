import { CollectedBody } from "../base/collected-body.js"
import { EXTRACTED_MIN_BYTES } from "../base/limits.js"
import {
  COMMAND,
  FrameHead,
  KEPT,
  LONG,
  LONG_HEAD_BYTES,
  MORE,
  StreamHead,
} from "../codec/frames.js"
import type { FrameSink } from "./frame-reader.js"
import { ownMemory } from "./untransferable.js"

/** Maximum bytes that are passed on at once: a large part is passed on as far as its sink has room. */
const RELAYED_MAX_BYTES = 2 << 20
/** Maximum number of frames that are read at once, because a few bytes can be very many. */
const FRAMES_MAX = 4096

/** A consumer of frames that passes them on to be split into messages elsewhere. */
export interface RelaySink extends FrameSink {
  /** Number of messages that the sink has room for; at least one is passed in any case. */
  readonly room: number
  /**
   * Takes a piece of the frames of messages, in which `frames` frames begin and `messages` messages
   * end. Commands go to `frame`. Returns whether to go on now.
   */
  frames(piece: Uint8Array, messages: number, frames: number): boolean
  /** Takes ownership of a frame's large body, which shares no memory. Returns whether to go on now. */
  body(flags: number, body: Buffer): boolean
}

/**
 * Passes on a stream of ZMTP frames (RFC.md section 3.3; ZMTP 3.1), whose heads have been checked,
 * without splitting it into messages. Commands and large bodies are extracted.
 */
export class FrameRelay {
  readonly #head = new StreamHead()
  readonly #nextHead = new FrameHead()
  /** Bytes not yet received of a body that is passed on in pieces. */
  #left = 0
  /** Whether the current frame is extracted, and whether its body is being collected. */
  #isApart = false
  #isCollecting = false
  readonly #body = new CollectedBody(ownMemory)

  /** Bytes missing of the body that is being collected; 0 if there is none. */
  get missingBytes(): number {
    return this.#isCollecting ? this.#body.missingBytes : 0
  }

  /** Size of the current body. */
  get bodyBytes(): number {
    return this.#head.bodyBytes
  }

  /** Returns where the next bytes of that body go, for `landed()`. Call only if some are missing. */
  bodyRoom(): Buffer {
    return this.#body.room()
  }

  /** Goes on after bytes were read into that room. */
  landed(bytes: number, sink: RelaySink): void {
    this.#body.landed(bytes)
    if (this.#body.missingBytes === 0) this.#finish(sink)
  }

  /** Reads bytes from `start` on. Returns the position where the sink stopped, or this, or the end. */
  read(all: Uint8Array, start: number, sink: RelaySink): number {
    const end = Math.min(all.length, start + RELAYED_MAX_BYTES)
    const bytes = end < all.length ? all.subarray(0, end) : all
    const head = this.#head
    let { room } = sink
    let from = start
    let at = start
    let messages = 0
    let frames = 0
    let read = 0
    while (at < end && read < FRAMES_MAX) {
      if (this.#isCollecting) at = this.#body.collect(bytes, at)
      else if (this.#left > 0) {
        const taken = Math.min(this.#left, end - at)
        this.#left -= taken
        at += taken
        if (this.#left > 0) break
      } else {
        if (!head.isIncomplete) {
          this.#isApart = this.#goesApart(bytes, at)
          if (this.#isApart && at > from) {
            if (!sink.frames(bytes.subarray(from, at), messages, frames)) return at
            room = sink.room
            messages = 0
            frames = 0
            from = at
          }
        }
        try {
          at = this.#readHead(bytes, at, sink)
        } catch (error) {
          if (at > from) sink.frames(bytes.subarray(from, at), messages, frames)
          throw error
        }
        if (this.#isApart) from = at
        if (head.isIncomplete) break
        read++
        if (!this.#isApart) frames++
        if (this.#left > 0) continue
      }
      if (this.#isApart) {
        from = at
        if (this.#body.missingBytes > 0) continue
        if (!this.#finish(sink)) return at
        room = sink.room
      } else if (!(head.flags & MORE)) {
        if (++messages >= room) break
      }
    }
    if (at > from) sink.frames(bytes.subarray(from, at), messages, frames)
    return at
  }

  /** Returns whether the frame at `at` is extracted. Not if a chunk ends within a large one's head. */
  #goesApart(bytes: Uint8Array, at: number): boolean {
    const flags = bytes[at] as number
    if (flags & COMMAND) return true
    if (!(flags & LONG) || at + LONG_HEAD_BYTES > bytes.length) return false
    this.#nextHead.read(bytes, at)
    return this.#nextHead.bodyBytes >= EXTRACTED_MIN_BYTES
  }

  /** Reads a head, or a part of one. */
  #readHead(bytes: Uint8Array, start: number, sink: RelaySink): number {
    const at = this.#head.readNext(bytes, start)
    if (this.#head.isIncomplete) return at
    const { flags, bodyBytes } = this.#head
    sink.head(flags, bodyBytes)
    this.#isCollecting = this.#isApart
    if (this.#isApart) this.#body.begin(bodyBytes)
    else this.#left = bodyBytes
    return at
  }

  #finish(sink: RelaySink): boolean {
    this.#isCollecting = false
    const body = this.#body.take()
    const { flags } = this.#head
    return flags & COMMAND ? sink.frame(flags, body) : sink.body(flags & (MORE | KEPT), body)
  }
}
