import { queueMicrotask } from "../base/runtime.js"
import { ProtocolError } from "../codec/errors.js"
import type {
  MessageEncoder,
  MessageSink,
  PeerConnection,
  PendingWrite,
} from "../transport/transport.js"
import { rememberForms } from "../zmtp/part.js"
import { Inbound, type InboundConnection, type InboundInternals } from "./inbound.js"
import type { Message } from "./message.js"
import { Outbound, type OutboundConnection, type OutboundEvents } from "./outbound.js"
import type { QueuedMessage } from "./packed-message.js"
import type { QueuedParts } from "./queued-parts.js"

export type PipeConnection = InboundConnection &
  OutboundConnection &
  Pick<PeerConnection, "sink" | "reject" | "awaitPendingWrites">

/** Events of a pipe, handled by the socket type that owns it. */
export interface PipeEvents {
  /** Whether the program has more messages to receive than it may in one turn of the event loop. */
  readonly isBehind?: boolean
  /** Whether compressed parts are received as they came. */
  readonly keepsForms?: boolean
  /**
   * Returns the socket type's rule that `message` breaks, which ends the connection. Most types
   * have none.
   */
  readonly violation: ((message: Message) => string | undefined) | undefined
  /** The received parts in all pipes of the socket. */
  readonly queued?: QueuedParts
  /** Memory of received messages that `receiveHighWaterMark` does not limit, in bytes. */
  readonly readAheadBytes?: number
  /** Handles a message at once, such as a subscription. Returns false if the message is to be queued. */
  takes?(pipe: Pipe, message: Message): boolean
  /** Returns whether the program has yet to receive a message that was read from the pipe. */
  isReading?(pipe: Pipe): boolean
  /** The pipe is ending, and will be terminated once its queued messages are read. */
  ending?(pipe: Pipe): void
  readActivated(pipe: Pipe): void
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
  /** Whether the program can ask what received parts were on the wire. */
  keepCompressed?: boolean
}

/** The state that the simulator's rules look at. */
export interface PipeInternals {
  readonly inbound: InboundInternals
  readonly isTerminated: boolean
  readonly isActive: boolean
}

/**
 * The state of a pipe. In every state but the first, it accepts no more messages, and is terminated
 * once those already received are read.
 * - "active": messages are sent and received.
 * - "finishing": queued messages are still written; newly received ones are discarded.
 * - "abandoned": queued messages are written while the connection lasts; nothing is read from it.
 * - "closed": there is nothing to write.
 */
type State = "active" | "finishing" | "abandoned" | "closed"

/**
 * A pipe in libzmq's sense: two message queues between a socket type and a peer. The pipe of a
 * bound endpoint lives as long as its connection. The pipe of a connected endpoint begins with
 * connect() and survives reconnects. send-credit.ts and inbound.ts limit the queues.
 */
export class Pipe implements MessageSink, OutboundEvents {
  /** The peer's routing id as a key; undefined until it is known. */
  routingId: string | undefined
  /** The id that the peer sent in its handshake. */
  peerRoutingId: Buffer | undefined
  /** The id that a SERVER assigned to this peer. */
  serverRoutingId = 0
  /** Indexes in the arrays of a load balancer, a fair queue and a distribution. */
  lbIndex = -1
  fqIndex = -1
  distIndex = -1
  readonly out: Outbound
  readonly #inbound: Inbound
  readonly #remembers: boolean
  #connection: PipeConnection | undefined
  /** The socket type; undefined once the pipe was terminated or abandoned. */
  #events: PipeEvents | undefined
  #state: State = "active"
  /** Callback of `finish()`. */
  #finished: (() => void) | undefined
  /**
   * Whether this side ended the pipe. Its peer may come back before the received messages are read;
   * in libzmq it loses its connection only then.
   */
  isReleased = false

  /** @param receiveHighWaterBytes maximum plaintext in the receive queue, in bytes; 0 is no limit. */
  constructor(
    events: PipeEvents,
    encoder: MessageEncoder,
    options: PipeOptions,
    receiveHighWaterBytes = 0,
  ) {
    this.#events = events
    this.#remembers = options.keepCompressed ?? false
    this.out = new Outbound(this, encoder, options.sendHighWaterMark, options.conflate)
    this.#inbound = new Inbound(options, events, receiveHighWaterBytes || Number.POSITIVE_INFINITY)
  }

