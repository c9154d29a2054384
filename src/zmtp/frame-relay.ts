import { COMMAND, MORE, StreamHead } from "../codec/frames.js"
import type { FrameSink } from "./frame-reader.js"

/** Initial room for a command that arrives in pieces; it grows to four times the bytes received. */
const COMMAND_ROOM_BYTES = 4096
const COMMAND_GROWTH = 4
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
}

/**
 * Passes on a stream of ZMTP frames (RFC.md section 3.3; ZMTP 3.1), whose heads have been checked,
 * without splitting it into messages. Commands are extracted.
 */
export class FrameRelay {
  readonly #head = new StreamHead()
  /** Bytes of the current body not yet received. */
  #left = 0
  /** The bytes received so far of a command's body. */
  #command: Buffer | undefined
  #filled = 0

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
      if (this.#left === 0) {
        if (!head.isIncomplete && (bytes[at] as number) & COMMAND && at > from) {
          if (!sink.frames(bytes.subarray(from, at), messages, frames)) return at
          room = sink.room
          messages = 0
          frames = 0
          from = at
        }
        try {
          at = this.#readHead(bytes, at, sink)
        } catch (error) {
          if (at > from) sink.frames(bytes.subarray(from, at), messages, frames)
          throw error
        }
        if (head.flags & COMMAND) from = at
        if (head.isIncomplete) break
        read++
        if (!(head.flags & COMMAND)) frames++
        if (this.#left > 0) continue
      } else {
        at = this.#readBody(bytes, at)
        if (this.#command !== undefined) from = at
        if (this.#left > 0) break
      }
      if (this.#command !== undefined) {
        const command = this.#command
        this.#command = undefined
        if (!sink.frame(head.flags, command)) return at
      } else if (!(head.flags & MORE)) {
        if (++messages >= room) break
      }
    }
    if (at > from) sink.frames(bytes.subarray(from, at), messages, frames)
    return at
  }

  /** Reads a head, or a part of one. */
  #readHead(bytes: Uint8Array, start: number, sink: RelaySink): number {
    const at = this.#head.readNext(bytes, start)
    if (this.#head.isIncomplete) return at
    const { flags, bodyBytes } = this.#head
    sink.head(flags, bodyBytes)
    this.#left = bodyBytes
    if (flags & COMMAND) {
      this.#command = Buffer.allocUnsafe(Math.min(bodyBytes, COMMAND_ROOM_BYTES))
      this.#filled = 0
    }
    return at
  }

  /** Reads the available bytes of a body, and collects them if it is a command's. */
  #readBody(bytes: Uint8Array, start: number): number {
    const taken = Math.min(this.#left, bytes.length - start)
    this.#left -= taken
    if (this.#command !== undefined) {
      const filled = this.#filled + taken
      if (filled > this.#command.length) {
        const room = Math.min(filled + this.#left, COMMAND_GROWTH * filled)
        const larger = Buffer.allocUnsafe(room)
        larger.set(this.#command.subarray(0, this.#filled))
        this.#command = larger
      }
      this.#command.set(bytes.subarray(start, start + taken), this.#filled)
      this.#filled = filled
    }
    return start + taken
  }
}
