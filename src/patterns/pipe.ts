import { Chunk, type Packing } from "../codec/chunk.js"
import { ProtocolError } from "../codec/errors.js"
import { Queue } from "../transport/queue.js"
import { throwLater } from "../transport/throw-later.js"
import type {
  Command,
  Encoder,
  MessageSink,
  PeerConnection,
  PendingWrite,
  Waiting,
} from "../transport/transport.js"
import { areBelow, BATCH_BYTES, Batch, plainLength } from "./batch.js"
import { type Flushable, flushSoon, pollSoon, Rest } from "./flusher.js"
import { Inbound } from "./inbound.js"
import type { Message } from "./message.js"

/**
 * Messages larger than this are encoded at once, directly from the caller's memory. The second
 * limit is for plain messages.
 */
const LARGE_BYTES = 8192
const PLAIN_LARGE_BYTES = 32 * 1024
const NO_FRAMES = new Uint8Array(0)
/** Queued chunks are checked for copying once for every `1 / COPY_SHARE` of the queue that is new. */
const COPY_SHARE = 8
/** Milliseconds until a failed encoding, such as one that ran out of memory, is tried again. */
const RETRY_MS = 100

/** The members of a connection that a pipe uses. */
export type PipeConnection = Pick<
  PeerConnection,
  | "sink"
  | "blocked"
  | "peerTakesCommands"
  | "peerRevision"
  | "opensMemory"
  | "openMemory"
  | "link"
  | "applyEffort"
  | "threadMs"
  | "encoded"
  | "dictionarySent"
  | "write"
  | "sendCommand"
  | "stop"
  | "resume"
  | "messageConsumed"
  | "setMarks"
  | "hasPendingWrites"
  | "waiting"
  | "flush"
  | "reject"
  | "end"
>

/** Events of a pipe, handled by the socket type that owns it. */
export interface PipeEvents {
  /**
   * Returns the socket type's rule that `message` breaks, which ends the connection. Most types
   * have none.
   */
  readonly violation: ((message: Message) => string | undefined) | undefined
  /** Handles a message at once, such as a subscription. Returns false if the message is to be queued. */
  takes?(pipe: Pipe, message: Message): boolean
  /** The pipe is ending, and will be terminated once its queued messages are read. */
  ending?(pipe: Pipe): void
  /** The pipe has messages again. */
  readActivated(pipe: Pipe): void
  /** The pipe has room again. */
  writeActivated(pipe: Pipe): void
  /** The peer sent a command. Returns whether the connection may go on reading now. */
  command(pipe: Pipe, name: string, data: Buffer): boolean
  /** The connection was replaced by a new one, and the messages queued for the old one were dropped. */
  hiccuped(pipe: Pipe): void
  /** The pipe has ended and its queue is empty. */
  terminated(pipe: Pipe): void
}

export interface PipeOptions {
  /** High-water marks, in messages; 0 is no limit. */
  sendHighWaterMark: number
  receiveHighWaterMark: number
  /** Whether only the latest message is kept, in each direction. */
  conflate: boolean
}

/** A caller waiting until all messages sent so far have been written. */
export interface FlushWaiter {
  /** Whether the caller has stopped waiting. */
  readonly isOver: boolean
  /** Called when a pipe has written the messages that it had. */
  flushed(): void
}

/** An open batch of messages that several pipes share and that will be encoded once for all of them. */
export interface SharedBatch {
  readonly waiting: Waiting
  seal(): void
}

/**
 * A pipe in libzmq's sense: two message queues between a socket type and a peer. The pipe of a
 * bound endpoint lives as long as its connection. The pipe of a connected endpoint begins with
 * connect() and survives reconnects.
 */
export class Pipe implements MessageSink, Flushable {
  /** The peer's routing id as a key; undefined until it is known. */
  routingId: string | undefined
  /** The routing id that the peer sent in its handshake. */
  peerRoutingId: Buffer | undefined
  /** The id that a SERVER assigned to this peer. */
  serverRoutingId = 0
  /** Indexes in the arrays of a load balancer, a fair queue and a distribution. */
  lbIndex = -1
  fqIndex = -1
  distIndex = -1
  /** The open batch of a distribution that has messages for this pipe. */
  shared: SharedBatch | undefined
  readonly encoder: Encoder
  /** The packing for the current peer, or the latest one. */
  packing: Packing
  readonly #events: PipeEvents
  #connection: PipeConnection | undefined
  #options: PipeOptions

