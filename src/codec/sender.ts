import { copyShared } from "../base/copy-shared.js"
import { fixedView } from "../base/fixed-view.js"
import { concat } from "./arrays.js"
import { appendBody, frameHead, framesChunk, partsOf } from "./bare-frames.js"
import { type Chunk, ChunkBuilder, type Content } from "./chunk.js"
import { DictionaryGroups, type Recipient } from "./dictionary-groups.js"
import { closed } from "./errors.js"
import type { FormatName } from "./format.js"
import { loadFormatSync } from "./formats.js"
import {
  type AnyPart,
  addFlag,
  FormedPart,
  formFlagOf,
  KeptPart,
  plainOf,
  readParts,
  TriedPart,
} from "./formed-part.js"
import { FrameHead, LONG_HEAD_BYTES, MORE, PLAIN_FORM, writeFrameHead } from "./frames.js"
import { GOES_PLAIN, INPUT, type Instance, IS_TRIED, LARGE_PART, OUTPUT } from "./instance.js"
import { BYPASS_FRAMES, BYPASS_MIN_BYTES } from "./long-bodies.js"
import { loadInstanceSync } from "./module.js"
import { NULL, type Pointer } from "./module-memory.js"
import { NO_EFFORT } from "./no-effort.js"
import { ARENAS_REVISION, type Settings, settingsFor } from "./options.js"
import { type Packing, packingFor } from "./packing.js"
import { copied, writeLarge, writePart } from "./part-writer.js"
import { ArraySource } from "./source.js"
import { Transcoder, type TranscoderSink } from "./transcoder.js"
import { SENTINEL_BYTES, uint64 } from "./wire.js"

/** Maximum size of the gathered input, unless one part is larger. */
const GATHERED_MAX_BYTES = 512 * 1024
/** The bytes of a part that a trainer may sample. */
const SAMPLE_MAX_BYTES = 2 * 8192
/** Maximum size of the head of a plain part. */
const PLAIN_HEAD_MAX_BYTES = LONG_HEAD_BYTES + SENTINEL_BYTES

/** Whole messages in wire form, all of whose parts are plain. */
export interface PlainMessages extends Pick<Content, "messages" | "plainBytes" | "wireBytes"> {
  readonly bytes: Uint8Array
}

/** How messages are encoded. */
export interface EncodeOptions {
  /** Messages before the others, in wire form already; none if the packing is "frames". */
  readonly plain?: PlainMessages | undefined
  /** "parts" by default. */
  readonly packing?: Packing
  /** The compression effort, as in Settings, which have the default. */
  readonly effort?: number | undefined
  /** Whether the memory of the frames stays as it is until the chunk is released. */
  readonly stays?: boolean
}

const NO_FRAMES = new Uint8Array(0)
const NO_MESSAGES: PlainMessages = {
  bytes: new Uint8Array(0),
  messages: 0,
  plainBytes: 0,
  wireBytes: 0,
}
const DEFAULTS: EncodeOptions = {}

/**
 * Encodes messages for connections that use the same dictionary, or none. Messages are encoded
 * whole, so many connections may write the same bytes.
 *
 * An endpoint has one, which encodes for all its connections. If dictionaries are trained, it has
 * another one for each of them.
 */
