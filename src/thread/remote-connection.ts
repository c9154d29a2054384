import { Queue } from "../base/queue.js"
import { Chunk } from "../codec/chunk.js"
import { partDetached } from "../codec/errors.js"
import type { Packing } from "../codec/packing.js"
import { mayHaveStopped } from "../transport/last-poll.js"
import type {
  Command,
  ConnectionCounts,
  DepartingThread,
  Departure,
  MessageSink,
  OpenMemory,
  PeerConnection,
  PeerScheme,
  PendingWrite,
  Waiting,
} from "../transport/transport.js"
import type { AuthStatus } from "../zmtp/mechanism.js"
import { toPlain } from "./plain-error.js"
import { PostedWrites } from "./posted-writes.js"
import {
  type ConnectionRequest,
  FRAME_WINDOW_BYTES,
  type OpenedEvent,
  RECEIVE_WINDOW_BYTES,
  type ReadyEvent,
} from "./protocol.js"
import { type ReadConnection, RemoteReader } from "./remote-reader.js"
import { SharedState } from "./shared-state.js"

/** The thread of a remote connection, as seen by the socket thread. */
export interface ConnectionThread extends DepartingThread {
  addConnection(connection: RemoteConnection): void
  removeConnection(connection: RemoteConnection): void
  /** Reads the frames that were kept for want of room soon. */
  readSoon(reader: RemoteReader): void
  holds(connection: RemoteConnection): void
  openBatch(connections: readonly number[]): OpenMemory | undefined
  write(connection: number, chunk: Chunk): void
  grant(connection: number, messages: number, bytes: number): void
  post(request: ConnectionRequest): void
}

/** A connection on another thread, as seen by the socket thread. */
export class RemoteConnection implements PeerConnection, ReadConnection {
  sink: MessageSink | undefined
  peerTakesCommands = false
  peerIsLibzmq = false
  peerRevision: number | undefined
  scheme: PeerScheme | undefined
  readonly packing: Packing = "frames"
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly #thread: ConnectionThread
  readonly number: number
  readonly #state: SharedState

  readonly #writes: PostedWrites
  /** Callbacks of `flush()`, in order. */
  readonly #flushes = new Queue<() => void>()

  /**
   * The sink's high-water mark and the messages consumed since the connection began, from which
   * grants follow.
   */
  #mark: number
  #conflate = false
  #received = 0
  #granted: number
  #readBytes = 0
  #grantedBytes = RECEIVE_WINDOW_BYTES

  readonly #reader: RemoteReader = new RemoteReader(this)
  #closed = false

  /** @param credit number of messages that may be received before the first grant; 0 is no limit. */
  constructor(thread: ConnectionThread, credit: number, opened: Omit<OpenedEvent, "type">) {
    this.#thread = thread
    this.number = opened.connection
    this.#state = new SharedState(opened.state)
    this.#writes = new PostedWrites(this.#state)
    this.#mark = credit
    this.#granted = credit
    this.remoteAddress = opened.remoteAddress
    this.remotePort = opened.remotePort
    thread.addConnection(this)
  }

  /** Sets the properties of the peer that the handshake has shown. */
  knowPeer({ peerTakesCommands, peerIsLibzmq, peerRevision, scheme }: ReadyEvent): void {
    this.peerTakesCommands = peerTakesCommands
    this.peerIsLibzmq = peerIsLibzmq
    this.peerRevision = peerRevision
    this.scheme = scheme
  }

  get isEnded(): boolean {
    return this.#reader.isDiscarding
  }

  get counts(): ConnectionCounts {
    return this.#state.counts
  }

  get effort(): number {
    return this.#state.effort
  }

  // -- Sending ---------------------------------------------------------------------

  get waiting(): Waiting {
    return this.#writes.waiting
  }

  get blocked(): boolean {
    return this.#closed || this.#isFull
  }

