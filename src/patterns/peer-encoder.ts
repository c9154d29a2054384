import type { Chunk } from "../codec/chunk.js"
import { fitted } from "../codec/formed-part.js"
import type { Packing } from "../codec/packing.js"
import { encodeMeasured, repackMeasured } from "../transport/encode-measured.js"
import type { Command, Encoding, MessageEncoder, PeerConnection } from "../transport/transport.js"
import type { Batch } from "./batch.js"
import type { Message } from "./message.js"
import { subscriptionMessage } from "./subscription-changes.js"

export const NO_FRAMES: Uint8Array = new Uint8Array(0)

/** Returns a message with the plaintext of the parts that an encoder does not pass on as they came. */
export const fittedTo = (encoder: MessageEncoder, packing: Packing, message: Message): Message =>
  fitted(message, (part) => encoder.forwards(part, packing)) as Message

export type EncodedConnection = Pick<PeerConnection, "packing" | "encoding">

/**
 * The encoder of a pipe's messages: makes chunks for its current peer, or for one like the latest, at
 * the effort that the connection chooses. The format is a `MessageEncoder` that it is given.
 */
export class PeerEncoder {
  readonly #common: MessageEncoder
  #connection: EncodedConnection | undefined
  #latestPacking: Packing
  /** The effort that was chosen when the open batch was opened. */
  #effort: number | undefined

  constructor(common: MessageEncoder) {
    this.#common = common
    this.#latestPacking = common.packing
  }

  set connection(connection: EncodedConnection | undefined) {
    this.#latestPacking = this.packing
    this.#connection = connection
    this.#effort = undefined
  }

  /** The packing for the current peer, or the latest one. */
  get packing(): Packing {
    return this.#connection?.packing ?? this.#latestPacking
  }

  /** The encoder of the endpoint, for any of its peers that have the format of the current one. */
  get common(): MessageEncoder {
    return this.encoding?.common ?? this.#common
  }

  /** The encoder for the current peer, which may have a dictionary of its own. */
  get current(): MessageEncoder {
    return this.encoding?.sender ?? this.common
  }

  get encoding(): Encoding | undefined {
    return this.#connection?.encoding
  }

  /**
   * Returns the size below which the next encoding leaves parts plain. Chooses the effort, unless the
   * open batch has one.
   */
  plainBelow(): number {
    this.#effort ??= this.encoding?.nextEffort()
    return this.current.plainBelow(this.#connection && this.packing, this.#effort)
  }

  /** Gives up the effort of the open batch, which has gone. */
  endBatch(): void {
    this.#effort = undefined
  }

  /**
   * Encodes a batch and `message` after it, and trains dictionaries on them. Returns undefined if all
   * messages have left the batch early.
   *
   * @throws Error of the encoder. The effort of the batch stays then.
   */
  encode(batch: Batch | undefined, message: Message | undefined): Chunk | undefined {
    const frames = batch?.seal() ?? NO_FRAMES
    if (frames.length === 0 && message === undefined && !batch?.messages) return undefined
    const { encoding, packing } = this
    const effort = this.#effort ?? encoding?.nextEffort()
    const options = { plain: batch, packing, effort }
    const chunk = encodeMeasured(this.current, encoding, frames, message, options)
    // Messages in wire form cannot be sampled.
    if (encoding?.trains && (frames.length > 0 || message))
      encoding.sampled([encoding], frames, message as Buffer[] | undefined)
    return chunk
  }

  /** Returns a message with the plaintext of the parts that the peer is not sent as they came. */
  fit(message: Message): Message {
    return fittedTo(this.current, this.packing, message)
  }

  /**
   * Encodes a message with parts that are sent as they came. It says nothing about the effort.
   *
   * @throws Error of the encoder.
   */
  encodeAsCame(message: Message): Chunk {
    this.#effort = undefined
    const { packing, encoding } = this
    return this.current.encode(NO_FRAMES, message, { packing, effort: encoding?.nextEffort() })
  }

  /** Returns a message that has to wait as bare frames, to be encoded later. */
  frame(message: Message): Chunk {
    this.#effort = undefined
    return this.common.frame(message as Buffer[])
  }

  /** Encodes a subscription as a message, for a peer that speaks ZMTP 3.0. */
  encodeSubscription(command: Command): Chunk {
    const packing = this.packing === "arenas" ? "parts" : this.packing
    return this.common.encode(NO_FRAMES, [subscriptionMessage(command)], { packing })
  }

  /**
   * Returns whether a chunk must be encoded again: it was packed for another kind of peer, or with
   * the dictionary of another connection, or is in memory that the connection does not see.
   */
  mustRepack(chunk: Chunk): boolean {
    const { dictionary } = chunk
    const { current } = this
    const isForeign = dictionary !== undefined && dictionary !== current.dictionaryFrame
    return isForeign || !chunk.fits(this.packing) || !current.accepts(chunk)
  }

  /** Encodes a chunk again and releases it, or throws the encoder's error and leaves it unchanged. */
  repack(chunk: Chunk): Chunk {
    const effort = this.encoding?.nextEffort()
    const measures = chunk.packing === "frames" ? this.encoding : undefined
    return repackMeasured(this.current, measures, chunk, this.packing, effort)
  }
}
