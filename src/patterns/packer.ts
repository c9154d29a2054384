import type { Chunk, Packing } from "../codec/chunk.js"
import { REFERRED_MIN_BYTES } from "../codec/sender.js"
import type { Command, MessageEncoder, PeerConnection, Waiting } from "../transport/transport.js"
import { areBelow, BATCH_BYTES, Batch } from "./batch.js"
import type { Message } from "./message.js"

/**
 * The largest message that is copied into a batch, in bytes. Larger ones are encoded at once, directly
 * from the caller's memory. Plain messages have a limit of their own.
 */
const COPIED_MAX_BYTES = 8192
const PLAIN_COPIED_MAX_BYTES = 32 * 1024
const NO_FRAMES = new Uint8Array(0)
const NOTHING: Waiting = { messages: 0, bytes: 0 }

/** The members of a connection that a packer uses. */
export type PackerConnection = Pick<PeerConnection, "packing" | "encoding" | "sharing">

/** Collects the messages of a pipe in a batch, and encodes them as the current peer reads them. */
export class Packer {
  /** The encoder of the endpoint. */
  readonly encoder: MessageEncoder
  #packing: Packing
  #connection: PackerConnection | undefined
  #batch: Batch | undefined

  constructor(encoder: MessageEncoder) {
    this.encoder = encoder
    this.#packing = encoder.packing
  }

  attach(connection: PackerConnection): void {
    this.#connection = connection
    this.#packing = connection.packing
  }

  detach(): void {
    this.#connection = undefined
  }

  /** The packing for the current peer, or the latest one. */
  get packing(): Packing {
    return this.#packing
  }

  /** The encoder for the current peer, which may have a dictionary of its own. */
  get peerEncoder(): MessageEncoder {
    return this.#connection?.encoding?.sender ?? this.encoder
  }

  /** The packing for the current peer; undefined if there is no connection. */
  get peerPacking(): Packing | undefined {
    return this.#connection && this.#packing
  }

  /**
   * Returns whether the peer of a connection can read the open batch. It may hold messages in wire
   * form, which a peer that reads frames cannot read.
   */
  canSwitchTo({ packing }: PackerConnection): boolean {
    return this.#packing === "frames" || packing !== "frames"
  }

  // -- The batch -------------------------------------------------------------------

  get isEmpty(): boolean {
    return this.#batch === undefined || this.#batch.length === 0
  }

  /** Number of messages in the batch, with those that another thread has already sent. */
  get count(): number {
    return this.#batch?.count ?? 0
  }

  get waiting(): Waiting {
    return this.#batch?.waiting ?? NOTHING
  }

  /** Returns whether a message of `bytes` is to be encoded at once, without a copy in the batch. */
  isLarge(message: Message, bytes: number): boolean {
    if (bytes <= COPIED_MAX_BYTES) return false
    return bytes > PLAIN_COPIED_MAX_BYTES || !areBelow(message, this.#plainBelow)
  }

  /** Returns whether parts of a message that has to wait may stay where they are, to be encoded later. */
  mayWait(message: Message): boolean {
    return !areBelow(message, REFERRED_MIN_BYTES)
  }

  /** Returns whether the batch must be encoded before a message of `bytes` can be appended. */
  isFull(bytes: number): boolean {
    return this.#batch !== undefined && this.#batch.length + bytes > this.#batch.maxBytes
  }

  /**
   * Opens a batch if there is none.
   *
   * @param mayShare whether another thread may send its messages early, because nothing has to be
   * written before them.
   */
  open(mayShare: boolean): void {
    if (this.#batch) return
    const connection = this.#connection
    const memory = mayShare ? connection?.sharing?.openMemory([connection]) : undefined
    this.#batch = new Batch(this.#plainBelow, BATCH_BYTES, memory)
  }

  /** Appends a copy of a message to the open batch. `bytes` is its `plainLength`. */
  append(message: Message, bytes: number): void {
    const batch = this.#batch as Batch
    batch.append(message, bytes)
  }

  get #plainBelow(): number {
    const effort = this.#connection?.encoding?.nextEffort()
    return this.peerEncoder.plainBelow(this.peerPacking, effort)
  }

  /** Drops the batch. */
  drop(): void {
    this.#batch?.release()
    this.#batch = undefined
  }

  // -- Encoding --------------------------------------------------------------------

  /**
   * Encodes the batch and `message` after it, without the messages that another thread has already
   * sent. Returns undefined if none is left.
   *
   * @throws Error of the encoder. The batch stays then.
   */
  encode(message?: Message): Chunk | undefined {
    const batch = this.#batch
    const frames = batch?.seal() ?? NO_FRAMES
    const encoding = this.#connection?.encoding
    let chunk: Chunk | undefined
    const effort = message || this.count > 0 ? encoding?.nextEffort() : undefined
    if (frames.length > 0 || message) {
      chunk = this.peerEncoder.encode(frames, message, batch, this.#packing, effort)
      if (encoding?.trains) encoding.sampled([encoding], frames, message)
    } else if (batch && batch.messages > 0) chunk = batch.takeChunk()
    if (chunk) encoding?.encoded(chunk)
    this.drop()
    return chunk
  }

  /** Returns a large message as frames, whose large parts stay where they are: `repack()` encodes it. */
  frame(message: Message): Chunk {
    return this.encoder.frame(message)
  }

  /** Encodes a subscription as a message, for a peer that speaks ZMTP 3.0. */
  encodeSubscription({ name, data }: Command): Chunk {
    const message = Buffer.alloc(1 + data.length)
    message[0] = name === "SUBSCRIBE" ? 1 : 0
    message.set(data, 1)
    const packing = this.#packing === "arenas" ? "parts" : this.#packing
    return this.encoder.encode(NO_FRAMES, [message], undefined, packing)
  }

  /**
   * Returns whether a chunk must be encoded again: it was packed for another kind of peer, or with
   * the dictionary of another connection, or is in memory that the connection does not see.
   */
  mustRepack(chunk: Chunk): boolean {
    const { dictionary } = chunk
    const encoder = this.peerEncoder
    const isForeign = dictionary !== undefined && dictionary !== encoder.dictionaryFrame
    return isForeign || !chunk.fits(this.#packing) || !encoder.accepts(chunk)
  }

  /**
   * Encodes a chunk again and releases it.
   *
   * @throws Error of the encoder. The chunk is unchanged then.
   */
  repack(chunk: Chunk): Chunk {
    const encoding = this.#connection?.encoding
    const isFirst = chunk.packing === "frames" // others were measured when they were encoded first
    const effort = encoding?.nextEffort()
    const repacked = this.peerEncoder.repack(chunk, this.#packing, effort)
    if (isFirst) encoding?.encoded(repacked)
    return repacked
  }
}
