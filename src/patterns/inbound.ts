import { CONNECTION_PARTS_MAX } from "../base/limits.js"
import { Queue } from "../base/queue.js"
import { FormedPart } from "../codec/formed-part.js"
import type { PeerConnection } from "../transport/transport.js"
import { type Part, plainMessage } from "../zmtp/part.js"
import { counted } from "./high-water-mark.js"
import type { Message } from "./message.js"
import { PackedMessage, type QueuedMessage, unpacked } from "./packed-message.js"
import { QueuedParts } from "./queued-parts.js"

/** Memory of a received part besides its bytes: a Buffer, and its place in the message. */
const PART_BYTES = 192

export type InboundConnection = Pick<
  PeerConnection,
  "stop" | "resume" | "messageConsumed" | "setMarks"
>

/** The state that the simulator's rules look at. */
export interface InboundInternals {
  readonly length: number
  /** Returns the queued messages after the first `count` ones. */
  messagesAfter(count: number): Buffer[][]
  /** Whether the connection has been told to stop reading until there is room. */
  readonly isStopped: boolean
  readonly highWaterMark: number
  readonly readAheadBytes: number
  readonly queued: QueuedParts
}

/**
 * The messages that a pipe has received and that its socket type has not read. Stops the connection
 * when the queue is full, and resumes it when the queue is half empty.
 */
export class Inbound {
  readonly #messages = new Queue<QueuedMessage>()
  /** The parts of all queues of the socket. */
  readonly #queued: QueuedParts
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
   * @param options the high-water mark (0 is no limit), and whether only the latest message is kept.
   * @param socket what is queued in the socket, and the memory that messages may take whatever the mark.
   * @param maxBytes maximum plaintext.
   */
  constructor(
    options: { receiveHighWaterMark: number; conflate: boolean },
    socket: { readonly queued?: QueuedParts; readonly readAheadBytes?: number },
    maxBytes: number,
  ) {
    this.#highWaterMark = options.receiveHighWaterMark
    this.#conflates = options.conflate
    this.#queued = socket.queued ?? new QueuedParts()
    this.#readAheadBytes = socket.readAheadBytes ?? 0
    this.#maxBytes = maxBytes
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
    this.#queued.attached()
    this.#setMarks()
    if (!this.checkRoom()) connection.stop()
  }

  detach(): void {
    if (this.#connection) this.#queued.detached()
    this.#connection = undefined
    this.#isStopped = false
  }

  /** Queues a message. Returns whether the reader must be told, because it found the queue empty. */
  push(message: Message): boolean {
    if (this.#conflates) this.clear()
    // Each of very many connections may add one message to a full socket.
    const isPacked = this.#queued.isFull && message.length > 1
    this.#messages.push(isPacked ? new PackedMessage(plainMessage(message)) : message)
    this.#queued.added(message.length)
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
    const queued = this.#messages.shift()
    if (queued === undefined) {
      this.#isActive = false
      return undefined
    }
    const message = unpacked(queued)
    this.#read++
    this.#parts -= message.length
    this.#bytes -= bytesOf(message)
    this.#queued.removed(message.length)
    this.#connection?.messageConsumed?.()
    if (this.#isStopped && this.#isLow) this.#resume()
    return message
  }

  takeAll(): QueuedMessage[] {
    const messages = [...this.#messages]
    this.clear()
    return messages
  }

  clear(): void {
    const parts = this.#parts
    this.#messages.clear()
    this.#parts = 0
    this.#bytes = 0
    this.#queued.removed(parts)
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

  /** Tells the connection how many messages it may pass on before they are read. */
  #setMarks(): void {
    const readAhead = Math.floor(this.#readAheadBytes / PART_BYTES)
    const mark = this.#highWaterMark
    const shared = mark > 0 ? Math.max(mark, readAhead) : mark
    this.#connection?.setMarks?.(shared, this.#conflates)
  }

  get #isFull(): boolean {
    if (this.#conflates) return false
    if (this.#bytes >= this.#maxBytes) return true
    const max = this.#highWaterMark
    if (max <= 0) return false
    if (this.#parts >= CONNECTION_PARTS_MAX) return true
    if (!this.isEmpty && this.#queued.isFullFor(this.#parts)) return true
    const isAtMark = counted(max, this.#messages.length, this.#read) >= max
    return isAtMark && this.#memory >= this.#readAheadBytes
  }

  /** Whether enough was read to resume: the queue is at most half full. */
  get #isLow(): boolean {
    if (this.#bytes > this.#maxBytes / 2) return false
    const max = this.#highWaterMark
    if (max <= 0) return true
    if (this.isEmpty) return true
    if (this.#parts > CONNECTION_PARTS_MAX / 2 || this.#queued.isFullFor(this.#parts)) return false
    return this.#messages.length <= max / 2 || this.#memory <= this.#readAheadBytes / 2
  }

  /** Approximate memory of the queued messages, in bytes. */
  get #memory(): number {
    return this.#bytes + PART_BYTES * this.#parts
  }

  get internals(): InboundInternals {
    return {
      length: this.#messages.length,
      messagesAfter: (count) =>
        [...this.#messages].slice(count).map((queued) => plainMessage(unpacked(queued))),
      isStopped: this.#isStopped,
      highWaterMark: this.#highWaterMark,
      readAheadBytes: this.#readAheadBytes,
      queued: this.#queued,
    }
  }

  #resume(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#connection?.resume()
  }
}

/** Returns the bytes of plaintext of a message. */
function bytesOf(message: Message): number {
  let bytes = 0
  for (let i = 0; i < message.length; i++) bytes += (message[i] as Part).length
  return bytes < Number.POSITIVE_INFINITY ? bytes : plainBytesOf(message)
}

const plainBytesOf = (message: Message): number =>
  message.reduce(
    (sum, part) => sum + (part instanceof FormedPart ? part.plainLength : part.length),
    0,
  )
