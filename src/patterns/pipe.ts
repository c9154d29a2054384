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
import type { Message } from "./message.js"

/** Messages of more bytes are encoded at once, from the caller's memory; of those that go plain, more. */
const LARGE_BYTES = 8192
const PLAIN_LARGE_BYTES = 32 * 1024
const NO_FRAMES = new Uint8Array(0)
/** Chunks that wait are looked at again when one in so many of them is new. */
const COPY_SHARE = 8
/** Milliseconds until messages are encoded again for which memory was out. */
const RETRY_MS = 100
/** Parts that wait to be received, at most: each takes more memory than its bytes. */
const PARTS_MAX = 65_536

/** The part of a connection that a pipe uses. */
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

/** Events of a pipe, for the socket type that owns it. */
export interface PipeEvents {
  /** Returns the rule of the socket type that a message breaks, which ends its connection; undefined for most types. */
  readonly violation: ((message: Message) => string | undefined) | undefined
  /** Takes a message that is not to wait, as a subscription; returns whether it did. */
  takes?(pipe: Pipe, message: Message): boolean
  /** The pipe will be gone when what waits is read. */
  ending?(pipe: Pipe): void
  /** There is something to read again. */
  readActivated(pipe: Pipe): void
  /** There is room to write again. */
  writeActivated(pipe: Pipe): void
  /** A command of the peer. Returns whether what follows it is wanted now. */
  command(pipe: Pipe, name: string, data: Buffer): boolean
  /** The connection was made again: what waited for the one before is gone. */
  hiccuped(pipe: Pipe): void
  /** The pipe is gone: there is nothing to read any more. */
  terminated(pipe: Pipe): void
}

export interface PipeOptions {
  /** In messages; 0 is no limit. */
  sendHighWaterMark: number
  receiveHighWaterMark: number
  /** Whether only the latest message is kept, each way. */
  conflate: boolean
}

/** Somebody who waits until what was sent has been written. */
export interface FlushWaiter {
  /** Whether it waits no more. */
  readonly isOver: boolean
  /** A pipe has written what it had. */
  flushed(): void
}

/** Messages that are distributed to several pipes, and will be encoded once for all of them. */
export interface SharedBatch {
  /** What waits in it. */
  readonly waiting: Waiting
  seal(): void
}

/**
 * A pipe, as libzmq calls it: two queues of messages between a socket type and a peer. That of a
 * bound endpoint lives as long as its connection; that of a connected one from connect() on, and
 * is kept over reconnects.
 */
export class Pipe implements MessageSink, Flushable {
  /** The routing id of the peer, as a key; undefined as long as it is not known. */
  routingId: string | undefined
  /** The routing id that the peer gave in its handshake. */
  peerRoutingId: Buffer | undefined
  /** Of a SERVER. */
  serverRoutingId = 0
  /** Places among the pipes of a load balancer, a fair queue and a distribution. */
  lbIndex = -1
  fqIndex = -1
  distIndex = -1
  /** The open batch of a distribution that has messages for this pipe. */
  shared: SharedBatch | undefined
  readonly encoder: Encoder
  /** What is sent to the peer, or to the latest that there was. */
  packing: Packing
  readonly #events: PipeEvents
  #connection: PipeConnection | undefined
  #options: PipeOptions

  /** Whether messages are still accepted, and whether they may still be read. */
  #writable = true
  #terminated = false
  #abandoned = false
  #written = 0
  #sent = 0
  #dropped = 0
  #outActive = true
  /** Whether somebody found no room, and is to be told when there is. */
  #roomWanted = false
  #batch: Batch | undefined
  #flushing = false
  readonly rest: Rest = new Rest()
  /** Flushes again what could not be encoded. */
  #retry: NodeJS.Timeout | undefined
  /** Encoded messages and commands for which the network has had no room. */
  #chunks: Queue<PendingWrite> | undefined
  /** Chunks since those that wait were looked at. */
  #queuedSinceCopied = 0
  /** Bytes of chunks since the last flush. */
  #queuedBytes = 0
  /** Told when nothing waits any more. */
  #finished: (() => void) | undefined
  /** Those who wait until so many messages have been written. */
  #flushes: { written: number; waiter: FlushWaiter }[] = []

