import { COMMAND, frameBodyBytes, frameHeadBytes, MORE } from "../codec/frames.js"
import type { FrameSink } from "./frame-reader.js"

/** A command that comes in pieces has room for this many bytes at first, and four times what has come then. */
const COMMAND_ROOM_BYTES = 4096
const COMMAND_GROWTH = 4

/** A consumer of frames that makes messages of them elsewhere. */
export interface RelaySink extends FrameSink {
  /** Messages wanted now; one comes in any case. */
  readonly room: number
  /**
   * Takes a piece of the frames of messages, so many of which end in it. Commands go to `frame`.
   * Returns whether more is wanted now.
   */
  frames(piece: Uint8Array, messages: number): boolean
}

/**
 * Passes on a stream of ZMTP frames, whose heads have been checked, without making messages of
 * them. Commands are taken out.
 */
export class FrameRelay {
  /** Parts of the message that is coming. */
  parts = 0
  /** The head of a frame that is cut, as far as it came. */
  #head: number[] | undefined
  #flags = 0
  /** Bytes of a body that are still to come. */
  #left = 0
  /** The body of a command, as far as it came. */
  #command: Buffer | undefined
  #filled = 0

  /** Reads `bytes` from `start`; returns where the sink had enough, or their end. */
  read(bytes: Uint8Array, start: number, sink: RelaySink): number {
    const end = bytes.length
    let { room } = sink
    let from = start
    let at = start
    let messages = 0
    while (at < end) {
      if (this.#left === 0) {
        const startsHere = this.#head === undefined
        const flags = startsHere ? (bytes[at] as number) : (this.#head as number[])[0]
        if (startsHere && (flags as number) & COMMAND && at > from) {
          if (!sink.frames(bytes.subarray(from, at), messages)) return at
          room = sink.room
          messages = 0
          from = at
        }
        try {
          at = this.#readHead(bytes, at, sink)
        } catch (error) {
          if (at > from) sink.frames(bytes.subarray(from, at), messages)
          throw error
        }
        if (this.#command !== undefined || (flags as number) & COMMAND) from = at
        if (this.#head !== undefined) break
        if (this.#left > 0) continue
      } else {
        at = this.#readBody(bytes, at)
        if (this.#command !== undefined) from = at
        if (this.#left > 0) break
      }
      if (this.#command !== undefined) {
        const command = this.#command
        this.#command = undefined
        if (!sink.frame(this.#flags, command)) return at
      } else if (!(this.#flags & MORE)) {
        this.parts = 0
        if (++messages >= room) break
      }
    }
    if (at > from) sink.frames(bytes.subarray(from, at), messages)
    return at
  }

  /** Reads a head, or a piece of it. */
  #readHead(bytes: Uint8Array, start: number, sink: RelaySink): number {
    let at = start
    const flags = this.#head?.[0] ?? (bytes[at] as number)
    const headBytes = frameHeadBytes(flags)
    let bodyBytes: number
    if (this.#head === undefined && bytes.length - at >= headBytes) {
      bodyBytes = frameBodyBytes(bytes, at)
      at += headBytes
    } else {
      this.#head ??= []
      const head = this.#head
      while (head.length < headBytes && at < bytes.length) head.push(bytes[at++] as number)
      if (head.length < headBytes) return at
      this.#head = undefined
      bodyBytes = frameBodyBytes(Uint8Array.from(head), 0)
    }
    sink.head(flags, bodyBytes)
    this.#flags = flags
    this.#left = bodyBytes
    if (flags & COMMAND) {
      this.#command = Buffer.allocUnsafe(Math.min(bodyBytes, COMMAND_ROOM_BYTES))
      this.#filled = 0
    } else this.parts++
    return at
  }

  /** Reads of a body what there is; of a command it is kept. */
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
