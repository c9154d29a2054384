import { REFERRED_MIN_BYTES } from "../base/limits.js"
import { clearTimeout, clockMs, setTimeout } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import { Chunk } from "../codec/chunk.js"
import { isOutdated } from "../transport/last-poll.js"
import type {
  Command,
  MessageEncoder,
  PeerConnection,
  PendingWrite,
  Waiting,
} from "../transport/transport.js"
import { areBelow, BATCH_BYTES, Batch, plainLength } from "./batch.js"
import { type FlushWaiter, FlushWaiters } from "./flush-waiters.js"
import { type Flushable, flushSoon, pollSoon, Rest } from "./flusher.js"
import type { Message } from "./message.js"
import { type EncodedConnection, NO_FRAMES, PeerEncoder } from "./peer-encoder.js"
import { PendingWrites } from "./pending-writes.js"
import { SendCredit } from "./send-credit.js"
import { SubscriptionChanges } from "./subscription-changes.js"

/** Milliseconds until a failed encoding, such as one that ran out of memory, is tried again. */
const RETRY_MS = 100

/** Number of queued items from which on only changes of subscriptions are kept, apart from the queue. */
const IN_ORDER_MAX = 1000

/**
 * The largest message that is copied into a batch, in bytes. Larger ones are encoded at once, directly
 * from the caller's memory. Plain messages have a limit of their own.
 */
const COPIED_MAX_BYTES = 8192
const PLAIN_COPIED_MAX_BYTES = 32 * 1024

/** The members of a connection that an outbound queue uses. */
export type OutboundConnection = EncodedConnection &
  Pick<
    PeerConnection,
    | ("writeMs" | "blocked" | "peerTakesCommands" | "waiting")
    | ("write" | "sendCommand" | "waitToSend" | "flush" | "isUpToDate")
  >

/** Events of an outbound queue, handled by its pipe. */
export interface OutboundEvents {
  /** The queue has room again. */
  writeActivated(): void
  /** All queued messages were passed to the connection. */
  emptied(): void
}

/** An open batch of messages that several queues share and that will be encoded once for all of them. */
export interface SharedBatch {
  readonly waiting: Waiting
  seal(): void
}

/** What the simulator's rules look at. */
export interface OutboundInternals {
  readonly credit: Readonly<Pick<SendCredit, "written" | "sent" | "highWaterMark">>
  readonly pending: PendingWrites | undefined
  /** Whether changes of subscriptions wait. */
  readonly hasChanges: boolean
  /** Number of messages in the open batch. */
  readonly batched: number
}

/**
 * The sending half of a pipe: the messages that it has accepted and that its connection has not taken,
 * which are an open batch and what was encoded before it. Limits them to a high-water mark.
 */
export class Outbound implements Flushable {
  readonly encoder: PeerEncoder
  /** Whether what is queued waits for the next connection when this one is lost. */
  outlivesConnection = false
  /** The open batch of a distribution that has messages for this queue. */
  shared: SharedBatch | undefined
  /** Whether only the latest message is kept. */
  readonly conflates: boolean
  readonly rest: Rest = new Rest()
  readonly #events: OutboundEvents
  #connection: OutboundConnection | undefined
  /** The messages that are not encoded yet; undefined if there are none. */
  #batch: Batch | undefined
  readonly #credit: SendCredit
  readonly #flushes: FlushWaiters
  #dropped = 0
  /** The encoded messages not yet written; undefined until there are any. */
  #pending: PendingWrites | undefined
  /** Changes of subscriptions to send after all that; undefined until there are any. */
  #changes: SubscriptionChanges | undefined
  /** Bytes of the chunks queued since the last flush. */
  #queuedBytes = 0
  #isScheduled = false
  /** The timer that flushes again after an encoding failed. */
  #retry: NodeJS.Timeout | undefined

  constructor(
    events: OutboundEvents,
    encoder: MessageEncoder,
    highWaterMark: number,
    conflates: boolean,
  ) {
    this.#events = events
    this.encoder = new PeerEncoder(encoder)
    this.conflates = conflates
    this.#credit = new SendCredit(conflates ? 0 : highWaterMark)
    this.#flushes = new FlushWaiters(this.#credit)
  }

