import type { Chunk } from "../codec/chunk.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Connection } from "../transport/connection.js"
import { Queue } from "../transport/queue.js"
import type { Command, FrameRelaySink, Waiting } from "../transport/transport.js"
import { writeCommand } from "../zmtp/commands.js"
import type { Outbox } from "./outbox.js"
import { fromPlain } from "./plain-error.js"
import { type Control, RECEIVE_WINDOW_BYTES } from "./protocol.js"
import { SharedState } from "./shared-state.js"

/** Of a network with room, which may still have a little to take and would not tell when it has. */
const NOTHING: Waiting = { messages: 0, bytes: 0 }

/** Frames of whole messages, in shared memory that is theirs until the write is counted as left. */
export interface Write {
  bytes: Uint8Array
}

/** A place among the writes: those before it are to be flushed. */
interface FlushMark {
  isMark: true
}

/** The endpoint of a connection, as the connection uses it. */
export interface ConnectionEndpoint {
  /** @throws Error when memory is out. */
  encode(write: Write, by: HostedConnection): Chunk
  flushed(connection: number): void
  threw(error: unknown): void
}

/** A connection of this thread, whose messages come from and go to the thread of the sockets. */
export class HostedConnection implements FrameRelaySink {
  readonly number: number
  readonly connection: Connection
  readonly #endpoint: ConnectionEndpoint
  readonly #outbox: Outbox
  /** Writes that wait for the network. */
  #waiting: Queue<Write | Command | FlushMark> | undefined
  readonly state: SharedState = new SharedState()
  #isEnding = false
  /** Messages that came, and that may come; 0 is no limit. */
  #receivedMessages = 0
  #granted: number
  #receivedBytes = 0
  #grantedBytes = RECEIVE_WINDOW_BYTES

  constructor(
    number: number,
    connection: Connection,
    endpoint: ConnectionEndpoint,
    outbox: Outbox,
    credit: number,
  ) {
    this.number = number
    this.connection = connection
    this.#endpoint = endpoint
    this.#outbox = outbox
    this.#granted = credit
    this.state.effort = connection.effort
  }

  // -- What leaves -----------------------------------------------------------------

  /**
   * Writes, or keeps until the network has room. A connection that is ending stays blocked: what is
   * kept then has not left, and the thread of the sockets has it for the next connection.
   */
  write(write: Write | Command | FlushMark): void {
    if (this.#mayWrite) {
      this.#writeNow(write)
      return
    }
    this.#waiting ??= new Queue()
    this.#waiting.push(write)
  }

  /** Whether the network has room, and nothing is before what is written now. */
  get #mayWrite(): boolean {
    return !this.connection.blocked && !this.#waiting?.length
  }

  /** Whether a write leaves at once. */
  get isFree(): boolean {
    return this.#mayWrite && !this.#isEnding
  }

  /** Writes messages of a batch that is yet to be posted. */
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
    const startMs = performance.now()
    const chunk = this.#encode(write)
    if (!chunk) return
    this.#countFlushed()
    this.#writeChunk(chunk)
    this.state.writeMs = performance.now() - startMs
  }

  /** What is still to be written: bytes, and writes that wait behind them. */
  get left(): number {
    return this.connection.untakenBytes + (this.#waiting?.length ?? 0)
  }

  /** Counts a write before it is made: if the thread is ended in between, it is lost rather than sent twice. */
  #countFlushed(): void {
    if (this.state.leaves()) this.#outbox.writesFlushed(this.number)
  }

  #writeChunk(chunk: Chunk): void {
    this.connection.write(chunk)
    this.#count()
    this.#countWaiting()
  }

  /** Encodes; if that fails, as without memory, the connection is over. */
  #encode(write: Write): Chunk | undefined {
    try {
      return this.#endpoint.encode(write, this)
    } catch (error) {
      this.connection.destroy()
      this.#endpoint.threw(error)
      return undefined
    }
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
    this.#countWaiting()
    const waiting = this.#waiting
    if (waiting) {
      while (waiting.length > 0 && !this.connection.blocked)
        this.#writeNow(waiting.shift() as Write | Command | FlushMark)
    }
    this.#checkEnd()
  }

  control(control: Control): void {
    const { connection } = this
    switch (control.type) {
      case "end":
        this.#isEnding = true
        connection.resume() // a peer may have to be heard before it takes what waits
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
        connection.authenticated(control.status)
        break
      case "reject":
        connection.reject(fromPlain(control.error) as ProtocolError)
    }
  }

  #checkEnd(): void {
    if (this.#isEnding && (this.#waiting?.length ?? 0) === 0) this.connection.end()
  }

  // -- What comes ------------------------------------------------------------------

  get room(): number {
    return this.#granted === 0 || this.#isEnding
      ? Number.POSITIVE_INFINITY
      : this.#granted - this.#receivedMessages
  }

  frames(piece: Uint8Array, messages: number): boolean {
    if (this.#isEnding) return true
    this.#outbox.frames(this.number, piece)
    this.#count()
    this.#receivedMessages += messages
    this.#receivedBytes += piece.length
    return this.#isWanted
  }

  command(name: string, data: Buffer): boolean {
    return this.frames(writeCommand(name, data), 0)
  }

  /** Not of a sink that takes frames. */
  message(): boolean {
    return true
  }

  get #isWanted(): boolean {
    return this.room > 0 && this.#receivedBytes < this.#grantedBytes
  }

  /** Raises the messages and bytes that may have been received in all. */
  grant(messages: number, bytes: number): void {
    this.#granted = messages
    this.#grantedBytes = bytes
    if (this.#isWanted) this.connection.resume()
  }
}
