import { BUFFER_MAX_BYTES } from "../base/buffer-max.js"
import { ByteQueue } from "../codec/byte-queue.js"
import { budgetExceeded, outOfMemory } from "../codec/errors.js"
import { COMMAND, checkHead, MORE, PARTS_MAX, tooManyParts } from "../codec/frames.js"
import type { Traffic } from "../codec/traffic.js"
import type { TranscoderSink } from "../codec/transcoder.js"

/** Maximum size in bytes of the pieces in which kept bytes are passed on. */
const PIECE_BYTES = 64 * 1024

/** A check of the heads of frames that no transcoder has seen. */
export interface HeadCheck {
  /** @throws ProtocolError if a head is not allowed. */
  head(flags: number, bodyBytes: number): void
}

/**
 * The receiving half of a connection to a peer that speaks plain tcp://, which `packingFor` in
 * codec/packing.ts decides, in place of a transcoder. It passes bytes on unchanged. After the
 * handshake, the session checks the heads of frames here against the same limits.
 */
export class PlainPeerReceiver implements HeadCheck {
  readonly hasDictionary = false
  readonly hasArenas = false
  readonly #budgetBytes: number
  #budgetLeft = 0
  /** Index of the next part in its message. */
  #part = 0
  #messages = 0
  #bytes = 0
  readonly #waiting = new ByteQueue()

  /** @param budgetBytes maximum plaintext of one message; -1 is no limit. */
  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
  }

  head(flags: number, bodyBytes: number): void {
    checkHead(flags, bodyBytes)
    if (flags & COMMAND) return
    const part = this.#part
    if (part >= PARTS_MAX) throw tooManyParts()
    if (part === 0) this.#budgetLeft = this.#budgetBytes
    const left = this.#budgetBytes < 0 ? Number.POSITIVE_INFINITY : this.#budgetLeft
    if (bodyBytes > left) throw budgetExceeded(part, bodyBytes, left, this.#budgetBytes)
    if (bodyBytes > BUFFER_MAX_BYTES) throw outOfMemory(`part ${part}`, bodyBytes)
    this.#budgetLeft -= bodyBytes
    this.#bytes += bodyBytes
    this.#part = flags & MORE ? part + 1 : 0
    if (!(flags & MORE)) this.#messages++
  }

  /** Passes on kept bytes, then a chunk. Keeps those that the sink has no room for, for `resume`. */
  transcode(chunk: Uint8Array, sink: TranscoderSink): void {
    const waiting = this.#waiting
    if (waiting.length === 0) {
      if (chunk.length > 0) sink.take(chunk, false)
      return
    }
    waiting.push(chunk)
    let goOn = true
    while (goOn && waiting.length > 0) {
      const piece = new Uint8Array(Math.min(waiting.length, PIECE_BYTES))
      waiting.read(piece)
      goOn = sink.take(piece, true)
    }
  }

  /** See Transcoder: all bytes are passed on unchanged. */
  get bodyLeft(): number {
    return this.keepsBytes ? 0 : Number.POSITIVE_INFINITY
  }

  passed(): void {}

  keep(chunk: Uint8Array): void {
    this.#waiting.push(chunk)
  }

  get keepsBytes(): boolean {
    return this.#waiting.length > 0
  }

  resume(sink: TranscoderSink): void {
    this.transcode(new Uint8Array(0), sink)
  }

  count(traffic: Traffic): void {
    traffic.messages = this.#messages
    traffic.plainBytes = this.#bytes
    traffic.wireBytes = this.#bytes
  }

  close(): void {}
}
