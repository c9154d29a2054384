import { Queue } from "../transport/queue.js"
import type { PeerConnection } from "../transport/transport.js"
import { counted } from "./high-water-mark.js"
import type { Message } from "./message.js"

/** Maximum number of received parts in the queue: each part takes more memory than its bytes. */
const QUEUED_PARTS_MAX = 65_536
/** Approximate memory of a received part besides its bytes. */
const PART_BYTES = 64

/** The members of a connection that an inbound queue uses. */
export type InboundConnection = Pick<PeerConnection, "stop" | "resume" | "sharing">

/** What the simulator's rules look at. */
export interface InboundInternals {
  readonly messages: Queue<Message>
  /** Whether the connection has been told to stop reading until there is room. */
  readonly isStopped: boolean
  readonly highWaterMark: number
  readonly readAheadBytes: number
}

/**
 * The messages that a pipe has received and that its socket type has not read. Stops the connection
 * when the queue is full, and resumes it when the queue is half empty.
 */
export class Inbound {
  readonly #messages = new Queue<Message>()
  /** Parts of the queued messages, and their bytes. */
  #parts = 0
  #bytes = 0
  /** Number of messages read so far. */
  #read = 0
  #highWaterMark: number
  #maxBytes: number
  readonly #conflates: boolean
  readonly #readAheadBytes: number
  #connection: InboundConnection | undefined
  /** Whether the reader may find messages. If not, it must be told of the next one. */
  #isActive = true
  /** Whether the connection has been told to stop reading until there is room. */
  #isStopped = false

  /**
   * @param highWaterMark maximum number of messages; 0 is no limit.
   * @param maxBytes maximum plaintext in bytes.
   * @param conflates whether only the latest message is kept.
   * @param readAheadBytes memory that messages may take whatever the high-water mark, in bytes.
   */
  constructor(highWaterMark: number, maxBytes: number, conflates: boolean, readAheadBytes = 0) {
    this.#highWaterMark = highWaterMark
    this.#maxBytes = maxBytes
    this.#conflates = conflates
    this.#readAheadBytes = readAheadBytes
  }

  set highWaterMark(messages: number) {
    this.#highWaterMark = messages
    this.#setMarks()
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0
  }

  attach(connection: InboundConnection): void {
    this.#connection = connection
    this.#setMarks()
    if (!this.checkRoom()) connection.stop()
  }

  detach(): void {
    this.#connection = undefined
    this.#isStopped = false
  }

  /** Queues a message. Returns whether the reader must be told, because it found the queue empty. */
  push(message: Message): boolean {
    if (this.#conflates) this.clear()
    this.#messages.push(message)
    this.#parts += message.length
    this.#bytes += bytesOf(message)
    const wasActive = this.#isActive
    this.#isActive = true
    return !wasActive
  }

  /** Returns whether the connection may go on reading now. If not, it is resumed once there is room. */
  checkRoom(): boolean {
    if (!this.#isFull) return true
    this.#isStopped = true
    return false
  }

  checkRead(): boolean {
    if (!this.isEmpty) return true
    this.#isActive = false
    return false
  }

  read(): Message | undefined {
    const message = this.#messages.shift()
    if (message === undefined) {
      this.#isActive = false
      return undefined
    }
    this.#read++
    this.#parts -= message.length
    this.#bytes -= bytesOf(message)
    this.#connection?.sharing?.messageConsumed()
    if (this.#isStopped && this.#isLow) this.#resume()
    return message
  }

  clear(): void {
    this.#messages.clear()
    this.#parts = 0
    this.#bytes = 0
  }

  /**
   * Lets this connection and later ones read without a limit, because all they receive will be
   * discarded.
   */
  removeLimits(): void {
    this.highWaterMark = 0
    this.#maxBytes = Number.POSITIVE_INFINITY
    this.#resume()
  }

  /** Tells a connection on a thread how many messages it may pass on before they are read. */
  #setMarks(): void {
    const readAhead = Math.floor(this.#readAheadBytes / PART_BYTES)
    const mark = this.#highWaterMark
    const shared = mark > 0 ? Math.max(mark, readAhead) : mark
    this.#connection?.sharing?.setMarks(shared, this.#conflates)
  }

  /** Whether the connection must stop reading until a message is read. */
  get #isFull(): boolean {
    if (this.#conflates) return false
    if (this.#bytes >= this.#maxBytes) return true
    const max = this.#highWaterMark
    if (max <= 0) return false
    if (this.#parts >= QUEUED_PARTS_MAX) return true
    const isAtMark = counted(max, this.#messages.length, this.#read) >= max
    return isAtMark && this.#memory >= this.#readAheadBytes
  }

  /** Whether enough was read to resume: the queue is at most half full. */
  get #isLow(): boolean {
    if (this.#bytes > this.#maxBytes / 2) return false
    const max = this.#highWaterMark
    if (max <= 0) return true
    if (this.#parts > QUEUED_PARTS_MAX / 2) return false
    return this.#messages.length <= max / 2 || this.#memory <= this.#readAheadBytes / 2
  }

  /** Approximate memory of the queued messages, in bytes. */
  get #memory(): number {
    return this.#bytes + PART_BYTES * this.#parts
  }

  get internals(): InboundInternals {
    return {
      messages: this.#messages,
      isStopped: this.#isStopped,
      highWaterMark: this.#highWaterMark,
      readAheadBytes: this.#readAheadBytes,
    }
  }

  /** Resumes the connection if it was stopped. */
  #resume(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#connection?.resume()
  }
}

function bytesOf(message: Message): number {
  let bytes = 0
  for (let i = 0; i < message.length; i++) bytes += (message[i] as Buffer).length
  return bytes
}
