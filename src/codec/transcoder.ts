import { BUFFER_MAX_BYTES } from "../base/buffer-max.js"
import { ROOM_MAX_BYTES, ROOM_MIN_BYTES } from "../base/limits.js"
import { concat } from "./arrays.js"
import { budgetHalves, Decoder, refusal } from "./decoder.js"
import { describeGreeting } from "./describe-greeting.js"
import { outOfMemory, ProtocolError } from "./errors.js"
import {
  FrameHead,
  frameError,
  KEPT,
  LONG_HEAD_BYTES,
  MORE,
  PARTS_MAX,
  tooManyParts,
  writeFrameHead,
} from "./frames.js"
import { BODY, type Instance, LARGE_PART, NEEDS_INPUT, NEEDS_ROOM, OUTPUT } from "./instance.js"
import { openDictionary } from "./large.js"
import { Leftover } from "./leftover.js"
import { findPlainBody } from "./long-bodies.js"
import { NULL, type Pointer } from "./module-memory.js"
import type { ReceiveSettings, Settings } from "./options.js"
import { copied, writeLarge } from "./part-writer.js"
import { ArraySource, FrontSource } from "./source.js"
import type { Traffic } from "./traffic.js"
import type { Trainer } from "./trainer.js"
import { LAST, uint64 } from "./wire.js"

const NOTHING = new Uint8Array(0)
/** Maximum plaintext of a part that is passed on as it came: who needs it has to find memory for it. */
const KEPT_MAX_BYTES = 64 << 20

/** Errors of zl_transcode; see zeromq_lz4.h. */
const E_GREETING = -14
const E_FRAME = -15
const E_PARTS = -18

/** A part of more than `partMax` bytes. */
interface Large {
  bodyBytes: number
  place: number
  index: number
  /** The pieces of a received part once its body is complete; its plaintext, in all and left. */
  pieces: Generator<Uint8Array> | undefined
  plainBytes: number
  plainLeft: number
  /** The body of a received part that is passed on as it came. */
  kept: Uint8Array | undefined
}

/** The consumer of a transcoder's output. */
export interface TranscoderSink {
  /** Takes a piece, valid during the call unless it is `copied`. Returns whether to go on now. */
  take(piece: Uint8Array, copied: boolean): boolean
}

/**
 * One direction of a connection: rewrites the message parts of a ZMTP byte stream, from plain to
 * lz4+tcp or back (RFC.md section 3). It does no I/O, and its output does not depend on how the
 * stream was split into chunks.
 */
export class Transcoder {
  readonly #instance: Instance
  /** The module's transcoder. */
  readonly handle: Pointer
  /** Whether it writes lz4+tcp; otherwise it reads it. */
  readonly sends: boolean
  readonly #budgetBytes: number
  readonly #leftover: Leftover
  /** The compression effort of a sending transcoder. */
  #effort: number
  /** Size of the next piece of output. */
  #roomBytes = ROOM_MAX_BYTES
  /** Minimum number of bytes needed to make progress. */
  #need = 1
  /** Bytes of the input that were consumed, and whether the sink goes on. */
  #consumed = 0
  #goesOn = true
  /** Whether compressed parts are passed on as they came. */
  #keeps = false
  /** The large part whose body is being collected or, piece by piece, decoded. */
  #large: Large | undefined

  /** Opens a transcoder from the wire to plain ZMTP. A `greeted` stream begins after the greeting. */
  static receiving(
    instance: Instance,
    settings: ReceiveSettings,
    greeted: boolean = false,
  ): Transcoder {
    const { budgetBytes, revision } = settings
    const [low, high] = budgetHalves(budgetBytes)
    const handle = instance.exports.zl_receiving_open(low, high, revision, greeted ? 1 : 0)
    if (handle === NULL) throw outOfMemory("a connection", 256)
    // Only sockets of this process read a stream without its greeting, and their parts become Buffers.
    if (greeted) instance.exports.zl_receiving_limit(handle, ...uint64(BUFFER_MAX_BYTES), PARTS_MAX)
    return new Transcoder(instance, handle, false, budgetBytes, 0)
  }