  /** @param messages maximum number; 0 is no limit. A full queue stays full until a message has been sent. */
  set highWaterMark(messages: number) {
    if (!this.conflates) this.#credit.highWaterMark = messages
  }

  // -- The connection --------------------------------------------------------------

  get connection(): OutboundConnection | undefined {
    return this.#connection
  }

  /**
   * Attaches a connection. The next flush writes the queued messages to it.
   *
   * @throws Error of the encoder, if the messages cannot be encoded for this peer. They stay queued
   * for the next one.
   */
  attach(connection: OutboundConnection): void {
    // The batch may hold messages in wire form, which a peer that reads frames cannot read.
    if (connection.packing === "frames" && this.encoder.packing !== "frames") {
      this.shared?.seal()
      this.#encode()
    }
    this.#connection = connection
    this.encoder.connection = connection
  }

  /**
   * Detaches the connection. The next one will write `pending` first. If only the latest message is kept
   * and one is queued, `pending` is dropped.
   */
  detach(pending: readonly PendingWrite[] = []): void {
    this.#connection = undefined
    this.encoder.connection = undefined
    if (pending.length === 0) return
    if (this.conflates && !this.isEmpty) {
      for (const item of pending) if (item instanceof Chunk) item.release()
      return
    }
    for (const item of pending) this.#credit.sent -= item instanceof Chunk ? item.messages : 1
    this.#pending ??= new PendingWrites()
    this.#pending.putBack(pending)
  }

  // -- Room ------------------------------------------------------------------------

  /** Returns whether the high-water mark leaves room. */
  checkHwm(): boolean {
    return this.#credit.hasRoom
  }

