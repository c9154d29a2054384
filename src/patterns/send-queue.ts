import { REFERRED_MIN_BYTES } from "../base/limits.js"
import { Chunk } from "../codec/chunk.js"
import type {
  Command,
  MessageEncoder,
  PeerConnection,
  PendingWrite,
  Waiting,
} from "../transport/transport.js"
import { areBelow, BATCH_BYTES, Batch } from "./batch.js"
import type { Message } from "./message.js"
import { type EncodedConnection, PeerEncoder } from "./peer-encoder.js"
import { PendingWrites, sumOfWaiting } from "./pending-writes.js"
import type { SendCredit } from "./send-credit.js"
import { SubscriptionChanges } from "./subscription-changes.js"

/** Number of queued items from which on only changes of subscriptions are kept, apart from the queue. */
const IN_ORDER_MAX = 1000

/**
 * The largest message that is copied into a batch, in bytes. Larger ones are encoded at once, directly
 * from the caller's memory. Plain messages have a limit of their own.
 */
const COPIED_MAX_BYTES = 8192
const PLAIN_COPIED_MAX_BYTES = 32 * 1024

export type QueueConnection = EncodedConnection & Pick<PeerConnection, "blocked">

/**
 * The messages and commands that a pipe has accepted and that its connection has not taken: encoded
 * messages first, then an open batch, then changes of subscriptions.
 */
export class SendQueue<Connection extends QueueConnection> {
  readonly encoder: PeerEncoder
  readonly #credit: SendCredit
  readonly #conflates: boolean
  #connection: Connection | undefined
  /** Encoded messages and commands; undefined until there are any. */
  pending: PendingWrites | undefined
  #batch: Batch | undefined
  /** Undefined until there are any. */
  #changes: SubscriptionChanges | undefined
  /** Bytes of the chunks added since there were none. */
  #chunkBytes = 0

  constructor(encoder: MessageEncoder, credit: SendCredit, conflates: boolean) {
    this.encoder = new PeerEncoder(encoder)
    this.#credit = credit
    this.#conflates = conflates
  }

  get connection(): Connection | undefined {
    return this.#connection
  }

  set connection(connection: Connection | undefined) {
    this.#connection = connection
    this.encoder.connection = connection
  }

  /** The messages of the pending chunks and of the batch; commands do not count. */
  get waiting(): Waiting {
    return sumOfWaiting(this.pending, this.#batch)
  }

  get isEmpty(): boolean {
    return this.batched === 0 && (this.pending?.length ?? 0) === 0 && !this.hasChanges
  }

  /** Whether nothing is queued and the network has room, so that a message can be written at once. */
  get isFree(): boolean {
    return this.#connection !== undefined && !this.#connection.blocked && this.isEmpty
  }

  /** Whether enough is encoded to be written before the end of the burst. */
  get isDue(): boolean {
    return this.#chunkBytes >= BATCH_BYTES
  }

  /** Number of messages in the batch, with those that have left it early. */
  get batched(): number {
    return this.#batch?.count ?? 0
  }

  get hasChanges(): boolean {
    return this.#changes !== undefined && !this.#changes.isEmpty
  }

  get #isBlocked(): boolean {
    return this.#connection?.blocked ?? true
  }

  /** Returns whether a message of `bytes` is encoded at once, without a copy in the batch. */
  isLarge(message: Message, bytes: number): boolean {
    if (bytes <= COPIED_MAX_BYTES) return false
    return bytes > PLAIN_COPIED_MAX_BYTES || !areBelow(message, this.encoder.plainBelow())
  }

  /** Encodes a message and those before it. If it has to wait, it is encoded later. */
  pushLarge(message: Message): void {
    if (!this.#isBlocked || areBelow(message, REFERRED_MIN_BYTES)) {
      this.encode(message)
      return
    }
    this.encode()
    this.push(this.encoder.frame(message))
  }

  /** Encodes a message with parts that its encoder passes on as they came, and those before it. */
  pushAsCame(message: Message): void {
    this.encode()
    this.push(this.encoder.encodeAsCame(message))
  }

  /** Returns whether the batch has no room for a message of `bytes`. */
  isFullFor(bytes: number): boolean {
    return this.#batch !== undefined && this.#batch.length + bytes > this.#batch.maxBytes
  }

  /** Copies a message to the batch. `bytes` is its `plainLength`. */
  append(message: Message, bytes: number): void {
    this.#batch ??= this.#openBatch()
    this.#batch.append(message, bytes)
  }

