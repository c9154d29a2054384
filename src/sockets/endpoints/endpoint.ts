import type { Event } from "zeromq"
import { clearTimeout, setTimeout } from "../../base/runtime.js"
import { ProtocolError } from "../../codec/errors.js"
import type { FormatName } from "../../codec/format.js"
import { Pipe, type PipeOptions } from "../../patterns/pipe.js"
import type { SocketType } from "../../patterns/socket-type.js"
import type {
  Departure,
  Ending,
  EndpointEvent,
  MessageEncoder,
  PeerConnection,
  Transport,
} from "../../transport/transport.js"
import { systemError } from "../../transport/zmq-error.js"
import type { Credentials } from "../../zmtp/mechanism.js"
import type { Lz4, Observed } from "../lz4.js"
import { type Authenticator, refusalOf } from "../zap.js"
import { ForeignPeers } from "./foreign-peers.js"
import { Linger } from "./linger.js"

/** The members of a registry that its endpoints use. */
export interface EndpointHost {
  readonly type: SocketType
  readonly lz4: Lz4
  emit(event: Event): void
  added(pipe: Pipe): void
  removed(pipe: Pipe): void
}

export interface EndpointSettings {
  format: FormatName
  transport: Transport
  /** Whether a ZAP handler authenticates the peers. */
  authenticates: boolean
  authenticator: Authenticator
  /** Maximum plaintext in bytes that is queued for receiving from each connection; 0 is no limit. */
  receiveHighWaterBytes: number
  /** As in libzmq, the options that the socket had at bind() or connect(). */
  pipe: PipeOptions
  /** Whether a connected endpoint has a pipe only while there is a connection (ZMQ_IMMEDIATE). */
  immediate: boolean
}

type Failure = Extract<EndpointEvent, { type: "failed" }>

/** Milliseconds that a peer has to close its side after `linger` has expired. */
const CLOSE_MS = 1000

/**
 * The life of an endpoint:
 * - "open": it has not been released.
 * - "lingering": it was released, and its queued messages are still written.
 * - "expired": they were dropped, because `linger` has expired. Peers have to close their sides.
 * - "over": it was released and has no connections left.
 */
type Life = "open" | "lingering" | "expired" | "over"

/**
 * The end of a connection that this side has ended:
 * - "writing": the system has not accepted everything yet.
 * - "sent": it has, and the peer may still be sending.
 * - "quiet": the peer sends nothing either. The system sends the rest, even after the process has ended.
 */
type Farewell = "writing" | "sent" | "quiet"

/** zeromq.js's messages for the statuses of ZAP. */
const REFUSALS: Readonly<Record<number, string>> = {
  300: "Temporary error",
  400: "Authentication failure",
  500: "Internal error",
}

/** An endpoint, which handles the events of its connections. */
export abstract class Endpoint implements Observed {
  abstract readonly address: string
  abstract readonly kind: "bind" | "connect"
  get format(): FormatName {
    return this.settings.format
  }
  readonly host: EndpointHost
  protected readonly settings: EndpointSettings
  protected readonly encoder: MessageEncoder
  /** The pipes of connections whose handshake is over. */
  readonly pipes: Map<PeerConnection, Pipe> = new Map()
  /** Counts of a connected endpoint, over all of its connections. */
  protocolErrors = 0
  reconnects = 0
  /** The connections that this side has ended and the peer has not. */
  readonly #farewells = new WeakMap<PeerConnection, Farewell>()
  #life: Life = "open"
  /** The callback of `release`, which lets the process exit. */
  #released: () => void = () => {}
  /** The limit of "lingering", if there is one. */
  #linger: Linger | undefined
  /** The limit of "expired". */
  #closing: NodeJS.Timeout | undefined
  readonly #foreignPeers: ForeignPeers

  constructor(host: EndpointHost, settings: EndpointSettings) {
    this.host = host
    this.settings = settings
    this.encoder = settings.transport.encoder
    this.#foreignPeers = new ForeignPeers(this, host)
  }

  get socketType(): string {
    return this.host.type.name
  }

  /** All connections, including those in their handshake. */
  protected abstract readonly connections: Iterable<PeerConnection>
  /** Whether messages are queued for a connection that has not been made yet. */
  protected abstract readonly isWaiting: boolean