  /**
   * Opens a transcoder from plain ZMTP to the wire. If `greeted` is set, the stream begins after the
   * greeting, and the caller sends the dictionary. Close the trainer after all transcoders that use
   * it.
   */
  static sending(
    instance: Instance,
    settings: Settings,
    trainer?: Trainer,
    greeted: boolean = false,
  ): Transcoder {
    const { minCompressBytes, effort, arenas, dictionary } = settings
    const { zl_sending_open, zl_dictionary_close } = instance.exports
    const opened = dictionary ? openDictionary(instance, dictionary) : NULL
    const minBytes = Math.min(minCompressBytes, instance.blockMax + 1)
    const handle = zl_sending_open(
      opened,
      minBytes,
      effort,
      arenas === true ? 1 : 0,
      trainer?.handle ?? NULL,
      greeted ? 1 : 0,
    )
    if (handle === NULL) {
      zl_dictionary_close(opened)
      throw outOfMemory("a connection", 256)
    }
    return new Transcoder(instance, handle, true, -1, effort)
  }

  private constructor(
    instance: Instance,
    handle: Pointer,
    sends: boolean,
    budgetBytes: number,
    effort: number,
  ) {
    this.#instance = instance
    this.handle = handle
    this.sends = sends
    this.#budgetBytes = budgetBytes
    this.#effort = effort
    this.#leftover = new Leftover(instance)
  }

  /**
   * Transcodes a chunk of the stream and passes on the output so far. Output that the sink has no
   * room for is kept for `resume`. The caller may reuse the chunk afterwards.
   *
   * @throws ProtocolError if the stream breaks a rule, after everything before it was passed on.
   * The transcoder can only be closed then.
   */
  transcode(chunk: Uint8Array, sink: TranscoderSink): void {
    let rest = chunk
    let goOn = true
    while (goOn && (rest.length > 0 || this.keepsBytes)) {
      const isContinued = this.#leftover.length > 0
      const bodyBytes = Math.min(rest.length, this.bodyLeft)
      if (bodyBytes > 0) {
        goOn = this.#passOn(rest.subarray(0, bodyBytes), sink)
        rest = rest.subarray(bodyBytes)
      } else if (this.#leftover.length + rest.length < this.#need) {
        break
      } else if (this.#large) {
        this.#leftover.push(rest)
        rest = NOTHING
        goOn = this.sends
          ? this.#encodeLarge(this.#large, sink)
          : this.#keepsPart
            ? this.#checkPiece(this.#large, sink)
            : this.#decodePiece(this.#large, sink)
      } else {
        const end = isContinued || this.sends ? rest.length : findPlainBody(rest)
        goOn = this.#window(rest.subarray(0, end), sink)
        rest = rest.subarray(end)
      }
    }
    this.#leftover.push(rest)
  }

  /** Sets the compression effort of a sending transcoder from the next part on, as in Settings. */
  set effort(effort: number) {
    this.#effort = effort
    this.#instance.exports.zl_sending_effort(this.handle, effort)
  }

  /**
   * Sets whether parts that come compressed, without a dictionary and not in an arena, are passed on as
   * they came, in frames with KEPT. They are decoded all the same, so that no others are passed on.
   */
  set keeps(keeps: boolean) {
    if (keeps === this.#keeps) return
    this.#keeps = keeps
    this.#instance.exports.zl_receiving_keep(this.handle, keeps ? 1 : 0)
  }

  /** Bytes to come of a body passed on unchanged; 0 if kept bytes have to be transcoded before. */
  get bodyLeft(): number {
    return this.keepsBytes ? 0 : this.#instance.exports.zl_body_left(this.handle) >>> 0
  }

  /** Counts bytes of a body passed on unchanged that did not go through the transcoder. */
  passed(bytes: number): void {
    this.#instance.exports.zl_body_taken(this.handle, bytes)
  }

  /** Keeps a copy of a chunk for `resume`. */
  keep(chunk: Uint8Array): void {
    this.#leftover.push(chunk)
  }

  /** Whether received bytes wait for more of them, or for `resume`. */
  get keepsBytes(): boolean {
    return this.#leftover.length > 0 || this.#large?.kept !== undefined
  }

  /** Goes on where the sink stopped. */
  resume(sink: TranscoderSink): void {
    this.transcode(NOTHING, sink)
  }

  /** Sets the counts in an object that the caller reuses. */
  count(traffic: Traffic): void {
    traffic.messages = this.messages
    traffic.plainBytes = this.#instance.wide(this.handle, 2)
    traffic.wireBytes = this.#instance.wide(this.handle, 4)
  }

  /** The number of messages so far. The body of the last one may be incomplete. */
  get messages(): number {
    return this.#instance.wide(this.handle, 0)
  }

  /** Whether there were arenas among the messages so far. */
  get hasArenas(): boolean {
    return this.#instance.word(this.handle, 6) !== 0
  }

  /** Whether a message is incomplete, in the input or in the output. */
  get insideMessage(): boolean {
    return this.#leftover.length > 0 || this.#instance.exports.zl_inside_message(this.handle) !== 0
  }

  /** Whether a dictionary is in use, either sent or received. */
  get hasDictionary(): boolean {
    return this.#instance.exports.zl_transcoder_dictionary(this.handle) !== NULL
  }

  close(): void {
    this.#large?.pieces?.return(undefined)
    this.#leftover.close()
    this.#instance.exports.zl_transcoder_close(this.handle)
  }

  /** Passes on bytes of a body that is not changed. Returns whether to go on. */
  #passOn(bytes: Uint8Array, sink: TranscoderSink): boolean {
    this.passed(bytes.length)
    return sink.take(bytes, false)
  }

