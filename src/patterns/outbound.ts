import { clearTimeout, clockMs, setTimeout } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import { Chunk } from "../codec/chunk.js"
import { hasForms } from "../codec/formed-part.js"
import { isOutdated } from "../transport/last-poll.js"
import type {
  Command,
  MessageEncoder,
  PeerConnection,
  PendingWrite,
  Waiting,
} from "../transport/transport.js"
import { plainLength } from "./batch.js"
import { type FlushWaiter, FlushWaiters } from "./flush-waiters.js"
import { type Flushable, flushSoon, pollSoon, Rest } from "./flusher.js"
import type { Message } from "./message.js"
import type { PeerEncoder } from "./peer-encoder.js"
import { sumOfWaiting } from "./pending-writes.js"
import { SendCredit } from "./send-credit.js"
import { type QueueConnection, SendQueue } from "./send-queue.js"

/** Milliseconds until a failed encoding, such as one that ran out of memory, is tried again. */
const RETRY_MS = 100

export type OutboundConnection = QueueConnection &
  Pick<
    PeerConnection,
    | ("writeMs" | "peerTakesCommands" | "waiting")
    | ("write" | "sendCommand" | "waitToSend" | "flush" | "isUpToDate")
  >

/** Events of an outbound queue, handled by its pipe. */
export interface OutboundEvents {
  writeActivated(): void
  /** All queued messages were passed to the connection. */
  emptied(): void
}

/** An open batch of messages that several queues share, to be encoded once for all of them. */
export interface SharedBatch {
  readonly waiting: Waiting
  seal(): void
}

/**
 * The sending half of a pipe. Limits the messages in its queue to a high-water mark, and writes them
 * when the program's burst ends (see flusher.ts) and when the connection is writable again.
 *
 * A message goes from write() to SendQueue.append(), and in a flush from SendQueue.next(), which has
 * PeerEncoder encode it, to the connection.
 */
export class Outbound implements Flushable {
  readonly queue: SendQueue<OutboundConnection>
  /** Whether what is queued waits for the next connection when this one is lost. */
  outlivesConnection = false
  /** The open batch of a distribution that has messages for this queue. */
  shared: SharedBatch | undefined
  readonly conflates: boolean
  readonly rest: Rest = new Rest()
  readonly #events: OutboundEvents
  readonly credit: SendCredit
  readonly #flushes: FlushWaiters
  #dropped = 0
  #isScheduled = false
  #retry: NodeJS.Timeout | undefined

  constructor(
    events: OutboundEvents,
    encoder: MessageEncoder,
    highWaterMark: number,
    conflates: boolean,
  ) {
    this.#events = events
    this.conflates = conflates
    this.credit = new SendCredit(conflates ? 0 : highWaterMark)
    this.queue = new SendQueue(encoder, this.credit, conflates)
    this.#flushes = new FlushWaiters(this.credit)
  }

  /** Sets the maximum number of messages; 0 is no limit. A full queue stays full until one is sent. */
  set highWaterMark(messages: number) {
    if (!this.conflates) this.credit.highWaterMark = messages
  }

  // -- The connection --------------------------------------------------------------

  get encoder(): PeerEncoder {
    return this.queue.encoder
  }

  get connection(): OutboundConnection | undefined {
    return this.queue.connection
  }

  /**
   * Attaches a connection. The next flush writes the queued messages to it.
   *
   * @throws Error of the encoder, if the messages cannot be encoded for this peer. They stay queued
   * for the next one.
   */
  attach(connection: OutboundConnection): void {
    const { queue } = this
    // The batch may hold messages in wire form, which a peer that reads frames cannot read.
    if (connection.packing === "frames" && queue.encoder.packing !== "frames") {
      this.shared?.seal()
      queue.encode()
    }
    queue.connection = connection
  }

  /**
   * Detaches the connection. The next one will write `pending` first. If only the latest message is kept
   * and one is queued, `pending` is dropped.
   */
  detach(pending: readonly PendingWrite[]): void {
    this.queue.connection = undefined
    if (pending.length === 0) return
    if (!this.conflates || this.queue.isEmpty) this.queue.putBack(pending)
    else for (const item of pending) if (item instanceof Chunk) item.release()
  }