  get #isFull(): boolean {
    return this.#writes.isFull(this.#conflate)
  }

  get writeMs(): number {
    return this.#state.writeMs
  }

  /** The thread, if it may take messages out of an open batch. */
  get earlyThread(): ConnectionThread | undefined {
    return this.#closed || this.#conflate ? undefined : this.#thread
  }

  write(chunk: Chunk): void {
    const { detached } = chunk
    if (this.#closed || detached) {
      if (detached) this.reject(partDetached(detached.length))
      chunk.release()
      return
    }
    this.#writes.release()
    this.#thread.write(this.number, chunk)
    this.#posted(chunk)
  }

  sendCommand(name: Command["name"], data: Uint8Array): void {
    if (this.#closed) return
    // Copied, because a posted array takes its whole ArrayBuffer along.
    const copied = new Uint8Array(data)
    this.#thread.post({ type: "command", connection: this.number, name, data: copied })
    this.#posted({ name, data: copied })
  }

  #posted(item: PendingWrite): void {
    if (this.#writes.isEmpty) this.#thread.holds(this)
    this.#writes.push(item)
    if (this.#isFull) this.#writes.wantRoom()
  }

  /** Releases flushed writes. Returns whether none is left. */
  release(): boolean {
    this.#writes.release()
    return this.#writes.isEmpty
  }

  takePendingWrites(): PendingWrite[] {
    this.#writes.release()
    return this.#writes.takeAll()
  }

  awaitPendingWrites(): boolean {
    return this.#writes.wantAll()
  }

  flush(done: () => void): void {
    if (this.#closed) {
      done()
      return
    }
    this.#flushes.push(done)
    this.#thread.post({ type: "flush", connection: this.number })
  }

  /** The worker has written everything posted before the oldest `flush()`. */
  flushed(): void {
    this.#flushes.shift()?.()
  }

  /** The thread tells at once that the peer has gone. */
  isUpToDate(nowMs: number): boolean {
    return !this.hasPeerEnded && !mayHaveStopped(nowMs)
  }

  get hasPeerEnded(): boolean {
    return this.#state.hasEnded
  }

  depart(departure: Departure): boolean {
    if (this.#closed || this.hasPeerEnded) return false
    departure.addThread(this.#thread)
    return !this.isEnded
  }

  /** The wanted number of writes has been flushed. */
  writesFlushed(): void {
    this.#writes.release()
    if (!this.blocked) this.sink?.drained()
    else if (!this.#closed) this.#writes.wantRoom()
  }

  // -- Receiving -------------------------------------------------------------------

  setMarks(receiveHighWaterMark: number, conflate: boolean): void {
    this.#conflate = conflate
    // A message that the latest one replaces is never consumed.
    this.#mark = conflate ? 0 : receiveHighWaterMark
    const grant = this.#mark === 0 ? 0 : this.#received + this.#mark
    if (grant !== this.#granted) this.#grant(grant)
  }

  messageConsumed(): void {
    this.#received++
    // Grants are made in steps of half the mark, as in libzmq.
    if (this.#mark > 0 && 2 * (this.#received + this.#mark - this.#granted) >= this.#mark)
      this.#grant(this.#received + this.#mark)
  }

  #grant(messages: number): void {
    this.#granted = messages
    this.#grantedBytes = this.#readBytes + RECEIVE_WINDOW_BYTES
    if (!this.#closed) this.#thread.grant(this.number, this.#granted, this.#grantedBytes)
  }

  receivedFrames(frames: Uint8Array): void {
    this.#reader.read(frames)
  }

  receivedBody(flags: number, body: Buffer): void {
    this.#reader.read({ flags, body })
  }

  framesRead(bytes: number, frames: number): void {
    this.#readBytes += bytes + frames * FRAME_WINDOW_BYTES
    if (this.#readBytes + RECEIVE_WINDOW_BYTES / 2 > this.#grantedBytes) this.#grant(this.#granted)
  }

  readSoon(reader: RemoteReader): void {
    this.#thread.readSoon(reader)
  }

  stop(): void {
    this.#reader.stop()
  }

  resume(): void {
    this.#reader.resume()
  }

  // -- Handshake and end -----------------------------------------------------------

  authenticated(status: AuthStatus | undefined): void {
    if (!this.#closed) this.#thread.post({ type: "authenticated", connection: this.number, status })
  }

  refuse(): void {
    this.#end("refuse")
  }

  end(): void {
    this.sink = undefined
    this.#end("end")
  }

  destroy(): void {
    this.#end("destroy")
  }

  #end(type: "refuse" | "end" | "destroy"): void {
    this.#reader.discard()
    if (!this.#closed) this.#thread.post({ type, connection: this.number })
  }

  reject(error: Error): void {
    this.#reader.discard()
    if (!this.#closed)
      this.#thread.post({ type: "reject", connection: this.number, error: toPlain(error) })
  }

  /**
   * The connection is ending. Calls back once the messages that it has received were passed on.
   *
   * @param waits whether those wait until the sink has room.
   */
  closing(waits: boolean, finished: () => void): void {
    this.#writes.release()
    // Nothing is passed on if the sink was full from the beginning: every reconnect would add to it.
    if (this.#readBytes === 0) this.#reader.discard()
    else if (!waits) this.#reader.readRest()
    this.#closed = true
    this.#thread.removeConnection(this)
    this.#reader.finish(finished)
  }

  /** Whether the connection has ended, although messages that it received may wait for room. */
  get isClosing(): boolean {
    return this.#closed
  }

  /** All handlers have been notified of the end. */
  closed(): void {
    this.sink = undefined
    for (const item of this.takePendingWrites()) if (item instanceof Chunk) item.release()
    while (this.#flushes.length > 0) this.flushed()
  }
}