export class Sender {
  readonly #settings: Settings
  readonly #acceptsPlain: boolean
  /** Opened for the first message, because the module takes milliseconds to load. */
  #opened: { instance: Instance; transcoder: Transcoder } | undefined
  /** The effort and the use of arenas that the transcoder is set to. */
  #effort: number
  #arenas = false
  #users = 1
  /** Arrays that will be transcoded together. */
  #gathered: Uint8Array[] = []
  #gatheredBytes = 0
  readonly #builder = new ChunkBuilder()
  readonly #sink: TranscoderSink = {
    take: (piece) => {
      this.#builder.append(piece)
      return true
    },
  }
  #dictionaryFrame: Uint8Array | undefined
  #dictionaries: DictionaryGroups<Sender> | undefined
  /** The sender for connections of the other format. */
  #other: Sender | undefined

  /** @param acceptsPlain whether peers without an announced revision are sent bare frames. */
  constructor(settings: Settings, acceptsPlain: boolean = false) {
    this.#settings = settings
    this.#acceptsPlain = acceptsPlain
    this.#effort = settings.effort
  }

  #open(): { instance: Instance; transcoder: Transcoder } {
    if (this.#opened) return this.#opened
    if (this.#users <= 0) throw closed("the endpoint")
    const instance = loadInstanceSync(loadFormatSync(this.#settings.format))
    const settings = { ...this.#settings, effort: this.#effort, arenas: this.#arenas }
    this.#opened = { instance, transcoder: Transcoder.sending(instance, settings, undefined, true) }
    return this.#opened
  }

  /** Returns the sender for connections of a format of the settings. It closes with this one. */
  for(format: FormatName): Sender {
    const settings = settingsFor(this.#settings, format)
    if (settings === this.#settings) return this
    this.#other ??= new Sender(settings, this.#acceptsPlain)
    return this.#other
  }

  /** The dictionaries that are trained for the connections of the endpoint; undefined if none are. */
  get dictionaries(): DictionaryGroups<Sender> | undefined {
    const { training } = this.#settings
    if (!training || this.#users <= 0) return undefined
    this.#dictionaries ??= new DictionaryGroups(this.#instance, training, (dictionary) => {
      const { minCompressBytes } = training
      const settings = { ...this.#settings, dictionary, training: undefined, minCompressBytes }
      return new Sender(settings, this.#acceptsPlain)
    })
    return this.#dictionaries
  }

  recipientEnded(recipient: Recipient<Sender>): void {
    this.#dictionaries?.remove(recipient)
  }

  /** The sender for connections without a dictionary of their own. */
  get common(): Sender {
    return this.#dictionaries?.sharedSender ?? this
  }

  get #instance(): Instance {
    return this.#open().instance
  }

  get #transcoder(): Transcoder {
    return this.#open().transcoder
  }

  get #handle(): Pointer {
    return this.#transcoder.handle
  }

  get packing(): Packing {
    return this.packingFor(undefined)
  }

  /** Returns the packing for a peer that announced this revision, or none. */
  packingFor(peerRevision: number | undefined): Packing {
    return packingFor(this.#settings, this.#acceptsPlain, peerRevision)
  }

  /**
   * Returns the size in bytes below which parts are sent plain and need no encoding; 0 if all do.
   *
   * @param packing undefined if there is no peer yet.
   * @param effort the compression effort, as in Settings.
   */
  plainBelow(packing: Packing | undefined, effort: number = this.#settings.effort): number {
    if (packing === "frames" || (packing === undefined && this.#acceptsPlain)) return 0
    if (effort === NO_EFFORT) return Number.POSITIVE_INFINITY
    const { arenas: mayUse, training, minCompressBytes } = this.#settings
    if (packing !== "parts" && mayUse) return 0
    // Messages in wire form cannot be sampled.
    return training ? 0 : minCompressBytes
  }

  /** Returns whether a peer that is sent messages in `packing` gets a part as it came. */
  forwards({ format }: KeptPart, packing: Packing = this.packing): boolean {
    const { dictionary, adaptive, effort } = this.#settings
    if (packing === "frames" || dictionary || format !== this.#settings.format) return false
    return adaptive || effort !== NO_EFFORT
  }

  /**
   * Returns a chunk with the messages of `plain`, those of `frames`, and `message`, in this order. The
   * caller releases the chunk once it is written.
   */
  encode(
    frames: Uint8Array,
    message?: readonly AnyPart[],
    options: EncodeOptions = DEFAULTS,
  ): Chunk {
    const { plain = NO_MESSAGES, packing = "parts", stays = false } = options
    const { effort = this.#settings.effort } = options
    const formFlag = formFlagOf(message)
    if (packing === "frames")
      return framesChunk(this.#builder, frames, message?.map(plainOf), formFlag)
    const arenas = packing === "arenas"
    const { instance, transcoder } = this.#open()
    const { handle } = transcoder
    if (arenas !== this.#arenas) {
      instance.exports.zl_sending_arenas(handle, arenas ? 1 : 0)
      this.#arenas = arenas
    }
    if (effort !== this.#effort) {
      transcoder.effort = effort
      this.#effort = effort
    }
    const messages = instance.wide(handle, 0)
    const plainBytes = instance.wide(handle, 2)
    const wireBytes = instance.wide(handle, 4)
    const builder = this.#builder
    builder.begin()
    try {
      // Made now: an error later, while the chunk is being written, would lose the chunk.
      const isPlain = formFlag === PLAIN_FORM || effort === NO_EFFORT
      const dictionary = isPlain ? undefined : this.dictionaryFrame
      if (plain.messages > 0) builder.append(plain.bytes)
      // Frames as short as these have no part that is handled separately.
      if (frames.length <= BYPASS_MIN_BYTES) this.#gather(frames)
      else this.#gatherFrames(frames, stays)
      if (message) this.#gatherMessage(message)
      this.#transcode()
      const encoded = instance.wide(handle, 0) - messages
      return builder.end({
        messages: plain.messages + encoded,
        plainBytes: plain.plainBytes + instance.wide(handle, 2) - plainBytes,
        wireBytes: plain.wireBytes + instance.wide(handle, 4) - wireBytes,
        dictionary,
        packing: arenas && encoded > 1 ? "arenas" : "parts",
        format: encoded > 0 && formFlag !== PLAIN_FORM ? this.#settings.format : undefined,
        formFlag,
      })
    } catch (error) {
      builder.abandon()
      this.#gathered = []
      this.#gatheredBytes = 0
      // Otherwise the next input would be taken for the rest of a body.
      const { zl_body_taken, zl_body_left } = instance.exports
      zl_body_taken(handle, zl_body_left(handle))
      throw error
    }
  }

  accepts({ format }: Chunk): boolean {
    return format === undefined || format === this.#settings.format
  }

  /**
   * Encodes the messages of a chunk again in another packing, and releases the chunk.
   *
   * @throws Error if there is not enough memory. The chunk is unchanged then.
   */
  repack(chunk: Chunk, packing: Packing, effort?: number): Chunk {
    const repacked = this.#encodeAgain(chunk, packing, effort)
    chunk.release()
    return repacked
  }

  /** Encodes a chunk so that the result refers to no memory of it. */
  #encodeAgain(chunk: Chunk, packing: Packing, effort: number | undefined): Chunk {
    const { bytes, references, messages } = chunk
    if (chunk.formFlag)
      return this.encode(NO_FRAMES, readParts(this.plainFrames(chunk)), { packing, effort })
    if (chunk.packing !== "frames" || (references.length > 0 && messages > 1))
      return this.encode(this.plainFrames(chunk), undefined, { packing, effort })
    if (references.length === 0) return this.encode(bytes, undefined, { packing, effort })
    // Every large part of a message is a reference, so what the chunk itself holds can be copied.
    return this.encode(NO_FRAMES, partsOf(chunk), { packing, effort })
  }

  /** Returns a message as bare frames, whose large parts stay where they are. */
  frame(message: readonly Uint8Array[]): Chunk {
    return framesChunk(this.#builder, NO_FRAMES, message)
  }

  /**
   * Returns the plain frames of an encoded chunk, in memory of their own. Their flags say how its
   * message is sent, if that is given.
   */
  plainFrames(chunk: Chunk): Uint8Array {
    const frames = this.#plainFrames(chunk)
    if (chunk.formFlag) addFlag(frames, chunk.formFlag)
    return frames
  }

  #plainFrames(chunk: Chunk): Uint8Array {
    const encoded = chunk.arrays
    if (chunk.packing === "frames") return concat(encoded)
    const pieces: Uint8Array[] = []
    const sink = { take: (piece: Uint8Array) => pieces.push(new Uint8Array(piece)) > 0 }
    const settings = { budgetBytes: -1, revision: ARENAS_REVISION }
    const { format } = chunk
    const instance = format ? loadInstanceSync(loadFormatSync(format)) : this.#instance
    const transcoder = Transcoder.receiving(instance, settings, true)
    try {
      if (chunk.dictionary) transcoder.transcode(chunk.dictionary, sink)
      for (const piece of encoded) transcoder.transcode(piece, sink)
    } finally {
      transcoder.close()
    }
    return concat(pieces)
  }

  /** The message that sends the dictionary; undefined if there is none. */
  get dictionaryFrame(): Uint8Array | undefined {
    const { dictionary, format } = this.#settings
    if (!dictionary || this.#dictionaryFrame) return this.#dictionaryFrame
    const part = loadFormatSync(format).dictionaryPart(dictionary)
    this.#dictionaryFrame = concat([frameHead(part, 0), part])
    return this.#dictionaryFrame
  }

  /** Adds an endpoint that uses the sender and will close it. */
  share(): void {
    this.#users++
  }

  close(): void {
    if (--this.#users > 0) return
    this.#other?.close()
    this.#other = undefined
    this.#dictionaries?.close()
    this.#dictionaries = undefined
    this.#opened?.transcoder.close()
    this.#opened = undefined
  }

  #gather(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#gathered.push(bytes)
    this.#gatheredBytes += bytes.length
  }

  /** Gathers frames. Parts that are too large, or are sent plain, are handled separately. */
  #gatherFrames(frames: Uint8Array, stay: boolean): void {
    // Searching many small frames would take longer than transcoding them.
    let left = frames.length > this.#instance.partMax ? Number.POSITIVE_INFINITY : BYPASS_FRAMES
    let from = 0
    const head = new FrameHead()
    for (let at = 0; at < frames.length && left-- > 0; ) {
      const start = head.read(frames, at)
      const end = start + head.bodyBytes
      if (head.bodyBytes > BYPASS_MIN_BYTES) {
        this.#gather(frames.subarray(from, at))
        this.#gatherPart(frames.subarray(start, end), head.flags & MORE, stay)
        from = end
        left = Math.max(left, BYPASS_FRAMES)
      }
      at = end
    }
    this.#gather(frames.subarray(from))
  }

  #gatherMessage(message: readonly AnyPart[]): void {
    for (const [i, part] of message.entries()) {
      const more = i < message.length - 1 ? MORE : 0
      if (!(part instanceof FormedPart)) this.#gatherPart(fixedView(part), more, true)
      else if (part instanceof KeptPart) this.#forward(part.bytes, part.plainLength, more)
      else if (part instanceof TriedPart) this.#try(fixedView(part.bytes), more)
      else this.#passPlain(fixedView(part.bytes), more)
    }
  }

  /** Appends a part that is encoded already. */
  #forward(bytes: Uint8Array, plainLength: number, more: number): void {
    this.#transcode()
    const { zl_sending_kept } = this.#instance.exports
    zl_sending_kept(this.#handle, more, ...uint64(plainLength), ...uint64(bytes.length))
    this.#builder.append(frameHead(bytes, more))
    appendBody(this.#builder, bytes, true)
  }

  /** Appends a part that is sent plain whatever others of its size are. */
  #passPlain(part: Uint8Array, more: number): void {
    this.#transcode()
    const wireBytes = SENTINEL_BYTES + part.length
    this.#instance.exports.zl_sending_kept(
      ...([this.#handle, more, ...uint64(part.length), ...uint64(wireBytes)] as const),
    )
    const head = new Uint8Array(PLAIN_HEAD_MAX_BYTES) // with the sentinel of plain parts, zeros
    const headBytes = writeFrameHead(head, 0, more, wireBytes) + SENTINEL_BYTES
    this.#builder.append(head.subarray(0, headBytes))
    appendBody(this.#builder, part, true)
  }

  /** Appends a part, compressed if that makes it shorter, at the usual effort if there is none. */
  #try(part: Uint8Array, more: number): void {
    this.#transcode()
    const instance = this.#instance
    const { efforts } = instance.format
    const isNone = this.#effort === NO_EFFORT
    const effort = isNone ? (efforts.all[efforts.usual] as number) : this.#effort
    const { zl_transcoder_dictionary } = instance.exports
    const dictionary = isNone ? NULL : zl_transcoder_dictionary(this.#handle)
    this.#forward(writePart(instance, dictionary, 0, effort, part, copied), part.length, more)
  }

  /** @param stays whether the part's memory is not reused before the chunk is released. */
  #gatherPart(part: Uint8Array, more: number, stays: boolean): void {
    if (part.length > BYPASS_MIN_BYTES) {
      this.#transcode() // whether this part is compressed depends on the ones before it
      if (this.#goesPlain(part)) {
        this.#passOn(part, more, stays)
        return
      }
    }
    this.#gather(frameHead(part, more))
    if (part.length > this.#instance.partMax) this.#transcodeLarge(part)
    else this.#gather(part)
    if (this.#gatheredBytes > GATHERED_MAX_BYTES) this.#transcode()
  }

  /** Returns whether a part should not be compressed. Call it only when nothing is gathered. */
  #goesPlain(part: Uint8Array): boolean {
    const instance = this.#instance
    const { zl_sending_plan, zl_sending_shrinks } = instance.exports
    const { length } = part
    const plan = zl_sending_plan(this.#handle, ...uint64(length))
    if (plan <= IS_TRIED) return plan === GOES_PLAIN
    const middle = Math.floor(length / 2)
    const sample = instance.scratch(INPUT, 2 * plan)
    instance.bytes.set(part.subarray(0, plan), sample)
    instance.bytes.set(part.subarray(middle, middle + plan), sample + plan)
    return zl_sending_shrinks(this.#handle, sample, 2 * plan) === 0
  }

  /** Appends a plain part, whose body does not enter the module. */
  #passOn(part: Uint8Array, more: number, stays: boolean): void {
    const instance = this.#instance
    const head = instance.scratch(OUTPUT, PLAIN_HEAD_MAX_BYTES)
    const { zl_sending_plain } = instance.exports
    const headBytes = zl_sending_plain(this.#handle, head, more, ...uint64(part.length))
    this.#builder.append(instance.view(head, headBytes))
    appendBody(this.#builder, part, stays)
  }

  /** Transcodes a part whose head was gathered last. */
  #transcodeLarge(part: Uint8Array): void {
    this.#gather(part.subarray(0, SAMPLE_MAX_BYTES))
    if (this.#transcode() !== LARGE_PART) {
      // The module has decided to send it plain.
      const rest = part.subarray(SAMPLE_MAX_BYTES)
      this.#instance.exports.zl_body_taken(this.#handle, rest.length)
      this.#builder.append(rest)
      return
    }
    const instance = this.#instance
    const { zl_transcoder_dictionary, zl_large_done } = instance.exports
    const dictionary = zl_transcoder_dictionary(this.#handle)
    const head = instance.scratch(OUTPUT, LONG_HEAD_BYTES)
    let body: Uint8Array
    try {
      body = writeLarge(instance, dictionary, this.#effort, new ArraySource(part), copied)
    } catch (error) {
      zl_large_done(this.#handle, head, 0, 0) // otherwise no more could be encoded
      throw error
    }
    this.#transcoder.passLarge(body, this.#sink)
  }

  /** Transcodes the gathered input, but for the body of a large part at its end. Returns the status. */
  #transcode(): number {
    const length = this.#gatheredBytes
    if (length === 0) return 0
    const { instance, transcoder } = this.#open()
    const input = instance.scratch(INPUT, length)
    let end: number = input
    for (const bytes of this.#gathered) {
      copyShared(instance.bytes, end, bytes)
      end += bytes.length
    }
    this.#gathered.length = 0
    this.#gatheredBytes = 0
    return transcoder.run(input, length, this.#sink)
  }
}
