import { Queue } from "../base/queue.js"
import { clockMs } from "../base/runtime.js"
import type { Chunk } from "../codec/chunk.js"
import type { ProtocolError } from "../codec/errors.js"
import { MORE } from "../codec/frames.js"
import type { Connection } from "../transport/connection.js"
import type { Command, FrameRelaySink, Waiting } from "../transport/transport.js"
import { writeCommand } from "../zmtp/commands.js"
import { fromPlain } from "./plain-error.js"
import { type ConnectionRequest, FRAME_WINDOW_BYTES, RECEIVE_WINDOW_BYTES } from "./protocol.js"
import { SharedState } from "./shared-state.js"
import type { WorkerOutbox } from "./worker-outbox.js"

/** Shown while the network has room: the stream would not report when its last bytes are written. */
const NOTHING: Waiting = { messages: 0, bytes: 0 }

/**
 * Frames of whole messages, in shared memory that stays reserved until the write is counted as flushed
 * and the state no longer keeps it.
 */
export interface Write {
  bytes: Uint8Array
  /** The same for all connections that make this write, and for no other write. */
  number: number
  /** Whether it is one message whose flags say how its parts are sent. */
  hasForms?: boolean
}

/** A mark in the queue of writes. It is answered when the writes before it have been flushed. */
interface FlushMark {
  isMark: true
}

/** The members of an endpoint that its hosted connections use. */
export interface ConnectionEndpoint {
  /** Whether compressed parts are passed on as they came. */
  readonly keepsForms: boolean
  /** @throws Error when memory is out. */
  encode(write: Write, by: HostedConnection): Chunk
  flushed(connection: number): void
  threw(error: unknown): void
}

/** A connection of this worker, whose messages come from and go to the socket thread. */
export class HostedConnection implements FrameRelaySink {
  readonly number: number
  readonly connection: Connection
  readonly #endpoint: ConnectionEndpoint
  readonly #outbox: WorkerOutbox
  /** Writes queued while the network has no room. */
  #waiting: Queue<Write | Command | FlushMark> | undefined
  readonly state: SharedState = new SharedState()
  readonly isBehind = false
  #isEnding = false
  /** Number of messages received, and number that may be received; 0 is no limit. */
  #receivedMessages = 0
  #granted: number
  #receivedBytes = 0
  #grantedBytes = RECEIVE_WINDOW_BYTES

  constructor(
    number: number,
    connection: Connection,
    endpoint: ConnectionEndpoint,
    outbox: WorkerOutbox,
    credit: number,
  ) {
    this.number = number
    this.connection = connection
    this.#endpoint = endpoint
    this.#outbox = outbox
    this.#granted = credit
    this.state.effort = connection.effort
  }

  get keepsForms(): boolean {
    return this.#endpoint.keepsForms
  }

  // -- Sending ---------------------------------------------------------------------

  /**
   * Writes, or queues the write until the network has room. An ending connection stays blocked: its
   * queued writes were never sent, and the socket thread has them for the next connection.
   */
  write(write: Write | Command | FlushMark): void {
    if (this.#mayWrite) {
      this.#writeNow(write)
      return
    }
    this.#waiting ??= new Queue()
    this.#waiting.push(write)
    this.connection.waitToSend()
  }

  get waitsToSend(): boolean {
    return (this.#waiting?.length ?? 0) > 0
  }

  /** Whether the network has room and the queue is empty. */
  get #mayWrite(): boolean {
    return !this.connection.blocked && !this.waitsToSend
  }

  /** Whether a write would be sent at once. */
  get isFree(): boolean {
    return this.#mayWrite && !this.#isEnding
  }

  /** Writes messages of an open batch, which has not been posted yet. */
  writeEarly(write: Write): void {
    const chunk = this.#encode(write)
    if (chunk) this.#writeChunk(chunk)
  }