  // -- Room ------------------------------------------------------------------------

  checkHwm(): boolean {
    return this.credit.hasRoom
  }

  /** Flushes if the queue is full. Returns whether it has room; if not, `writeActivated` follows. */
  hasRoom(): boolean {
    if (this.credit.hasRoom) return true
    // The network may have room: the messages may only be waiting for the end of the burst.
    this.shared?.seal()
    this.#flushNow()
    if (this.credit.hasRoom) return true
    this.credit.want()
    this.connection?.waitToSend?.()
    return false
  }

  /** Returns whether `write` would accept a message; if not, `writeActivated` follows. */
  checkWrite(): boolean {
    if (this.credit.isRefusing) return false
    if (this.hasRoom()) return true
    this.credit.refuse()
    return false
  }

  /** Whether the program waits until more has been sent. */
  get isAwaited(): boolean {
    return this.isUrgent || !this.#flushes.isEmpty
  }

  get isUrgent(): boolean {
    return this.credit.isWanted
  }

  #checkWriteActive(): void {
    if (this.credit.isWanted && this.credit.regain()) this.#events.writeActivated()
  }

  /** Accepts no more messages. Those in the queue are still written. */
  endSending(): void {
    this.credit.end()
  }

  get dropped(): number {
    return this.#dropped
  }

  /** Counts a message as dropped because the pipe is full. */
  countDropped(): void {
    if (!this.credit.hasEnded) this.#dropped++
  }

  // -- Queueing --------------------------------------------------------------------

  /** Messages accepted but not yet written, wherever they are queued; commands do not count. */
  get waiting(): Waiting {
    return sumOfWaiting(this.queue, this.shared, this.connection)
  }

  /**
   * Queues a message, of whose small parts copies are kept. Returns false if there is no room.
   *
   * @throws Error of the encoder, or if memory runs out. The message was not accepted then; those before
   * it stay queued.
   */
  write(message: Message): boolean {
    if (!this.credit.accepts && !this.checkWrite()) return false
    this.shared?.seal()
    const bytes = plainLength(message)
    if (bytes === Number.POSITIVE_INFINITY) this.#writeAsCame(message)
    else this.#write(message, bytes)
    if (this.conflates) this.#checkFlushes() // they do not wait for what was replaced
    return true
  }

  #write(message: Message, bytes: number): void {
    if (this.conflates) this.queue.replace(message, bytes)
    else if (this.queue.isLarge(message, bytes)) {
      this.#writeLarge(message)
      return
    } else this.#append(message, bytes)
    this.credit.written++
    this.#flushLater()
  }

  #append(message: Message, bytes: number): void {
    if (this.queue.isFullFor(bytes)) {
      this.queue.encode()
      this.#flushNow()
    }
    this.queue.append(message, bytes)
  }

  /** Queues a message with parts as they came, or their plaintext where that is not possible. */
  #writeAsCame(message: Message): void {
    const sent = this.queue.encoder.fit(message)
    if (!hasForms(sent)) {
      this.#write(sent, plainLength(sent))
      return
    }
    if (this.conflates) this.queue.replaceAsCame(sent)
    else this.queue.pushAsCame(sent)
    this.credit.written++
    this.#flushDue()
  }

  #writeLarge(message: Message): void {
    this.queue.pushLarge(message)
    this.credit.written++
    this.#flushDue()
  }

  #flushDue(): void {
    if (this.queue.isDue) this.#flushNow()
    else this.#flushLater()
  }

  /**
   * Queues a command behind the messages before it. Subscriptions are state, which no high-water
   * mark limits. If much is queued already, the command follows later messages too.
   *
   * @param isChange whether the command begins or ends a subscription, rather than repeating one.
   */
  writeCommand(name: Command["name"], data: Uint8Array, isChange: boolean): void {
    if (this.credit.hasEnded) return
    this.shared?.seal()
    if (this.queue.pushCommand({ name, data }, isChange)) this.#flushLater()
  }

  drop(): void {
    this.queue.clear()
    this.#checkFlushes()
  }

  /** Drops the queued messages and makes room. Returns whether a sender was waiting for it. */
  reset(): boolean {
    this.shared?.seal()
    this.drop()
    return this.credit.regain()
  }

  // -- Sharing a batch with other queues -------------------------------------------

  /** Counts a message in `batch`, which this queue shares with others. */
  countShared(batch: SharedBatch): void {
    this.shared = batch
    this.credit.written++
  }

  /** Counts messages that have left the shared batch early, or were lost. */
  countGone(messages: number): void {
    this.credit.sent += messages
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /**
   * Encodes the queue's own batch before a chunk for several queues is encoded, so that messages are
   * sampled in the order in which they are sent.
   */
  encodeOwn(): void {
    try {
      this.queue.encode()
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
    if (this.credit.hasEnded) {
      chunk.release()
      return
    }
    try {
      this.queue.encode()
    } catch (error) {
      this.credit.sent += chunk.messages
      chunk.release()
      throw error
    }
    this.queue.push(chunk)
    if (mustPoll) this.#flushLater()
    else this.#writeNow()
  }

  // -- Writing to the connection ---------------------------------------------------

  get writeMs(): number {
    return this.connection?.writeMs ?? 0
  }

  #flushLater(): void {
    if (this.#isScheduled || !this.connection) return
    this.#isScheduled = true
    flushSoon(this)
  }

  /** Ends the rest after the last flush: the next message may be a reply to one just received. */
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

  /** Flushes, or schedules that for after a poll. */
  flushOrWait(): void {
    if (this.#mustPoll()) this.#flushLater()
    else this.flush()
  }

  /** Flushes for a caller that iterates its pipes: `writeActivated` waits for the end of the burst. */
  #flushNow(): void {
    if (this.#mustPoll()) this.#flushLater()
    else this.#writeNow()
  }

  /** Whether to wait for a poll before a flush: the peer may have gone without this side's knowledge. */
  #mustPoll(): boolean {
    if (!this.connection) return false
    const nowMs = clockMs()
    return isOutdated(nowMs) && !this.isUpToDate(nowMs)
  }

  isUpToDate(nowMs: number): boolean {
    // What was read may precede the end. That matters where the next connection gets what waits.
    return !this.outlivesConnection && (this.connection?.isUpToDate(nowMs) ?? false)
  }

  #writeNow(): void {
    this.#writeWaiting()
    this.#checkFlushes()
    if (!this.isUrgent) return
    this.credit.reopen()
    this.#flushLater()
    pollSoon()
  }

  #writeWaiting(): void {
    const { connection, queue } = this
    if (!connection) return
    while (!queue.isEmpty) {
      if (connection.blocked) {
        queue.copySome()
        return
      }
      let item: PendingWrite | undefined
      try {
        item = queue.next()
      } catch (error) {
        this.#retryLater(error)
        return
      }
      if (!item) break
      this.writeItem(connection, item)
    }
    this.#events.emptied()
  }

  /** Flushes again later: an encoding failed, and its messages were already accepted. */
  #retryLater(error: unknown): void {
    throwLater(error)
    this.#retry ??= setTimeout(() => this.flushOrWait(), RETRY_MS)
  }

  writeItem(connection: OutboundConnection, item: PendingWrite): void {
    if (item instanceof Chunk) {
      connection.write(item)
      this.credit.sent += item.messages
      return
    }
    this.credit.sent++
    const { name, data } = item
    if (connection.peerTakesCommands || name === "JOIN" || name === "LEAVE")
      connection.sendCommand(name, data)
    else connection.write(this.encoder.encodeSubscription(item))
  }

  #checkFlushes(): void {
    if (this.#flushes.length > 0 && !this.queue.hasChanges) this.#flushes.check(this.connection)
  }

  /** Notifies `waiter` when all messages sent so far have been written, or never will be. */
  whenFlushed(waiter: FlushWaiter): void {
    this.shared?.seal()
    this.#flushes.add(waiter)
    this.flushOrWait()
    if (this.isAwaited) this.connection?.waitToSend?.()
  }
}
