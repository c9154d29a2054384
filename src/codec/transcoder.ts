import { concat } from "./arrays.js"
import { ByteQueue } from "./byte-queue.js"
import type { Traffic } from "./codec.js"
import { budgetHalves, Decoder, refusal } from "./decoder.js"
import { encodeLarge } from "./encoder.js"
import { hex, outOfMemory, ProtocolError } from "./errors.js"
import { describeGreeting } from "./greeting.js"
import { INPUT, type Instance, NULL, OUTPUT, type Pointer } from "./instance.js"
import { openDictionary } from "./large.js"
import type { Settings } from "./options.js"
import { FrontSource, type Source } from "./source.js"

/** Output is taken in pieces of up to this many bytes; only a larger part makes a larger piece. */
const ROOM_BYTES = 256 * 1024
const FRAME_HEAD_MAX_BYTES = 9
const PART_HEAD_BYTES = 12
const ZMTP_LONG = 2

/** Status of zl_transcode in zeromq_lz4.h. */
const NEEDS_INPUT = 0
const NEEDS_ROOM = 1
const LARGE_PART = 2
const E_GREETING = -13
const E_FRAME = -14

interface Large {
  bodyBytes: number
  place: number
  index: number
}

/** Transcodes the body of one part of over `partMax` bytes. */
type LargePart = (body: Source, place: number, index: number) => Uint8Array

/**
 * One direction of a link: a ZMTP byte stream whose message parts are rewritten,
 * from plain to lz4+tcp or back (RFC.md section 3). It does no I/O; what comes
 * out does not depend on how the stream was cut.
 */
export class Transcoder {
  readonly #instance: Instance
  readonly #handle: Pointer
  readonly #transcodeLarge: LargePart
  readonly #budgetBytes: number
  readonly #queue = new ByteQueue()
  /** Bytes that must be there before it is worth to go on. */
  #need = 1
  #roomBytes = ROOM_BYTES
  /** The large part whose body is being collected. */
  #large: Large | undefined
  /** Output that waits for what came before it to be taken. */
  #next: Uint8Array | undefined
  #failure: Error | undefined

  /** Wire to plain ZMTP, within a budget in bytes per message; -1 is no limit. */
  static receiving(instance: Instance, budgetBytes: number): Transcoder {
    const { exports } = instance
    const handle = exports.zl_receiving_open(...budgetHalves(budgetBytes))
    if (handle === NULL) throw outOfMemory("a connection", 256)
    const decoder = new Decoder(instance, exports.zl_transcoder_receiver(handle), budgetBytes)
    return new Transcoder(
      instance,
      handle,
      // A dictionary is never large, so there is always plaintext.
      (body, place, index) => decoder.part(body, place, index) as Uint8Array,
      budgetBytes,
    )
  }

  /** Plain ZMTP to wire. */
  static sending(instance: Instance, settings: Settings): Transcoder {
    const { minCompressBytes, acceleration, dictionary } = settings
    const opened = dictionary ? openDictionary(instance, dictionary) : NULL
    const least = Math.min(minCompressBytes, instance.blockMax + 1)
    const handle = instance.exports.zl_sending_open(opened, least, acceleration)
    if (handle === NULL) throw outOfMemory("a connection", 256)
    return new Transcoder(
      instance,
      handle,
      (body) => encodeLarge(instance, opened, acceleration, body),
      -1,
    )
  }

  private constructor(
    instance: Instance,
    handle: Pointer,
    transcodeLarge: LargePart,
    budgetBytes: number,
  ) {
    this.#instance = instance
    this.#handle = handle
    this.#transcodeLarge = transcodeLarge
    this.#budgetBytes = budgetBytes
  }

  /** Takes a chunk of the stream, which must not change afterwards. */
  push(chunk: Uint8Array): void {
    this.#queue.push(chunk)
  }