  /** Flushes if the pipe is full, and returns whether there is room. If not, `writeActivated` will follow. */
  hasRoom(): boolean {
    if (this.#credit.hasRoom) return true
    // The network may have room: the messages may only be waiting for the end of the burst.
    this.shared?.seal()
    this.#flushNow()
    if (this.#credit.hasRoom) return true
    this.#credit.want()
    this.#connection?.waitToSend?.()
    return false
  }

  /** Returns whether `write` would accept a message. If not, `writeActivated` will follow. */
  checkWrite(): boolean {
    if (this.#credit.isRefusing) return false
    if (this.hasRoom()) return true
    this.#credit.refuse()
    return false
  }

  /** Whether the program waits until more has been sent. */
  get isAwaited(): boolean {
    return this.isUrgent || !this.#flushes.isEmpty
  }

  /** Whether a sender waits for room. */
  get isUrgent(): boolean {
    return this.#credit.isWanted
  }

  #checkWriteActive(): void {
    if (this.#credit.isWanted && this.#credit.regain()) this.#events.writeActivated()
  }

  /** Accepts no more messages. Those in the queue are still written. */
  endSending(): void {
    this.#credit.end()
  }

  /** Number of messages dropped because the pipe was full. */
  get dropped(): number {
    return this.#dropped
  }

  /** Counts a message as dropped because the pipe is full. */
  countDropped(): void {
    if (!this.#credit.hasEnded) this.#dropped++
  }

  // -- Queueing --------------------------------------------------------------------

  /** The messages that were accepted but not yet written, wherever they are queued; commands do not count. */
  get waiting(): Waiting {
    const total = { messages: 0, bytes: 0 }
    for (const place of [this.#pending, this.#batch, this.shared, this.#connection]) {
      if (!place) continue
      const { messages, bytes } = place.waiting
      total.messages += messages
      total.bytes += bytes
    }
    return total
  }

  /** Whether nothing is queued, apart from a shared batch. */
  get isEmpty(): boolean {
    return this.#batched === 0 && (this.#pending?.length ?? 0) === 0 && !this.#hasChanges
  }

  /** Number of messages in the batch, with those that another thread has already sent. */
  get #batched(): number {
    return this.#batch?.count ?? 0
  }

  get #hasChanges(): boolean {
    return this.#changes !== undefined && !this.#changes.isEmpty
  }

  /** Whether the queue is empty and the network has room, so that the next message can be written at once. */
  get isFree(): boolean {
    return this.isEmpty && this.#connection !== undefined && !this.#connection.blocked
  }

  get #isBlocked(): boolean {
    return this.#connection?.blocked ?? true
  }

  /**
   * Queues a message, of whose small parts copies are kept. Returns false if there is no room.
   *
   * @throws Error of the encoder. The message was not accepted then, and those before it stay
   * queued.
   */
  write(message: Message): boolean {
    if (!this.#credit.accepts && !this.checkWrite()) return false
    this.shared?.seal()
    const bytes = plainLength(message)
    if (this.conflates) this.drop()
    else if (bytes > COPIED_MAX_BYTES && this.#isLarge(message, bytes)) {
      this.#writeLarge(message)
      return true
    } else if (this.#batch && this.#batch.length + bytes > this.#batch.maxBytes) {
      this.#encode()
      this.#flushNow()
    }
    this.#batch ??= this.#openBatch()
    this.#batch.append(message, bytes)
    this.#credit.written++
    this.#flushLater()
    return true
  }

  /** Returns whether a message of `bytes` is encoded at once, without a copy in the batch. */
  #isLarge(message: Message, bytes: number): boolean {
    return bytes > PLAIN_COPIED_MAX_BYTES || !areBelow(message, this.encoder.plainBelow())
  }

  #writeLarge(message: Message): void {
    // Parts of a message that has to wait stay where they are, to be encoded later.
    if (this.#isBlocked && !areBelow(message, REFERRED_MIN_BYTES)) {
      this.#encode()
      this.#enqueue(this.encoder.common.frame(message))
      this.encoder.endBatch()
    } else this.#encode(message)
    this.#credit.written++
    if (this.#queuedBytes >= BATCH_BYTES) this.#flushNow()
    else this.#flushLater()
  }

  #openBatch(): Batch {
    // A conflated message must not leave early, because the next one may replace it; nor may any other
    // overtake what is queued.
    const connection = !this.conflates && this.isFree ? this.#connection : undefined
    const memory = connection && this.encoder.common.openMemory?.([connection])
    return new Batch(this.encoder.plainBelow(), BATCH_BYTES, memory)
  }

  /**
   * Queues a command behind the messages before it. Subscriptions are state, which no high-water
   * mark limits. If much is queued already, the command follows later messages too.
   *
   * @param isChange whether the command begins or ends a subscription, rather than repeating one.
   */
  writeCommand(name: Command["name"], data: Uint8Array, isChange: boolean): void {
    if (this.#credit.hasEnded) return
    this.shared?.seal()
    this.#encode()
    if (this.#hasChanges || (this.#pending?.length ?? 0) >= IN_ORDER_MAX) {
      if (!isChange) return
      this.#changes ??= new SubscriptionChanges()
      this.#changes.add({ name, data })
    } else {
      this.#credit.written++
      this.#enqueue({ name, data })
    }
    this.#flushLater()
  }

  /** Drops the queued messages. */
  drop(): void {
    this.#pending?.clear()
    this.#changes?.clear()
    this.#dropBatch()
    this.#credit.sent = this.#credit.written
    this.#checkFlushes()
  }

  /** Drops the queued messages and makes room. Returns whether a sender was waiting for it. */
  reset(): boolean {
    this.shared?.seal()
    this.drop()
    return this.#credit.regain()
  }

  // -- Sharing a batch with other queues -------------------------------------------

  /** Counts a message in `batch`, which this queue shares with others. */
  countShared(batch: SharedBatch): void {
    this.shared = batch
    this.#credit.written++
  }

  /** Counts messages that have left the shared batch early, or were lost. */
  countGone(messages: number): void {
    this.#credit.sent += messages
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /**
   * Encodes the queue's own batch before a chunk for several queues is encoded, so that messages are
   * sampled in the order in which they are sent.
   */
  encodeOwn(): void {
    try {
      this.#encode()
    } catch {
      // The batch stays queued, and writeChunk() tries again.
    }
  }

  /**
   * Queues a chunk that was encoded for several queues and whose messages `countShared` has counted.
   *
   * @param mustPoll whether the event loop has to poll before the chunk is written.
   * @throws Error of the encoder, if the messages before the chunk cannot be encoded. The chunk is
   * lost then.
   */
  writeChunk(chunk: Chunk, mustPoll: boolean): void {
    if (this.#credit.hasEnded) {
      chunk.release()
      return
    }
    try {
      this.#encode()
    } catch (error) {
      this.#credit.sent += chunk.messages
      chunk.release()
      throw error
    }
    this.#enqueue(chunk)
    if (mustPoll) this.#flushLater()
    else this.#writeNow()
  }

  // -- Encoding --------------------------------------------------------------------

  /** Encodes the batch, with `message` after it, and queues the chunk. */
  #encode(message?: Message): void {
    if (message === undefined && this.#batched === 0) return
    const chunk = this.#pack(message)
    if (chunk) this.#enqueue(chunk)
  }

  /**
   * Encodes the batch and `message` after it, without the messages that have left the batch early. Returns
   * undefined if none is left.
   *
   * @throws Error of the encoder. The batch stays then.
   */
  #pack(message?: Message): Chunk | undefined {
    const batch = this.#batch
    const frames = batch?.seal() ?? NO_FRAMES
    const messages = this.#batched + (message ? 1 : 0)
    const hasSome = frames.length > 0 || message !== undefined || (batch?.messages ?? 0) > 0
    const chunk = hasSome ? this.encoder.encode(frames, message, batch) : undefined
    this.#dropBatch()
    this.#credit.sent += messages - (chunk?.messages ?? 0)
    return chunk
  }

  #dropBatch(): void {
    this.#batch?.release()
    this.#batch = undefined
    this.encoder.endBatch()
  }

  /**
   * Takes the next item of the queue, encoded again if the current peer needs that, or joined with
   * the chunks that follow it in memory.
   *
   * @throws Error of the encoder. The item stays queued then.
   */
  #take(pending: PendingWrites): PendingWrite {
    const first = pending.first()
    const { encoder } = this
    if (!(first instanceof Chunk) || first.detached || !encoder.mustRepack(first))
      return pending.takeJoined(encoder.packing)
    const repacked = encoder.repack(first)
    pending.shift()
    return repacked
  }