  readonly #received = new Queue<Message>()
  #receivedParts = 0
  #receivedBytes = 0
  readonly #receivedMaxBytes: number
  #inActive = true
  /** Whether the connection waits until there is room here. */
  #stopped = false
  /** Whether nothing comes any more, and the pipe is gone when it is empty. */
  #isEnding = false

  /** @param receiveHighWaterBytes plaintext that may wait to be received; 0 is no limit. */
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
    this.#receivedMaxBytes = receiveHighWaterBytes || Number.POSITIVE_INFINITY
  }

  /** As with libzmq, a pipe that was found full stays so until something has left it. */
  set options(options: PipeOptions) {
    // As with libzmq, what it does with messages is settled from the beginning.
    this.#options = { ...options, conflate: this.#options.conflate }
    if (!this.#isEnding) this.#setMarks()
  }

  /** Whether only the latest message waits, each way. */
  get conflates(): boolean {
    return this.#options.conflate
  }

  #setMarks(): void {
    const { receiveHighWaterMark, conflate } = this.#options
    this.#connection?.setMarks(receiveHighWaterMark, conflate)
  }

  // -- The connection --------------------------------------------------------------

  get connection(): PipeConnection | undefined {
    return this.#connection
  }

  /**
   * The handshake is over: what waits leaves.
   *
   * @throws Error of the encoder, if it cannot be encoded for this peer: it still waits, for another.
   */
  attach(connection: PipeConnection): void {
    const packing = this.encoder.packingFor(connection.peerRevision)
    // Batches have messages in wire form, which are of no use to a peer that reads frames.
    if (packing === "frames" && packing !== this.packing) {
      this.shared?.seal()
      this.#encode()
    }
    this.packing = packing
    this.#connection = connection
    connection.sink = this
    this.#setMarks()
    if (this.#isReceivedFull()) {
      this.#stopped = true
      connection.stop()
    }
    this.flush()
  }

  /** The connection is lost, and there may be another: what it had not written is for that one. */
  detach(pending: readonly PendingWrite[]): void {
    this.#connection = undefined
    this.#stopped = false
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

  /** Forgets what waits to be sent, as libzmq does for subscribers, and says so. */
  hiccup(): void {
    this.shared?.seal()
    this.#drop()
    const wasFull = this.#roomWanted
    this.#roomWanted = false
    this.#outActive = true
    this.#events.hiccuped(this)
    if (wasFull) this.#events.writeActivated(this)
  }

  /** The connection is lost for good. What came is still to be read. */
  close(): void {
    this.#connection = undefined
    this.#drop()
    this.#beginEnd()
  }

  /**
   * The pipe takes no more: what came is still to be read if it is kept, and what waits leaves. Calls
   * `finished` when that is done, which it may never be.
   */
  finish(finished: () => void, keepsReceived: boolean): void {
    this.shared?.seal()
    if (!keepsReceived) this.#received.clear()
    this.#beginEnd()
    this.#finished = finished
    // A peer may have to be heard before it takes what waits.
    this.#connection?.setMarks(0, this.#options.conflate)
    this.#resume()
    this.flush()
    this.#checkFinished()
  }

  /**
   * The socket type is done with the pipe, whose connection stays as it is, unread: what libzmq
   * does to one whose routing id another took over, and to a second peer of a PAIR. As there, what
   * waits to be sent still leaves.
   */
  abandon(): void {
    this.#writable = false
    this.#isEnding = true
    this.#terminated = true
    this.#received.clear()
    this.#abandoned = true
  }

  /** Whether nothing waits to be sent. */
  get isIdle(): boolean {
    return this.shared === undefined && this.#isEmpty
  }

  /** Gives up what waits to be sent, of a pipe that is to be finished. */
  dropWaiting(): void {
    this.#drop()
    this.#finish()
  }

  /** Finishes when everything has left. Chunks still held by the worker survive the connection: the next one may send them. */
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

  /** Takes nothing more, either way, and is gone when what came is read. */
  #beginEnd(): void {
    this.#writable = false
    this.#isEnding = true
    if (this.#received.length === 0) this.#terminate()
    else this.#events.ending?.(this)
  }

  #terminate(): void {
    if (this.#terminated) return
    this.#terminated = true
    this.#events.terminated(this)
  }

  // -- Sending ---------------------------------------------------------------------

  /** Messages that were taken and have not left, wherever they are; commands are not counted. */
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

  /** How many messages the peer did not get because the pipe was full. */
  get dropped(): number {
    return this.#dropped
  }

  /** Counts a message that the pipe has no room for and that does not wait, either. */
  countDropped(): void {
    if (this.#writable) this.#dropped++
  }

  /** Whether the high-water mark leaves room, whatever else may be. */
  checkHwm(): boolean {
    const max = this.#options.sendHighWaterMark
    if (max <= 0 || this.#options.conflate) return true
    // libzmq hears of what was taken in steps of half the mark.
    const step = (max + 1) >> 1
    return this.#written - (this.#sent - (this.#sent % step)) < max
  }

  /** Whether there is room, once what may leave has left; if not, `writeActivated` follows. */
  hasRoom(): boolean {
    if (this.checkHwm()) return true
    // The network may have room, and the messages wait for nothing but the end of the burst.
    this.shared?.seal()
    this.#flushNow()
    if (this.checkHwm()) return true
    this.#roomWanted = true
    return false
  }

  /** Whether a message would be taken; if not, `writeActivated` follows. */
  checkWrite(): boolean {
    if (!this.#writable || !this.#outActive) return false
    if (this.hasRoom()) return true
    this.#outActive = false
    return false
  }

  /**
   * Takes a message, of which nothing is kept but copies; false when there is no room.
   *
   * @throws Error of the encoder: the message was not taken then, and those before it still wait.
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

  /** What is sent to the peer; undefined as long as there is none. */
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

  /** Whether nothing waits and the network has room, so that what is written now leaves at once. */
  get isFree(): boolean {
    return this.#isEmpty && this.#connection !== undefined && !this.#connection.blocked
  }

  /** Takes a command, behind the messages before it; dropped when there is no room. */
  writeCommand(name: Command["name"], data: Uint8Array): void {
    if (!this.checkWrite()) return
    this.shared?.seal()
    this.#encode()
    this.#written++
    this.#enqueue({ name, data })
    this.#flushLater()
  }

  /** Counts a message that a distribution has taken for this pipe, among others. */
  countShared(batch: SharedBatch): void {
    this.shared = batch
    this.#written++
  }

  /** Of the messages that were counted, so many have left by themselves. */
  countFlushed(messages: number): void {
    this.#sent += messages
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /**
   * Encodes what waits here before a chunk for several pipes is: one chunk of an endpoint ships its
   * dictionary, so chunks are to be written in the order in which they are encoded.
   */
  encodeOwn(): void {
    try {
      this.#encode()
    } catch {
      // It stays, and writeChunk() tries again.
    }
  }

  /**
   * Takes messages that were encoded for several pipes, and were counted.
   *
   * @throws Error of the encoder, if what waits before them cannot be encoded: they are lost then.
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

  /** Copies chunks that have to wait into memory of their own, so that slabs can be used again. */
  #copyQueued(chunks: Queue<PendingWrite>): void {
    for (let i = chunks.length; i > 0; i--) {
      const item = chunks.shift() as PendingWrite
      chunks.push(item instanceof Chunk ? item.copied() : item)
    }
  }

  /** Does the same from time to time, as slabs empty while chunks wait. */
  #copyQueuedSometimes(chunks: Queue<PendingWrite>): void {
    if (++this.#queuedSinceCopied * COPY_SHARE < chunks.length) return
    this.#queuedSinceCopied = 0
    this.#copyQueued(chunks)
  }

  /** Writes what waits, as far as the network has room, which may make room here. */
  flush(): void {
    this.#flushing = false
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#writeWaiting()
    this.#checkWriteActive()
    this.#checkFlushes()
  }

  /** The same for a caller in the middle of its pipes: `writeActivated` follows when the burst ends. */
  #flushNow(): void {
    this.#writeWaiting()
    this.#checkFlushes()
    if (!this.#roomWanted) return
    this.#flushLater()
    pollSoon()
  }

  /** Tells a waiter when all that was sent so far has been written, or never will be. */
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
    // A connection that is over may have given something back, for the next one.
    if (this.#sent < flush.written) this.#flushes.push(flush)
    else flush.waiter.flushed()
  }

  /**
   * Writes all that waits, whatever room the network has, as the process ends.
   *
   * @throws Error of the encoder.
   */
  writeOut(): void {
    this.shared?.seal()
    this.#encode()
    const connection = this.#connection
    while (connection && this.#chunks !== undefined && this.#chunks.length > 0)
      this.#writeItem(connection, nextOf(this.#chunks))
  }

  /**
   * Returns the plain frames of all messages that wait, for another connection, as the process ends.
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

  /** Whether somebody waits for room. */
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

  /**
   * The next of what waits, encoded again if it was for a peer that read other packings; undefined if
   * it has to wait on.
   */
  #next(connection: PipeConnection, chunks: Queue<PendingWrite>): PendingWrite | undefined {
    const first = chunks.first() as PendingWrite
    if (!(first instanceof Chunk) || first.fits(this.packing)) return nextOf(chunks)
    let repacked: Chunk
    try {
      connection.applyEffort()
      repacked = this.encoder.repack(first, this.packing)
    } catch (error) {
      this.#retryLater(error)
      return undefined
    }
    chunks.shift()
    return repacked
  }

  /** Flushes again what cannot be encoded now: its senders were told that it is taken, so it waits on. */
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

  /** Encodes the batch, and a message behind it. */
  #encode(message?: Message): void {
    const batch = this.#batch
    if (message === undefined && (batch === undefined || batch.length === 0)) return
    const chunk = this.#encodeBatch(message)
    if (chunk) this.#enqueue(chunk)
  }

  /**
   * A chunk of the batch and a message behind it, but for what has left; undefined if that is all.
   * If the encoder throws, the batch stays.
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
    if (this.#options.conflate) {
      this.#received.clear()
      this.#receivedParts = 0
      this.#receivedBytes = 0
    }
    this.#received.push(message)
    this.#receivedParts += message.length
    this.#receivedBytes += bytesOf(message)
    if (!this.#inActive) {
      this.#inActive = true
      this.#events.readActivated(this)
    }
    if (!this.#isReceivedFull()) return true
    this.#stopped = true
    return false
  }

  /** Whether nothing more is to come until something was read. */
  #isReceivedFull(): boolean {
    if (this.#options.conflate) return false
    if (this.#receivedBytes >= this.#receivedMaxBytes) return true
    const max = this.#options.receiveHighWaterMark
    return max > 0 && (this.#received.length >= max || this.#receivedParts >= PARTS_MAX)
  }

  command(name: string, data: Buffer): boolean {
    return this.#events.command(this, name, data)
  }

  checkRead(): boolean {
    if (this.#received.length > 0) return true
    this.#inActive = false
    return false
  }

  read(): Message | undefined {
    const message = this.#received.shift()
    if (message === undefined) {
      this.#inActive = false
      return undefined
    }
    this.#receivedParts -= message.length
    this.#receivedBytes -= bytesOf(message)
    this.#connection?.messageConsumed()
    if (this.#stopped && this.#isReceivedLow()) this.#resume()
    // Not at once: whoever reads is in the middle of its pipes.
    if (this.#isEnding && this.#received.length === 0) queueMicrotask(() => this.#terminate())
    return message
  }

  /** Whether enough was read to go on: half of what makes the pipe full. */
  #isReceivedLow(): boolean {
    if (this.#receivedBytes > this.#receivedMaxBytes / 2) return false
    const max = this.#options.receiveHighWaterMark
    return max <= 0 || (this.#received.length <= max / 2 && this.#receivedParts <= PARTS_MAX / 2)
  }

  /** Goes on with what comes, where that had to wait. */
  #resume(): void {
    if (!this.#stopped) return
    this.#stopped = false
    this.#connection?.resume()
  }
}

function flushAgain(pipe: Pipe): void {
  pipe.flush()
}

function bytesOf(message: Message): number {
  let bytes = 0
  for (let i = 0; i < message.length; i++) bytes += (message[i] as Buffer).length
  return bytes
}

/** The first of what waits, with what lies behind it in a row. */
function nextOf(chunks: Queue<PendingWrite>): PendingWrite {
  let item = chunks.shift() as PendingWrite
  while (item instanceof Chunk) {
    const next = chunks.first()
    const joined = next instanceof Chunk ? item.joined(next) : undefined
    if (!joined) break
    chunks.shift()
    item = joined
  }
  return item
}