  /**
   * Releases the endpoint. Queued messages are sent within `lingerMs` (-1 is no limit), and then
   * `released` is called. With `keepsReceived`, messages already received can still be read.
   */
  release(lingerMs: number, released: () => void, keepsReceived: boolean): void {
    this.#life = "lingering"
    this.#released = released
    this.finishPipes(keepsReceived)
    if (this.#isOver) return
    if (lingerMs === 0) this.#expire()
    else if (lingerMs > 0) this.#linger = new Linger(lingerMs, () => this.#expire())
    this.checkReleased()
  }

  protected get isReleased(): boolean {
    return this.#life !== "open"
  }

  get #isOver(): boolean {
    return this.#life === "over"
  }

  /** The rest of `linger`, after the endpoint was released. */
  get lingerLeftMs(): number {
    if (this.#life === "expired" || this.#isOver) return 0
    return this.#linger?.leftMs ?? Number.POSITIVE_INFINITY
  }

  /** Whether the process waits for messages to be written, rather than for a peer to close its side. */
  get hasUnsent(): boolean {
    if (this.lingerLeftMs === 0) return false
    const isUnsent = (one: PeerConnection) => (this.#farewells.get(one) ?? "writing") === "writing"
    return this.isWaiting || [...this.connections].some(isUnsent)
  }

  /** The pipes that messages can be sent to. */
  abstract readonly sendingPipes: Iterable<Pipe>

  /** Gives up the connections that peers have ended, after the event loop has stopped. */
  noticeEnds(): void {
    for (const [connection, pipe] of this.pipes)
      if (connection.hasPeerEnded) {
        this.pipes.delete(connection)
        this.lost(pipe, connection)
      }
  }

  protected lost(pipe: Pipe, _connection: PeerConnection): void {
    pipe.close()
    this.host.removed(pipe)
    this.host.lz4.pipeRemoved(pipe)
  }

  /** Writes the sent messages after the event loop has stopped. */
  abstract depart(departure: Departure): void

  /** Drops the messages not yet written, because `linger` has expired. */
  #expire(): void {
    this.#closing = setTimeout(() => {
      for (const connection of this.connections) connection.destroy()
    }, CLOSE_MS).unref()
    this.#life = "expired"
    for (const pipe of this.sendingPipes) pipe.dropWaiting()
    // Node keeps the process alive for data that the system has no room for; libzmq drops it.
    for (const connection of this.connections)
      if (!this.pipes.has(connection) || connection.blocked) this.destroy(connection)
    this.checkReleased()
  }

  /** Ends a connection whose messages were all written to it. */
  protected end(connection: PeerConnection): void {
    this.#farewells.set(connection, "writing")
    connection.end()
    this.checkReleased()
  }

  protected destroy(connection: PeerConnection): void {
    this.#farewells.set(connection, "writing")
    connection.destroy()
  }

  /** Lets connections write what is queued, and end. */
  protected abstract finishPipes(keepsReceived: boolean): void
  /** The endpoint was released and has no connections left. */
  protected over(): void {}

  protected checkReleased(): void {
    if (!this.isReleased || this.#isOver || this.isWaiting) return
    const connections = [...this.connections]
    if (connections.every((one) => this.#needsNoProcess(one))) this.#released()
    if (connections.length > 0) return
    this.#life = "over"
    this.#linger?.clear()
    clearTimeout(this.#closing)
    this.over()
    this.encoder.close()
    this.#released()
  }

  /** Returns whether the system sends the rest, as with libzmq, even after the process has exited. */
  #needsNoProcess(connection: PeerConnection): boolean {
    const farewell = this.#farewells.get(connection)
    return this.#life === "expired" ? farewell !== undefined : farewell === "quiet"
  }

  // -- Events ----------------------------------------------------------------------

  protected emit(type: Event["type"], more: object = {}, reason?: Error): void {
    const event = { type, address: this.address, ...more }
    // Not enumerable: zeromq.js has no such field, and programs may compare or store events as a whole.
    if (reason) Object.defineProperty(event, "error", { value: reason })
    this.host.emit(event as Event)
  }

  protected onEvent(event: EndpointEvent): void {
    switch (event.type) {
      case "delayed":
        this.emit("connect:delay")
        break
      case "attemptFailed":
        this.emit("close", {}, event.error)
        break
      case "retried":
        this.emit("connect:retry", { interval: event.intervalMs })
        this.host.lz4.retried(this, event.intervalMs, event.error)
        break
      case "gaveUp":
        this.gaveUp(event.isWrongPeer)
        break
      case "acceptFailed":
        this.emit("accept:error", {
          error: systemError((event.error as NodeJS.ErrnoException).code),
        })
        break
      case "opened":
        this.opened(event.connection)
        break
      case "authenticate":
        this.#authenticate(event.connection, event.credentials)
        break
      case "refused":
        this.#refused(event.status)
        break
      case "failed":
        this.#failed(event)
        break
      case "ready":
        this.emit("handshake")
        this.host.lz4.ready(event.connection)
        this.#foreignPeers.watch(event.connection)
        this.ready(event.connection, Buffer.from(event.peerRoutingId))
        break
      case "effortChanged":
        this.host.lz4.effortChanged(event.connection)
        break
      case "sent":
        this.#farewells.set(event.connection, event.isQuiet ? "quiet" : "sent")
        this.checkReleased()
        break
      case "closed":
        this.#closed(event.connection, event)
    }
  }

  protected abstract opened(connection: PeerConnection): void
  /** Attaches the connection to its pipe. */
  protected abstract ready(connection: PeerConnection, peerRoutingId: Buffer): void
  /** Returns the pipe of a connection, which may be used by others afterwards. */
  protected abstract pipeOf(connection: PeerConnection): Pipe | undefined
  /** A connected endpoint has no connection and will have none. */
  protected gaveUp(_isWrongPeer: boolean): void {}

  #authenticate(connection: PeerConnection, credentials: Credentials): void {
    this.settings.authenticator.ask(connection, credentials, (answer) => {
      const refusal = refusalOf(answer, credentials)
      if (refusal) {
        this.emit(refusal.type, { error: refusal.error })
        connection.refuse()
      } else connection.authenticated(typeof answer === "number" ? answer : undefined)
    })
  }

  #refused(status: number): void {
    const error = Object.assign(new Error(REFUSALS[status] ?? "Unknown error"), { status })
    this.emit("handshake:error:auth", { error })
  }

  #failed({ connection, error, reason, isOtherFormat = false }: Failure): void {
    if (this.kind === "connect") this.protocolErrors++
    if (reason) {
      const code = `ERR_ZMTP_${reason}`
      const reported = Object.assign(new Error("ZMTP protocol error"), { code })
      this.emit("handshake:error:protocol", { error: reported })
    }
    this.host.lz4.failed(
      connection,
      this,
      this.#foreignPeers.explain(connection, error, isOtherFormat),
    )
  }

  #closed(connection: PeerConnection, { error, stage, counts }: Ending): void {
    const pipe = this.pipeOf(connection)
    this.pipes.delete(connection)
    // Listeners of its end may send, but no longer to it.
    if (pipe) this.lost(pipe, connection)
    this.settings.authenticator.cancel(connection)
    this.#foreignPeers.forget(connection, counts)
    // As with libzmq, a connection that this side ended has no more events.
    if (!this.#farewells.has(connection)) {
      if (stage === "handshaking")
        this.emit("handshake:error:other", { error: handshakeError(error) })
      this.emit("disconnect")
    }
    const reported = error instanceof ProtocolError ? undefined : error
    this.host.lz4.closed(connection, this, counts, reported)
    this.checkReleased()
  }

  protected addPipe(pipe: Pipe): void {
    this.host.added(pipe)
    this.host.type.attach(pipe)
  }

  protected newPipe(): Pipe {
    const { host, settings } = this
    const { receiveHighWaterBytes } = settings
    const pipe = new Pipe(host.type, this.encoder, settings.pipe, receiveHighWaterBytes)
    host.lz4.pipeAdded(pipe)
    return pipe
  }
}

/** Returns libzmq's error for a connection that ended during its handshake. */
function handshakeError(error: NodeJS.ErrnoException | undefined): Error {
  const code = error?.code
  if (code === undefined || error instanceof ProtocolError) return systemError("EPIPE")
  return systemError(code === "ETIMEDOUT" ? "EAGAIN" : code)
}