  /** Whether messages may still be sent, and whether all received ones have been read. */
  #writable = true
  #terminated = false
  #abandoned = false
  #written = 0
  #sent = 0
  #dropped = 0
  #outActive = true
  /** Whether a sender found the pipe full, so that `writeActivated` must follow. */
  #roomWanted = false
  #batch: Batch | undefined
  #flushing = false
  readonly rest: Rest = new Rest()
  /** The timer that flushes again after an encoding failed. */
  #retry: NodeJS.Timeout | undefined
  /** Encoded messages and commands that the network has not had room for. */
  #chunks: Queue<PendingWrite> | undefined
  /** Chunks queued since the queue was last checked for copying. */
  #queuedSinceCopied = 0
  /** Bytes of the chunks queued since the last flush. */
  #queuedBytes = 0
  /** Callback of `finish()`. */
  #finished: (() => void) | undefined
  /** Callers of `whenFlushed`, each with the number of messages that must be written first. */
  #flushes: { written: number; waiter: FlushWaiter }[] = []

  readonly #inbound: Inbound
  /** Whether no more messages will be received. The pipe is terminated once its queue is empty. */
  #isEnding = false

  /** @param receiveHighWaterBytes maximum plaintext in the receive queue, in bytes; 0 is no limit. */
  constructor(
    events: PipeEvents,
    encoder: Encoder,
    options: PipeOptions,
    receiveHighWaterBytes = 0,
  ) {
    this.#events = events
    this.encoder = encoder
    this.packing = encoder.packingFor(undefined)
    this.#options = options
    const maxBytes = receiveHighWaterBytes || Number.POSITIVE_INFINITY
    this.#inbound = new Inbound(options.receiveHighWaterMark, maxBytes, options.conflate)
  }