  /**
   * The next piece of output, or undefined when more input is needed first.
   *
   * @throws ProtocolError when the stream breaks a rule. All that came before has
   * been returned by then; the transcoder can only be closed.
   */
  pull(): Uint8Array | undefined {
    if (this.#next) {
      const next = this.#next
      this.#next = undefined
      return next
    }
    while (this.#failure === undefined && this.#queue.length >= this.#need) {
      const output = this.#large ? this.#finishLarge(this.#large) : this.#step()
      if (output) return output
    }
    if (this.#failure) throw this.#failure
    return undefined
  }

  /** Bytes of the stream that wait for the rest of what they belong to. */
  get pendingBytes(): number {
    return this.#queue.length
  }

  /** Counts what went through, into an object that is kept by the caller. */
  count(traffic: Traffic): void {
    traffic.messages = this.#instance.wide(this.#handle, 0)
    traffic.plainBytes = this.#instance.wide(this.#handle, 2)
    traffic.wireBytes = this.#instance.wide(this.#handle, 4)
  }

  /** Whether a dictionary is in use: one to send with, or one that was received. */
  get hasDictionary(): boolean {
    return this.#instance.exports.zl_transcoder_dictionary(this.#handle) !== NULL
  }

  close(): void {
    this.#instance.exports.zl_transcoder_close(this.#handle)
  }

  #step(): Uint8Array | undefined {
    const instance = this.#instance
    const queue = this.#queue
    const length = Math.min(queue.length, Math.max(this.#need, ROOM_BYTES))
    const input = instance.scratch(INPUT, length)
    queue.peek(instance.view(input, length))
    const output = instance.scratch(OUTPUT, this.#roomBytes)
    const progress = instance.exports.zl_progress_slot()
    const { zl_transcode } = instance.exports
    const status = zl_transcode(this.#handle, input, length, output, this.#roomBytes, progress)
    const consumed = instance.word(progress, 0)
    const produced = instance.word(progress, 1)
    const need = instance.word(progress, 2)
    const made = produced > 0 ? instance.copy(output, produced) : undefined
    this.#roomBytes = ROOM_BYTES
    this.#need = 1
    queue.skip(consumed)
    if (status === NEEDS_INPUT) this.#need = need
    else if (status === NEEDS_ROOM) this.#roomBytes = Math.max(ROOM_BYTES, need)
    else if (status === LARGE_PART) this.#announceLarge()
    else
      this.#failure = this.#error(
        status,
        instance.copy((input + consumed) as Pointer, length - consumed),
      )
    return made
  }

  #announceLarge(): void {
    const instance = this.#instance
    const part = instance.exports.zl_large_part(this.#handle)
    const bodyBytes = instance.wide(part, 0)
    this.#large = { bodyBytes, place: instance.word(part, 2), index: instance.word(part, 3) }
    this.#need = bodyBytes
  }

  /** Transcodes the body of a large part, which is there as a whole. */
  #finishLarge({ bodyBytes, place, index }: Large): Uint8Array | undefined {
    const instance = this.#instance
    try {
      this.#next = this.#transcodeLarge(new FrontSource(this.#queue, bodyBytes), place, index)
    } catch (error) {
      this.#failure = error as Error
      return undefined
    }
    const { length } = this.#next
    const head = instance.scratch(OUTPUT, FRAME_HEAD_MAX_BYTES)
    const { zl_large_done } = instance.exports
    const headBytes = zl_large_done(this.#handle, head, length >>> 0, Math.floor(length / 2 ** 32))
    this.#large = undefined
    this.#need = 1
    return instance.copy(head, headBytes)
  }

  /** The error for the input that the module refused to go on with. */
  #error(status: number, refused: Uint8Array): Error {
    const instance = this.#instance
    const { zl_greeting_seen, zl_greeting_count, zl_part_index } = instance.exports
    if (status === E_GREETING) {
      // The refused byte is the last one seen; what follows it helps to tell what this is.
      const seen = instance.copy(zl_greeting_seen(this.#handle), zl_greeting_count(this.#handle))
      return new ProtocolError(
        "ERR_ZMTP_GREETING",
        `the greeting ${describeGreeting(concat([seen, refused]))}`,
      )
    }
    const [head, wireBytes] = readFrame(refused)
    if (status === E_FRAME)
      return new ProtocolError(
        "ERR_ZMTP_FRAME",
        `a frame begins with ${hex(refused.subarray(0, FRAME_HEAD_MAX_BYTES))}; its flags or length are not allowed`,
      )
    const seen = { head, wireBytes, part: zl_part_index(this.#handle) }
    return refusal(instance, status, seen, this.#budgetBytes)
  }
}

/** The first bytes of a frame's body, and the length of all of it. */
function readFrame(frame: Uint8Array): [head: Uint8Array, bodyBytes: number] {
  const long = ((frame[0] as number) & ZMTP_LONG) !== 0
  const headBytes = long ? FRAME_HEAD_MAX_BYTES : 2
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const bodyBytes = long ? Number(view.getBigUint64(1)) : view.getUint8(1)
  return [frame.slice(headBytes, headBytes + PART_HEAD_BYTES), bodyBytes]
}