  #enqueue(item: PendingWrite): void {
    this.#pending ??= new PendingWrites()
    if (!(item instanceof Chunk)) {
      this.#pending.push(item)
      return
    }
    this.#queuedBytes += item.length
    if (this.#isBlocked) this.#pending.pushCopy(item)
    else this.#pending.push(item)
  }

  // -- Writing to the connection ---------------------------------------------------

  get writeMs(): number {
    return this.#connection?.writeMs ?? 0
  }

  #flushLater(): void {
    if (this.#isScheduled || !this.#connection) return
    this.#isScheduled = true
    flushSoon(this)
  }

  /** Ends the rest after the last flush, because the next message sent may be a reply to one just received. */
  endRest(): void {
    this.rest.end()
    if (this.#isScheduled) pollSoon()
  }

  /** Writes queued messages while the network has room, and reports room in the queue. */
  flush(): void {
    this.#isScheduled = false
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#writeWaiting()
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /** Does the same, or schedules it for after a poll. */
  flushOrWait(): void {
    if (this.#mustPoll()) this.#flushLater()
    else this.flush()
  }

  /**
   * Does the same for a caller that is iterating its pipes: `writeActivated` is deferred to the end
   * of the burst.
   */
  #flushNow(): void {
    if (this.#mustPoll()) this.#flushLater()
    else this.#writeNow()
  }

  /** Whether to wait for a poll before a flush: the peer may have gone without this side's knowledge. */
  #mustPoll(): boolean {
    if (!this.#connection) return false
    const nowMs = clockMs()
    return isOutdated(nowMs) && !this.isUpToDate(nowMs)
  }

  /** Returns whether what is known of the peer is recent, whenever the event loop has polled. */
  isUpToDate(nowMs: number): boolean {
    // What was read may precede the end. That matters where the next connection gets what waits.
    return !this.outlivesConnection && (this.#connection?.isUpToDate(nowMs) ?? false)
  }

  #writeNow(): void {
    this.#writeWaiting()
    this.#checkFlushes()
    if (!this.isUrgent) return
    this.#credit.reopen()
    this.#flushLater()
    pollSoon()
  }

  #writeWaiting(): void {
    const connection = this.#connection
    if (!connection || connection.blocked) return
    const pending = this.#pending
    while (pending !== undefined && pending.length > 0) {
      const item = this.#next(pending)
      if (!item) return
      this.#writeItem(connection, item)
      if (connection.blocked) {
        pending.copySome()
        return
      }
    }
    this.#queuedBytes = 0
    if (this.#batched > 0) {
      let chunk: Chunk | undefined
      try {
        chunk = this.#pack()
      } catch (error) {
        this.#retryLater(error)
        return
      }
      if (chunk) this.#writeItem(connection, chunk)
    }
    while (this.#hasChanges) {
      if (connection.blocked) return
      this.#writeChange(connection)
    }
    this.#events.emptied()
  }

  #writeChange(connection: OutboundConnection): void {
    this.#credit.written++
    this.#writeItem(connection, this.#changes?.shift() as Command)
  }

  /** Takes the next item, or returns undefined if encoding it again failed and it stays queued. */
  #next(pending: PendingWrites): PendingWrite | undefined {
    try {
      return this.#take(pending)
    } catch (error) {
      this.#retryLater(error)
      return undefined
    }
  }