  /** Changes the high-water marks. As in libzmq, `conflate` cannot change after the pipe was created. */
  set options({ sendHighWaterMark, receiveHighWaterMark }: PipeOptions) {
    this.out.highWaterMark = sendHighWaterMark
    if (this.#state === "active") this.#inbound.highWaterMark = receiveHighWaterMark
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
    this.out.attach(connection)
    this.#connection = connection
    connection.sink = this
    this.#inbound.attach(connection)
    this.out.flushOrWait()
  }

  /** Detaches a lost connection that may be replaced. The next one will write `pending`. */
  detach(pending: readonly PendingWrite[]): void {
    this.#detach(pending)
    if (this.#state === "abandoned" || this.#state === "closed") this.out.drop()
  }

  #detach(pending: readonly PendingWrite[]): void {
    this.#inbound.detach()
    this.#connection = undefined
    this.out.detach(pending)
  }

  /** Drops the queued outgoing messages, as libzmq does for subscribers; `hiccuped` follows. */
  hiccup(): void {
    const wasFull = this.out.reset()
    this.#events?.hiccuped(this)
    if (wasFull) this.#events?.writeActivated(this)
  }

  drained(): void {
    this.out.flush()
  }

  writeActivated(): void {
    this.#events?.writeActivated(this)
  }

  get isBehind(): boolean {
    return this.#events?.isBehind ?? false
  }

  get keepsForms(): boolean {
    return this.#remembers || (this.#events?.keepsForms ?? false)
  }

  /** Returns whether to send without a poll: what is known of the peer is recent, and there is room. */
  takesNow(nowMs: number): boolean {
    return this.out.isUpToDate(nowMs) && this.out.checkHwm()
  }

  get waitsToSend(): boolean {
    return this.#state !== "active" || this.out.isAwaited
  }

  // -- The end ---------------------------------------------------------------------

  /** Whether the connection has ended for good. Messages that it received may be left to read. */
  get isClosed(): boolean {
    return this.#state === "closed"
  }

  /**
   * Stops sending and receiving. Queued outgoing messages are still written, and received ones can
   * be read if `keepsReceived` is set. Calls `finished` once all are written, which may never
   * happen.
   */
  finish(finished: () => void, keepsReceived: boolean): void {
    this.isReleased = true
    this.out.shared?.seal()
    if (!keepsReceived) this.#inbound.clear()
    this.#finished = finished
    this.#end("finishing", keepsReceived)
    // The peer may send more before it reads the queued messages, so reading must not stop.
    this.#inbound.removeLimits()
    this.out.flushOrWait()
    this.emptied()
  }

  /** Drops the queued outgoing messages of a pipe that is finishing. */
  dropWaiting(): void {
    this.out.drop()
    this.#reportFinished()
  }

  /** Detaches the last connection. Messages already received can still be read. */
  close(): void {
    this.#detach([])
    this.out.drop()
    this.#end("closed", true)
  }

  /**
   * Takes the pipe away from its socket type. As in libzmq, its connection stays open but unread,
   * and queued messages are still written. This happens to a pipe whose routing id was taken over,
   * and to the second peer of a PAIR.
   */
  abandon(): void {
    // A pipe that is finishing still has to report that it has finished.
    if (this.#state === "active") this.#state = "abandoned"
    this.#events = undefined
    this.out.endSending()
    this.#inbound.clear()
  }

  /** Stops sending and receiving. The pipe is terminated once the received messages are read. */
  #end(state: State, keepsReceived: boolean): void {
    this.#state = state
    this.out.endSending()
    const isReading = keepsReceived && this.#events?.isReading?.(this)
    if (this.#inbound.isEmpty && !isReading) this.#terminate()
    else this.#events?.ending?.(this)
  }

  #terminate(): void {
    const events = this.#events
    this.#events = undefined
    events?.terminated(this)
  }

  /**
   * Finishes when everything has been written. Chunks that the connection holds survive it: the
   * next one may send them.
   */
  emptied(): void {
    if (this.#state !== "finishing" || !this.out.queue.isEmpty) return
    if (!this.#connection?.awaitPendingWrites?.()) this.#reportFinished()
  }

  #reportFinished(): void {
    if (this.#state !== "finishing") return
    this.#state = "closed"
    this.#finished?.()
  }

  get internals(): PipeInternals {
    return {
      inbound: this.#inbound.internals,
      isTerminated: this.#events === undefined,
      isActive: this.#state === "active",
    }
  }

  // -- Receiving -------------------------------------------------------------------

  message(received: Message): boolean {
    this.out.endRest()
    const isRemembered = this.#remembers && !this.#events?.keepsForms
    const message = isRemembered ? rememberForms(received) : received
    if (this.#state !== "active") {
      this.#connection?.messageConsumed?.()
      return this.#state !== "abandoned"
    }
    const violation = this.#events?.violation?.(message)
    if (violation !== undefined) {
      this.#connection?.reject(new ProtocolError("ERR_ZMTP_MESSAGE", violation))
      return true
    }
    if (this.#events?.takes?.(this, message)) {
      this.#connection?.messageConsumed?.()
      return true
    }
    if (this.#inbound.push(message)) this.#events?.readActivated(this)
    return this.#inbound.checkRoom()
  }

  command(name: string, data: Buffer): boolean {
    return this.#events?.command(this, name, data) ?? true
  }

  checkRead(): boolean {
    const has = this.#inbound.checkRead()
    if (!has) this.#foundEmpty()
    return has
  }

  read(): Message | undefined {
    const message = this.#inbound.read()
    if (message === undefined) this.#foundEmpty()
    return message
  }

  takeAll(): QueuedMessage[] {
    return this.#inbound.takeAll()
  }

  /**
   * Terminates a pipe that has ended. As in libzmq, it keeps its turn until it is found empty.
   * Deferred, because the caller is iterating its pipes.
   */
  #foundEmpty(): void {
    if (this.#state !== "active") queueMicrotask(() => this.#terminate())
  }
}