  /** Changes the high-water marks. As in libzmq, a full pipe stays full until a message has been written. */
  set options(options: PipeOptions) {
    // As in libzmq, `conflate` cannot change after the pipe was created.
    this.#options = { ...options, conflate: this.#options.conflate }
    if (!this.#isEnding) this.#inbound.highWaterMark = options.receiveHighWaterMark
  }

  get conflates(): boolean {
    return this.#options.conflate
  }

  // -- The connection --------------------------------------------------------------

  get connection(): PipeConnection | undefined {
    return this.#connection
  }

  /**
   * Attaches a connection whose handshake has succeeded, and writes the queued messages to it.
   *
   * @throws Error of the encoder, if the messages cannot be encoded for this peer. They stay queued
   * for the next one.
   */
  attach(connection: PipeConnection): void {
    const packing = this.encoder.packingFor(connection.peerRevision)
    // A batch may hold messages in wire form, which a peer that reads frames cannot read.
    if (packing === "frames" && packing !== this.packing) {
      this.shared?.seal()
      this.#encode()
    }
    this.packing = packing
    this.#connection = connection
    connection.sink = this
    this.#inbound.attach(connection)
    this.flush()
  }

  /** Detaches a lost connection that may be replaced. The next one will write `pending`. */
  detach(pending: readonly PendingWrite[]): void {
    this.#connection = undefined
    this.#inbound.detach()
    if (pending.length > 0) this.#requeue(pending)
    if (!this.#writable && !this.#finished) this.#drop()
  }

  #requeue(pending: readonly PendingWrite[]): void {
    const chunks = new Queue<PendingWrite>()
    for (const item of pending) {
      chunks.push(item)
      this.#sent -= item instanceof Chunk ? item.messages : 1
    }
    while (this.#chunks !== undefined && this.#chunks.length > 0)
      chunks.push(this.#chunks.shift() as PendingWrite)
    this.#copyQueued(chunks)
    this.#chunks = chunks
  }

  /** Drops the queued outgoing messages, as libzmq does for subscribers, and reports it with `hiccuped`. */
  hiccup(): void {
    this.shared?.seal()
    this.#drop()
    const wasFull = this.#roomWanted
    this.#roomWanted = false
    this.#outActive = true
    this.#events.hiccuped(this)
    if (wasFull) this.#events.writeActivated(this)
  }

  /** Detaches the last connection. Messages already received can still be read. */
  close(): void {
    this.#connection = undefined
    this.#inbound.detach()
    this.#drop()
    this.#beginEnd()
  }

  /**
   * Stops sending and receiving. Queued outgoing messages are still written, and received ones can
   * be read if `keepsReceived` is set. Calls `finished` once all are written, which may never
   * happen.
   */
  finish(finished: () => void, keepsReceived: boolean): void {
    this.shared?.seal()
    if (!keepsReceived) this.#inbound.clear()
    this.#beginEnd()
    this.#finished = finished
    // The peer may send more before it reads the queued messages, so reading must not stop.
    this.#inbound.removeLimit()
    this.flush()
    this.#checkFinished()
  }

  /**
   * Takes the pipe away from its socket type. As in libzmq, its connection stays open but unread,
   * and queued messages are still written. This happens to a pipe whose routing id was taken over,
   * and to the second peer of a PAIR.
   */
  abandon(): void {
    this.#writable = false
    this.#isEnding = true
    this.#terminated = true
    this.#inbound.clear()
    this.#abandoned = true
  }

  /** Whether no outgoing message is queued. */
  get isIdle(): boolean {
    return this.shared === undefined && this.#isEmpty
  }

  /** Drops the queued outgoing messages of a pipe that is finishing. */
  dropWaiting(): void {
    this.#drop()
    this.#finish()
  }

  /**
   * Finishes when everything has been written. Chunks still held by the worker survive the
   * connection: the next one may send them.
   */
  #checkFinished(): void {
    if (this.#finished && this.#isEmpty && !this.#connection?.hasPendingWrites) this.#finish()
  }

  #finish(): void {
    const finished = this.#finished
    this.#finished = undefined
    finished?.()
  }

  #drop(): void {
    const chunks = this.#chunks
    while (chunks !== undefined && chunks.length > 0) {
      const item = chunks.shift()
      if (item instanceof Chunk) item.release()
    }
    this.#releaseBatch()
    this.#sent = this.#written
    this.#checkFlushes()
  }

  get #isEmpty(): boolean {
    return (this.#batch?.length ?? 0) === 0 && (this.#chunks?.length ?? 0) === 0
  }

  /** Stops sending and receiving. The pipe is terminated once the received messages are read. */
  #beginEnd(): void {
    this.#writable = false
    this.#isEnding = true
    if (this.#inbound.isEmpty) this.#terminate()
    else this.#events.ending?.(this)
  }

  #terminate(): void {
    if (this.#terminated) return
    this.#terminated = true
    this.#events.terminated(this)
  }

  // -- Sending ---------------------------------------------------------------------

  /** The messages that were accepted but not yet written, wherever they are queued; commands do not count. */
  get waiting(): Waiting {
    const total = { messages: 0, bytes: 0 }
    const add = ({ messages, bytes }: Waiting) => {
      total.messages += messages
      total.bytes += bytes
    }
    for (const item of this.#chunks ?? [])
      if (item instanceof Chunk) add({ messages: item.messages, bytes: item.bytes.length })
    if (this.#batch) add(this.#batch.waiting)
    if (this.shared) add(this.shared.waiting)
    if (this.#connection) add(this.#connection.waiting)
    return total
  }

  /** Number of messages dropped because the pipe was full. */
  get dropped(): number {
    return this.#dropped
  }

  /** Counts a message as dropped because the pipe is full. */
  countDropped(): void {
    if (this.#writable) this.#dropped++
  }

  /** Returns whether the high-water mark leaves room. */
  checkHwm(): boolean {
    const max = this.#options.sendHighWaterMark
    if (max <= 0 || this.#options.conflate) return true
    // libzmq updates its count in steps of half the mark.
    const step = (max + 1) >> 1
    return this.#written - (this.#sent - (this.#sent % step)) < max
  }

  /** Flushes if the pipe is full, and returns whether there is room. If not, `writeActivated` will follow. */
  hasRoom(): boolean {
    if (this.checkHwm()) return true
    // The network may have room: the messages may only be waiting for the end of the burst.
    this.shared?.seal()
    this.#flushNow()
    if (this.checkHwm()) return true
    this.#roomWanted = true
    return false
  }

  /** Returns whether `write` would accept a message. If not, `writeActivated` will follow. */
  checkWrite(): boolean {
    if (!this.#writable || !this.#outActive) return false
    if (this.hasRoom()) return true
    this.#outActive = false
    return false
  }

  /**
   * Queues a message, of which only copies are kept. Returns false if there is no room.
   *
   * @throws Error of the encoder. The message was not accepted then, and those before it stay
   * queued.
   */
  write(message: Message): boolean {
    if (!this.checkWrite()) return false
    this.shared?.seal()
    const bytes = plainLength(message)
    if (this.#options.conflate) {
      this.#drop()
      this.#batch = new Batch(this.#plainBelow)
    } else if (bytes > LARGE_BYTES && this.#isLarge(message, bytes)) {
      this.#encode(message)
      this.#written++
      if (this.#queuedBytes >= BATCH_BYTES) this.#flushNow()
      else this.#flushLater()
      return true
    } else if (this.#batch && this.#batch.length + bytes > this.#batch.maxBytes) {
      this.#encode()
      this.#flushNow()
    }
    this.#batch ??= this.#openBatch()
    this.#batch.append(message, bytes)
    this.#written++
    this.#flushLater()
    return true
  }

  #isLarge(message: Message, bytes: number): boolean {
    return bytes > PLAIN_LARGE_BYTES || !areBelow(message, this.#plainBelow)
  }

  /** The packing for the current peer; undefined if there is no connection. */
  get peerPacking(): Packing | undefined {
    return this.#connection && this.packing
  }

  get #plainBelow(): number {
    this.#connection?.applyEffort()
    return this.encoder.plainBelow(this.peerPacking)
  }

  #openBatch(): Batch {
    const connection = this.#connection
    const memory =
      connection?.opensMemory && this.isFree ? connection.openMemory([connection]) : undefined
    return new Batch(this.#plainBelow, BATCH_BYTES, memory)
  }

  /** Whether the queue is empty and the network has room, so that the next message can be written at once. */
  get isFree(): boolean {
    return this.#isEmpty && this.#connection !== undefined && !this.#connection.blocked
  }

  /** Queues a command behind the messages before it, or drops it if there is no room. */
  writeCommand(name: Command["name"], data: Uint8Array): void {
    if (!this.checkWrite()) return
    this.shared?.seal()
    this.#encode()
    this.#written++
    this.#enqueue({ name, data })
    this.#flushLater()
  }

  /** Counts a message in `batch`, a distribution's open batch that this pipe shares. */
  countShared(batch: SharedBatch): void {
    this.shared = batch
    this.#written++
  }

  /** Counts messages of the shared batch that the other thread has already sent. */
  countFlushed(messages: number): void {
    this.#sent += messages
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /**
   * Encodes the pipe's own batch before a chunk for several pipes is encoded. One chunk of an
   * endpoint contains its dictionary, so chunks must be written in the order in which they were
   * encoded.
   */
  encodeOwn(): void {
    try {
      this.#encode()
    } catch {
      // The batch stays queued, and writeChunk() tries again.
    }
  }

  /**
   * Queues a chunk that was encoded for several pipes and whose messages `countShared` has counted.
   *
   * @throws Error of the encoder, if the messages before the chunk cannot be encoded. The chunk is
   * lost then.
   */
  writeChunk(chunk: Chunk): void {
    if (!this.#writable && !this.#finished) {
      chunk.release()
      return
    }
    try {
      this.#encode()
    } catch (error) {
      this.#sent += chunk.messages
      chunk.release()
      throw error
    }
    this.#enqueue(chunk)
    this.#flushNow()
  }

  /** Copies queued chunks into memory of their own, so that their slabs can be reused. */
  #copyQueued(chunks: Queue<PendingWrite>): void {
    for (let i = chunks.length; i > 0; i--) {
      const item = chunks.shift() as PendingWrite
      chunks.push(item instanceof Chunk ? item.copied() : item)
    }
  }

  /** Copies queued chunks from time to time, because slabs empty while chunks are queued. */
  #copyQueuedSometimes(chunks: Queue<PendingWrite>): void {
    if (++this.#queuedSinceCopied * COPY_SHARE < chunks.length) return
    this.#queuedSinceCopied = 0
    this.#copyQueued(chunks)
  }

  /** Writes queued messages while the network has room, and reports room in the pipe. */
  flush(): void {
    this.#flushing = false
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#writeWaiting()
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /**
   * Does the same for a caller that is iterating its pipes: `writeActivated` is deferred to the end
   * of the burst.
   */
  #flushNow(): void {
    this.#writeWaiting()
    this.#checkFlushes()
    if (!this.#roomWanted) return
    this.#flushLater()
    pollSoon()
  }

  /** Notifies `waiter` when all messages sent so far have been written, or never will be. */
  whenFlushed(waiter: FlushWaiter): void {
    this.#flushes = this.#flushes.filter((other) => !other.waiter.isOver)
    this.shared?.seal()
    this.#flushes.push({ written: this.#written, waiter })
    this.flush()
  }

  #checkFlushes(): void {
    if (this.#flushes.length === 0) return
    const flushes = this.#flushes
    this.#flushes = []
    for (const flush of flushes) {
      if (this.#sent < flush.written) this.#flushes.push(flush)
      else if (!this.#connection) flush.waiter.flushed()
      else this.#connection.flush(() => this.#flushed(flush))
    }
  }

  #flushed(flush: { written: number; waiter: FlushWaiter }): void {
    // A connection that ended may have returned chunks, which the next one will write.
    if (this.#sent < flush.written) this.#flushes.push(flush)
    else flush.waiter.flushed()
  }

  /**
   * Writes all queued messages even if the network has no room, because the process is about to
   * exit.
   *
   * @throws Error of the encoder.
   */
  writeOut(): void {
    this.shared?.seal()
    this.#encode()
    const connection = this.#connection
    while (connection && this.#chunks !== undefined && this.#chunks.length > 0)
      this.#writeItem(connection, this.#take(connection, this.#chunks))
  }

  /**
   * Returns the plain frames of all queued messages, for a connection of another thread, because
   * the process is about to exit.
   *
   * @throws Error of the encoder.
   */
  takeFrames(): Uint8Array[] {
    this.shared?.seal()
    this.#encode()
    const frames: Uint8Array[] = []
    for (let item = this.#chunks?.shift(); item; item = this.#chunks?.shift())
      if (item instanceof Chunk) frames.push(this.encoder.plainFrames(item))
    return frames
  }

  get threadMs(): number {
    return this.#connection?.threadMs ?? 0
  }

  /** Whether a sender waits for room. */
  get isUrgent(): boolean {
    return this.#roomWanted
  }

  #writeWaiting(): void {
    const connection = this.#connection
    if (!connection || connection.blocked) return
    const chunks = this.#chunks
    while (chunks !== undefined && chunks.length > 0) {
      const item = this.#next(connection, chunks)
      if (!item) return
      this.#writeItem(connection, item)
      if (connection.blocked) {
        this.#copyQueued(chunks)
        return
      }
    }
    this.#queuedBytes = 0
    const batch = this.#batch
    if (batch !== undefined && batch.length > 0) {
      let chunk: Chunk | undefined
      try {
        chunk = this.#encodeBatch(undefined)
      } catch (error) {
        this.#retryLater(error)
        return
      }
      if (chunk) this.#writeItem(connection, chunk)
    }
    this.#checkFinished()
  }

  /** Takes the next item, or returns undefined if encoding it again failed and it stays queued. */
  #next(connection: PipeConnection, chunks: Queue<PendingWrite>): PendingWrite | undefined {
    try {
      return this.#take(connection, chunks)
    } catch (error) {
      this.#retryLater(error)
      return undefined
    }
  }

  /**
   * Takes the next item of the queue. Encodes it again if it was packed for another kind of peer, or
   * ships the dictionary to a peer that has it.
   *
   * @throws Error of the encoder. The item stays queued then.
   */
  #take(connection: PipeConnection, chunks: Queue<PendingWrite>): PendingWrite {
    const first = chunks.first() as PendingWrite
    const isRepeated = first instanceof Chunk && first.shipsDictionary && connection.dictionarySent
    if (!(first instanceof Chunk) || (first.fits(this.packing) && !isRepeated))
      return nextOf(chunks, this.packing)
    connection.applyEffort()
    const repacked = this.encoder.repack(first, this.packing)
    chunks.shift()
    return repacked
  }

  /**
   * Schedules another flush after an encoding failed: the messages were already accepted, so they
   * stay queued.
   */
  #retryLater(error: unknown): void {
    throwLater(error)
    this.#retry ??= setTimeout(flushAgain, RETRY_MS, this)
  }

  drained(): void {
    this.flush()
  }

  #writeItem(connection: PipeConnection, item: PendingWrite): void {
    if (item instanceof Chunk) {
      connection.write(item)
      this.#sent += item.messages
      return
    }
    const { name, data } = item
    this.#sent++
    if (connection.peerTakesCommands || name === "JOIN" || name === "LEAVE") {
      connection.sendCommand(name, data)
    } else {
      const message = Buffer.alloc(1 + data.length)
      message[0] = name === "SUBSCRIBE" ? 1 : 0
      message.set(data, 1)
      const packing = this.packing === "arenas" ? "parts" : this.packing
      connection.write(this.encoder.encode(NO_FRAMES, [message], undefined, packing))
    }
  }

  #enqueue(item: PendingWrite): void {
    this.#chunks ??= new Queue()
    if (!(item instanceof Chunk)) this.#chunks.push(item)
    else {
      this.#queuedBytes += item.bytes.length
      const waits = !this.#connection || this.#connection.blocked
      this.#chunks.push(waits ? item.copied() : item)
      if (waits) this.#copyQueuedSometimes(this.#chunks)
    }
  }

  /** Encodes the batch, with `message` after it, and queues the chunk. */
  #encode(message?: Message): void {
    const batch = this.#batch
    if (message === undefined && (batch === undefined || batch.length === 0)) return
    const chunk = this.#encodeBatch(message)
    if (chunk) this.#enqueue(chunk)
  }

  /**
   * Encodes the batch and `message` after it, without the messages that the other thread has
   * already sent. Returns undefined if none is left. If the encoder throws, the batch stays.
   */
  #encodeBatch(message: Message | undefined): Chunk | undefined {
    const batch = this.#batch
    const frames = batch?.seal() ?? NO_FRAMES
    const messages = (batch?.count ?? 0) + (message ? 1 : 0)
    const connection = this.#connection
    let chunk: Chunk | undefined
    if (messages > 0) connection?.applyEffort()
    if (frames.length > 0 || message)
      chunk = this.encoder.encode(frames, message, batch, this.packing)
    else if (batch && batch.messages > 0) chunk = batch.takeChunk()
    if (chunk) connection?.encoded(chunk)
    this.#sent += messages - (chunk?.messages ?? 0)
    this.#releaseBatch()
    return chunk
  }

  #releaseBatch(): void {
    this.#batch?.release()
    this.#batch = undefined
  }

  #flushLater(): void {
    if (this.#flushing || !this.#connection) return
    this.#flushing = true
    flushSoon(this)
  }

  #checkWriteActive(): void {
    if (!this.#roomWanted || !this.#writable || !this.checkHwm()) return
    this.#roomWanted = false
    this.#outActive = true
    this.#events.writeActivated(this)
  }

  // -- Receiving -------------------------------------------------------------------

  message(message: Message): boolean {
    this.rest.end()
    if (this.#flushing) pollSoon()
    if (this.#isEnding) {
      this.#connection?.messageConsumed()
      return !this.#abandoned
    }
    const violation = this.#events.violation?.(message)
    if (violation !== undefined) {
      this.#connection?.reject(new ProtocolError("ERR_ZMTP_MESSAGE", violation))
      return true
    }
    if (this.#events.takes?.(this, message)) {
      this.#connection?.messageConsumed()
      return true
    }
    if (this.#inbound.push(message)) this.#events.readActivated(this)
    return this.#inbound.checkRoom()
  }

  command(name: string, data: Buffer): boolean {
    return this.#events.command(this, name, data)
  }

  checkRead(): boolean {
    return this.#inbound.checkRead()
  }

  read(): Message | undefined {
    const message = this.#inbound.read()
    // Deferred, because the caller is iterating its pipes.
    if (message && this.#isEnding && this.#inbound.isEmpty) queueMicrotask(() => this.#terminate())
    return message
  }
}

function flushAgain(pipe: Pipe): void {
  pipe.flush()
}

/** Takes the first item of the queue, joined with the chunks that follow it in memory and fit the peer. */
function nextOf(chunks: Queue<PendingWrite>, packing: Packing): PendingWrite {
  let item = chunks.shift() as PendingWrite
  while (item instanceof Chunk) {
    const next = chunks.first()
    const joined = next instanceof Chunk && next.fits(packing) ? item.joined(next) : undefined
    if (!joined) break
    chunks.shift()
    item = joined
  }
  return item
}