  #writeNow(write: Write | Command | FlushMark): void {
    if ("isMark" in write) {
      this.connection.flush(() => this.#endpoint.flushed(this.number))
      return
    }
    if ("name" in write) {
      this.#countFlushed()
      this.connection.sendCommand(write.name, write.data)
      return
    }
    const startMs = clockMs()
    const chunk = this.#encode(write)
    if (!chunk) return
    if (chunk.references.length > 0) this.state.keepMemory()
    this.#countFlushed()
    this.#writeChunk(chunk)
    this.state.writeMs = clockMs() - startMs
  }

  /** Bytes still to be written, plus the number of queued writes. */
  get remaining(): number {
    return this.connection.untakenBytes + (this.#waiting?.length ?? 0)
  }

  /**
   * Counts a write before making it: if the thread ends in between, the messages are lost rather
   * than sent twice.
   */
  #countFlushed(): void {
    if (this.state.countFlushed()) this.#outbox.writesFlushed(this.number)
  }

  #writeChunk(chunk: Chunk): void {
    this.connection.write(chunk)
    this.#freeMemory()
    this.#count()
    this.#countWaiting()
  }

  /** Encodes a write. Ends the connection if that fails, for example if memory runs out. */
  #encode(write: Write): Chunk | undefined {
    try {
      return this.#endpoint.encode(write, this)
    } catch (error) {
      this.connection.destroy()
      this.#endpoint.threw(error)
      return undefined
    }
  }

  /** The stream writes from the memory of large parts until the system has taken them. */
  #freeMemory(): void {
    if (this.connection.waiting.bytes === 0) this.state.freeMemory()
  }

  #count(): void {
    this.state.counts = this.connection.counts
    this.state.effort = this.connection.effort
  }

  #countWaiting(): void {
    const { connection, state } = this
    state.waiting = connection.blocked ? connection.waiting : NOTHING
  }

  drained(): void {
    this.#freeMemory()
    this.#countWaiting()
    const waiting = this.#waiting
    while (waiting?.length && !this.connection.blocked)
      this.#writeNow(waiting.shift() as Write | Command | FlushMark)
    this.#checkEnd()
  }

  carryOut(request: ConnectionRequest): void {
    const { connection } = this
    switch (request.type) {
      case "command":
        this.write({ name: request.name, data: request.data })
        break
      case "end":
        this.#isEnding = true
        connection.resume() // the peer may send more before it reads the queued messages
        this.#checkEnd()
        break
      case "flush":
        this.write({ isMark: true })
        break
      case "destroy":
        connection.destroy()
        break
      case "refuse":
        connection.refuse()
        break
      case "authenticated":
        connection.authenticated(request.status)
        break
      case "reject":
        connection.reject(fromPlain(request.error) as ProtocolError)
    }
  }

  #checkEnd(): void {
    if (this.#isEnding && !this.waitsToSend) this.connection.end()
  }

  // -- Receiving -------------------------------------------------------------------

  get room(): number {
    return this.#granted === 0 || this.#isEnding
      ? Number.POSITIVE_INFINITY
      : this.#granted - this.#receivedMessages
  }

  frames(piece: Uint8Array, messages: number, frames: number): boolean {
    if (this.#isEnding) return true
    this.#outbox.frames(this.number, piece, frames)
    this.#count()
    this.#receivedMessages += messages
    this.#receivedBytes += piece.length + frames * FRAME_WINDOW_BYTES
    return this.#isWanted
  }

  body(flags: number, body: Buffer): boolean {
    if (this.#isEnding) return true
    this.#outbox.body(this.number, flags, body)
    this.#count()
    if (!(flags & MORE)) this.#receivedMessages++
    this.#receivedBytes += body.length + FRAME_WINDOW_BYTES
    return this.#isWanted
  }

  command(name: string, data: Buffer): boolean {
    return this.frames(writeCommand(name, data), 0, 1)
  }

  /** Not called, because this sink takes frames. */
  message(): boolean {
    return true
  }

  get #isWanted(): boolean {
    return this.room > 0 && this.#receivedBytes < this.#grantedBytes
  }

  /** Raises the total numbers of messages and bytes that may be received. */
  grant(messages: number, bytes: number): void {
    this.#granted = messages
    this.#grantedBytes = bytes
    if (this.#isWanted) this.connection.resume()
  }
}