  /**
   * Schedules another flush after an encoding failed: the messages were already accepted, so they
   * stay queued.
   */
  #retryLater(error: unknown): void {
    throwLater(error)
    this.#retry ??= setTimeout(() => this.flushOrWait(), RETRY_MS)
  }

  #writeItem(connection: OutboundConnection, item: PendingWrite): void {
    if (item instanceof Chunk) {
      connection.write(item)
      this.#credit.sent += item.messages
      return
    }
    this.#credit.sent++
    const { name, data } = item
    if (connection.peerTakesCommands || name === "JOIN" || name === "LEAVE")
      connection.sendCommand(name, data)
    else connection.write(this.encoder.encodeSubscription(item))
  }

  #checkFlushes(): void {
    if (this.#flushes.length > 0 && !this.#hasChanges) this.#flushes.check(this.#connection)
  }

  /** Notifies `waiter` when all messages sent so far have been written, or never will be. */
  whenFlushed(waiter: FlushWaiter): void {
    this.shared?.seal()
    this.#flushes.add(waiter)
    this.flushOrWait()
    if (this.isAwaited) this.#connection?.waitToSend?.()
  }

  get internals(): OutboundInternals {
    return {
      credit: this.#credit,
      pending: this.#pending,
      hasChanges: this.#hasChanges,
      batched: this.#batched,
    }
  }

  // -- The exit of the process -----------------------------------------------------

  /**
   * Writes all queued messages even if the network has no room, because the process is about to
   * exit. One with a part whose memory has gone is left out: it would end the connection, and with it
   * what Node has not written yet.
   *
   * @throws Error of the encoder.
   */
  writeOut(): void {
    this.shared?.seal()
    this.#encode()
    const connection = this.#connection
    const pending = this.#pending
    while (connection && pending !== undefined && pending.length > 0) {
      const first = pending.first()
      if (first instanceof Chunk && first.detached) {
        pending.shift()
        this.#credit.sent += first.messages
        first.release()
      } else this.#writeItem(connection, this.#take(pending))
    }
    while (connection && this.#hasChanges) this.#writeChange(connection)
  }

  /**
   * Returns the plain frames of all queued messages, for a connection of another thread, because
   * the process is about to exit. A message with a part whose memory has gone is left out.
   *
   * @throws Error of the encoder.
   */
  takeFrames(): Uint8Array[] {
    this.shared?.seal()
    this.#encode()
    const frames: Uint8Array[] = []
    for (let item = this.#pending?.shift(); item; item = this.#pending?.shift())
      if (item instanceof Chunk && !item.detached)
        frames.push(this.encoder.common.plainFrames(item))
    return frames
  }
}