  /**
   * Queues a copy of a message in place of all others. `bytes` is its `plainLength`.
   *
   * @throws Error if memory runs out. The others stay then.
   */
  replace(message: Message, bytes: number): void {
    this.encoder.endBatch() // the new one chooses its effort
    const batch = this.#openBatch()
    batch.append(message, bytes)
    this.#clear()
    this.#batch = batch
  }

  /**
   * Queues a message with parts that its encoder passes on as they came, in place of all others.
   *
   * @throws Error of the encoder. The others stay then.
   */
  replaceAsCame(message: Message): void {
    const chunk = this.encoder.encodeAsCame(message)
    this.clear()
    this.push(chunk)
  }

  #openBatch(): Batch {
    // A conflated message must not leave early, because the next one may replace it; nor may any other
    // overtake what is queued.
    const connection = !this.#conflates && this.isFree ? this.#connection : undefined
    const memory = connection && this.encoder.common.openMemory?.([connection])
    return new Batch(this.encoder.plainBelow(), BATCH_BYTES, memory)
  }

  /**
   * Adds a command behind the messages before it, or with those that later messages overtake if much is
   * queued already. Returns whether there is something new to write.
   *
   * @param isChange whether the command begins or ends a subscription, rather than repeating one.
   */
  pushCommand(command: Command, isChange: boolean): boolean {
    this.encode()
    if (!this.hasChanges && (this.pending?.length ?? 0) < IN_ORDER_MAX) {
      this.#credit.written++
      this.push(command)
      return true
    }
    if (!isChange) return false
    this.#changes ??= new SubscriptionChanges()
    this.#changes.add(command)
    return true
  }

  push(item: PendingWrite): void {
    this.pending ??= new PendingWrites()
    if (!(item instanceof Chunk)) {
      this.pending.push(item)
      return
    }
    this.#chunkBytes += item.length
    if (this.#isBlocked) this.pending.pushCopy(item)
    else this.pending.push(item)
  }

  /** Puts back what a lost connection did not write. */
  putBack(pending: readonly PendingWrite[]): void {
    for (const item of pending) this.#credit.sent -= item instanceof Chunk ? item.messages : 1
    this.pending ??= new PendingWrites()
    this.pending.putBack(pending)
  }

  /**
   * Encodes the batch, with `message` after it.
   *
   * @throws Error of the encoder. The batch stays then.
   */
  encode(message?: Message): void {
    const chunk = this.#takeBatch(message)
    if (chunk) this.push(chunk)
  }

  /** Takes the batch, encoded with `message` after it, without the messages that have left it early. */
  #takeBatch(message?: Message): Chunk | undefined {
    const batch = this.#batch
    if (!batch && message === undefined) return undefined
    const messages = this.batched + (message ? 1 : 0)
    const chunk = this.encoder.encode(batch, message)
    this.#dropBatch()
    this.#credit.sent += messages - (chunk?.messages ?? 0)
    return chunk
  }

  #dropBatch(): void {
    this.#releaseBatch()
    this.encoder.endBatch()
  }

  #releaseBatch(): void {
    this.#batch?.release()
    this.#batch = undefined
  }

  /**
   * Takes the next item as the current peer reads it, joined with the chunks that follow it in memory.
   * Returns undefined if nothing is left, which may be noticed only now.
   *
   * @throws Error of the encoder. The item stays queued then.
   */
  next(): PendingWrite | undefined {
    const { encoder } = this
    const pending = this.pending
    const first = pending?.first()
    if (pending && first) {
      const isReady = !(first instanceof Chunk) || first.detached || !encoder.mustRepack(first)
      const item = isReady ? pending.takeJoined(encoder.packing) : encoder.repack(first)
      if (!isReady) pending.shift()
      if (pending.length === 0) this.#chunkBytes = 0
      return item
    }
    const chunk = this.#takeBatch()
    if (chunk || !this.hasChanges) return chunk
    this.#credit.written++
    return this.#changes?.shift()
  }

  /** Takes all items but messages with a part whose memory has gone: they would end the connection. */
  *takeAll(): Generator<PendingWrite> {
    for (let item = this.next(); item; item = this.next()) {
      if (!(item instanceof Chunk && item.detached)) yield item
      else {
        this.#credit.sent += item.messages
        item.release()
      }
    }
  }

  /** Copies the chunks that have to wait out of slabs from time to time. */
  copySome(): void {
    this.pending?.copySome()
  }

  clear(): void {
    this.#clear()
    this.encoder.endBatch()
  }

  /** Drops everything but the effort, which may be that of the next batch. */
  #clear(): void {
    this.pending?.clear()
    this.#chunkBytes = 0
    this.#changes?.clear()
    this.#releaseBatch()
    this.#credit.sent = this.#credit.written
  }
}