  /** Transcodes the kept bytes and then `following`, and keeps the rest. Returns whether to go on. */
  #window(following: Uint8Array, sink: TranscoderSink): boolean {
    const length = this.#leftover.length + following.length
    const input = this.#leftover.gather(following)
    const status = this.run(input, length, sink)
    const rest = (input + this.#consumed) as Pointer
    const goOn = this.#goesOn
    if (!goOn) this.#roomBytes = Math.max(this.#roomBytes / 4, ROOM_MIN_BYTES)
    // If the sink has stopped, the bytes are refused again when it goes on.
    if (status < 0 && goOn)
      throw this.#error(status, this.#instance.copy(rest, length - this.#consumed))
    this.#leftover.keep(rest)
    if (status === LARGE_PART) this.#announceLarge()
    return goOn
  }

  /**
   * Transcodes `length` bytes at `input` in the module's memory until the sink stops, or the module
   * can go no further. Returns its status.
   */
  run(input: Pointer, length: number, sink: TranscoderSink): number {
    const instance = this.#instance
    const { zl_progress_slot, zl_transcode } = instance.exports
    const progress = zl_progress_slot()
    let roomBytes = this.#roomBytes
    let at = 0
    let status: number
    let goOn: boolean
    do {
      const output = instance.scratch(OUTPUT, roomBytes)
      const from = (input + at) as Pointer
      status = zl_transcode(this.handle, from, length - at, output, roomBytes, progress)
      at += instance.word(progress, 0)
      const produced = instance.word(progress, 1)
      const need = instance.word(progress, 2)
      this.#need = status === NEEDS_INPUT ? need : 1
      this.#roomBytes = Math.min(2 * this.#roomBytes, ROOM_MAX_BYTES)
      roomBytes = status === NEEDS_ROOM ? Math.max(this.#roomBytes, need) : this.#roomBytes
      goOn = produced === 0 || sink.take(instance.view(output, produced), false)
      if (goOn && status === BODY) {
        goOn = this.#passOn(instance.view((input + at) as Pointer, need), sink)
        at += need
      }
    } while (goOn && (status === NEEDS_ROOM || status === BODY))
    this.#consumed = at
    this.#goesOn = goOn
    return status
  }

  #announceLarge(): void {
    const instance = this.#instance
    const part = instance.exports.zl_large_part(this.handle)
    const bodyBytes = instance.wide(part, 0)
    const place = instance.word(part, 2)
    const index = instance.word(part, 3)
    this.#large = {
      ...{ bodyBytes, place, index, pieces: undefined },
      ...{ plainBytes: instance.wide(instance.part, 0), plainLeft: 0, kept: undefined },
    }
    this.#need = bodyBytes
  }

  /** Encodes the complete body of a large part. Returns whether to go on. */
  #encodeLarge(large: Large, sink: TranscoderSink): boolean {
    const dictionary = this.#instance.exports.zl_transcoder_dictionary(this.handle)
    const source = this.#bodyOf(large)
    const body = writeLarge(this.#instance, dictionary, this.#effort, source, copied)
    this.#large = undefined
    this.#need = 1
    return this.passLarge(body, sink)
  }

  #bodyOf({ bodyBytes }: Large): FrontSource {
    return new FrontSource(this.#leftover.asSource(), bodyBytes)
  }

  /**
   * Decodes the next piece of a large part whose body is complete, so that a sink can stop between
   * pieces. Returns whether to go on.
   */
  #decodePiece(large: Large, sink: TranscoderSink): boolean {
    const instance = this.#instance
    const { zl_transcoder_receiver, zl_large_done } = instance.exports
    let { pieces } = large
    if (!pieces) {
      const decoder = new Decoder(instance, zl_transcoder_receiver(this.handle), this.#budgetBytes)
      pieces = decoder.pieces(this.#bodyOf(large), large.place, large.index)
    }
    // Dictionaries and arenas are never large, so there is always plaintext.
    const piece = pieces.next().value as Uint8Array
    if (!large.pieces) {
      large.pieces = pieces
      large.plainBytes = large.plainLeft = instance.wide(instance.part, 0)
      this.#need = 1
      const head = new Uint8Array(LONG_HEAD_BYTES)
      const flags = large.place & LAST ? 0 : MORE
      sink.take(head.subarray(0, writeFrameHead(head, 0, flags, large.plainBytes)), false)
    }
    large.plainLeft -= piece.length
    if (large.plainLeft === 0) {
      // The head was already passed on.
      const head = instance.scratch(OUTPUT, LONG_HEAD_BYTES)
      zl_large_done(this.handle, head, ...uint64(large.plainBytes))
      this.#large = undefined
    }
    return sink.take(piece, false)
  }

  /** Whether a large part that begins now, or has begun to, is passed on as it came. */
  get #keepsPart(): boolean {
    const large = this.#large as Large
    if (large.pieces) return large.kept !== undefined
    return this.#keeps && !this.hasDictionary && large.plainBytes <= KEPT_MAX_BYTES
  }

  /**
   * Decodes the next piece of a large part, and passes its body on as it came after the last one.
   * Returns whether to go on.
   */
  #checkPiece(large: Large, sink: TranscoderSink): boolean {
    const instance = this.#instance
    const { zl_transcoder_receiver, zl_large_done } = instance.exports
    let { pieces, kept } = large
    if (!pieces || !kept) {
      const decoder = new Decoder(instance, zl_transcoder_receiver(this.handle), this.#budgetBytes)
      kept = this.#bodyOf(large).rest()
      pieces = decoder.pieces(new ArraySource(kept), large.place, large.index)
    }
    const piece = pieces.next().value as Uint8Array
    if (!large.kept) {
      large.kept = kept
      large.pieces = pieces
      large.plainBytes = large.plainLeft = instance.wide(instance.part, 0)
      this.#need = 0 // all of its body is here
    }
    large.plainLeft -= piece.length
    if (large.plainLeft > 0) return sink.take(NOTHING, false)
    const scratch = instance.scratch(OUTPUT, LONG_HEAD_BYTES)
    zl_large_done(this.handle, scratch, ...uint64(large.plainBytes))
    this.#large = undefined
    this.#need = 1
    const head = new Uint8Array(LONG_HEAD_BYTES)
    const flags = KEPT | (large.place & LAST ? 0 : MORE)
    sink.take(head.subarray(0, writeFrameHead(head, 0, flags, kept.length)), false)
    return sink.take(kept, true)
  }

  /** Passes on the head of a large part and its transcoded body. Returns whether to go on. */
  passLarge(body: Uint8Array, sink: TranscoderSink): boolean {
    const instance = this.#instance
    const head = instance.scratch(OUTPUT, LONG_HEAD_BYTES)
    const headBytes = instance.exports.zl_large_done(this.handle, head, ...uint64(body.length))
    sink.take(instance.view(head, headBytes), false)
    return sink.take(body, true)
  }

  /** Returns the error for input that the module refused. */
  #error(status: number, refused: Uint8Array): Error {
    const instance = this.#instance
    const { zl_greeting_seen, zl_greeting_count, zl_part_index } = instance.exports
    if (status === E_GREETING) {
      // The refused bytes are not among those seen. Both together help to identify the protocol.
      const seen = instance.copy(zl_greeting_seen(this.handle), zl_greeting_count(this.handle))
      return new ProtocolError(
        "ERR_ZMTP_GREETING",
        `the greeting ${describeGreeting(concat([seen, refused]))}`,
      )
    }
    if (status === E_FRAME) return frameError(refused)
    if (status === E_PARTS) return tooManyParts()
    const frame = new FrameHead()
    const body = frame.read(refused, 0)
    const head = refused.slice(body, body + instance.format.headBytes)
    const seen = { head, wireBytes: frame.bodyBytes, part: zl_part_index(this.handle) }
    return refusal(instance, status, seen, this.#budgetBytes)
  }
}
