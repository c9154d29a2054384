import type { Event } from "zeromq"
import { ProtocolError } from "../codec/errors.js"
import { Pipe, type PipeOptions } from "../patterns/pipe.js"
import type { SocketType } from "../patterns/socket-type.js"
import type { Destination, HostPort } from "../transport/endpoint.js"
import { formatEndpoint } from "../transport/endpoint.js"
import type {
  Departure,
  DialerHandlers,
  Encoder,
  Ending,
  ListenerHandlers,
  PeerConnection,
  PeerDialer,
  PeerListener,
  Transport,
} from "../transport/transport.js"
import { systemError } from "../transport/zmq-error.js"
import type { Credentials, HandshakeFailure } from "../zmtp/handshake.js"
import { type Authenticator, refusalOf } from "./authenticator.js"
import type { Lz4, Source } from "./lz4.js"

/** The socket, as its endpoints see it. */
export interface EndpointHost {
  readonly type: SocketType
  readonly lz4: Lz4
  readonly pipeOptions: PipeOptions
  /** Whether pipes are there only while there is a connection. */
  readonly immediate: boolean
  emit(event: Event): void
  added(pipe: Pipe): void
  removed(pipe: Pipe): void
}

/** Settings by which an endpoint makes its connections. */
export interface EndpointSettings {
  transport: Transport
  /** Whether its peers are authenticated by a handler of ZAP. */
  authenticates: boolean
  authenticator: Authenticator
  /** Plaintext that may wait to be received from each connection; 0 is no limit. */
  receiveHighWaterBytes: number
}

/** Time for a peer to end its side of a connection after `linger`, in milliseconds. */
const FLUSH_MS = 1000

type EventType = Event["type"]

/** The common part of bound and connected endpoints: their connections, and the events of these. */
abstract class Endpoint implements Source {
  /** As it is named in events. */
  abstract readonly address: string
  protected readonly host: EndpointHost
  protected readonly settings: EndpointSettings
  protected readonly encoder: Encoder
  /** Of connections whose handshake is over. */
  readonly pipes: Map<PeerConnection, Pipe> = new Map()
  /** Over all connections of one that was connected. */
  protocolErrors = 0
  reconnects = 0
  /** Connections that only wait for the peer to end its side. */
  readonly #ending = new WeakSet<PeerConnection>()
  protected isReleased = false
  #isExpired = false
  /** Lets the process end. */
  #released: (() => void) | undefined
  #limit: NodeJS.Timeout | undefined
  /** When the time of `linger` will be up. */
  #limitMs = Number.POSITIVE_INFINITY
  /** Whether the program was warned of a plain peer. */
  #hasWarned = false

  constructor(host: EndpointHost, settings: EndpointSettings) {
    this.host = host
    this.settings = settings
    this.encoder = settings.transport.encoder
  }

  get socketType(): string {
    return this.host.type.name
  }

  /** Every connection, in its handshake or not. */
  protected abstract readonly connections: Iterable<PeerConnection>
  /** Whether something may still be sent by a connection that is yet to be made. */
  protected abstract readonly isWaiting: boolean
  /**
   * Ends the endpoint. What waits is sent within `lingerMs`, -1 for no limit; then `released` is
   * called. What was received may be kept for the socket.
   */
  release(lingerMs: number, released: () => void, keepsReceived: boolean): void {
    this.isReleased = true
    this.#released = released
    this.finishPipes(keepsReceived)
    if (!this.#released) return
    if (lingerMs === 0) this.#expire()
    else if (lingerMs > 0) {
      this.#limitMs = performance.now() + lingerMs
      this.#limit = setTimeout(() => this.#expire(), lingerMs).unref()
    }
    this.checkReleased()
  }

  /** What is left of `linger`, of an endpoint that was released. */
  get lingerLeftMs(): number {
    return this.#isExpired ? 0 : Math.max(0, this.#limitMs - performance.now())
  }

  /** The pipes of peers that may be sent something. */
  abstract readonly sendingPipes: Iterable<Pipe>

  /** Has what was sent leave, although the event loop has stopped. */
  abstract depart(departure: Departure): void

  /** The time of `linger` is up: what was not written yet is dropped. */
  #expire(): void {
    this.#limit = setTimeout(() => {
      for (const connection of this.connections) connection.destroy()
    }, FLUSH_MS).unref()
    this.#isExpired = true
    this.dropWaiting()
    // Node keeps the process for what the system has no room for, and libzmq drops it.
    for (const connection of this.connections)
      if (!this.pipes.has(connection) || connection.blocked) connection.destroy()
    this.checkReleased()
  }

  /** Ends a connection for which nothing waits any more. */
  protected end(connection: PeerConnection): void {
    this.#ending.add(connection)
    connection.end()
    this.checkReleased()
  }

  /** Gives all that waits to the connections, which end then. */
  protected abstract finishPipes(keepsReceived: boolean): void
  /** Drops what still waits. */
  protected abstract dropWaiting(): void
  /** Nothing is left of the endpoint. */
  protected over(): void {}

  protected checkReleased(): void {
    if (!this.#released || this.isWaiting) return
    const connections = [...this.connections]
    // As with libzmq, the system sends the rest, and the process need not see it.
    if (this.#isExpired && connections.every((one) => this.#ending.has(one))) this.#released()
    if (connections.length > 0) return
    clearTimeout(this.#limit)
    const released = this.#released
    this.#released = undefined
    this.over()
    this.encoder.close()
    released()
  }

  // -- Events ----------------------------------------------------------------------

  protected emit(type: EventType, more: object = {}): void {
    this.host.emit({ type, address: this.address, ...more } as Event)
  }

  authenticate(connection: PeerConnection, credentials: Credentials): void {
    this.settings.authenticator.ask(connection, credentials, (answer) => {
      const refusal = refusalOf(answer, credentials)
      if (refusal) {
        this.emit(refusal.type, { error: refusal.error })
        connection.refuse()
      } else connection.authenticated(typeof answer === "number" ? answer : undefined)
    })
  }

  refused(_connection: PeerConnection, status: number): void {
    const words: Record<number, string> = {
      300: "Temporary error",
      400: "Authentication failure",
      500: "Internal error",
    }
    const error = Object.assign(new Error(words[status] ?? "Unknown error"), { status })
    this.emit("handshake:error:auth", { error })
  }

  failed(connection: PeerConnection, error: ProtocolError, failure?: HandshakeFailure): void {
    if (failure?.reason) {
      const code = `ERR_ZMTP_${failure.reason}`
      const told = Object.assign(new Error("ZMTP protocol error"), { code })
      this.emit("handshake:error:protocol", { error: told })
    }
    if (isProbablyPlain(connection, error)) this.#plainPeer(connection, error)
    else this.host.lz4.failed(connection, this, error)
  }

  /** Tells of a peer whose first part has no sentinel, also where nobody listens. */
  #plainPeer(connection: PeerConnection, error: ProtocolError): void {
    const { lz4 } = this.host
    const told = new ProtocolError(
      error.code,
      `${error.message.slice(error.code.length + 2)}; the peer announced nothing, so it probably speaks tcp://`,
    )
    if (lz4.listenerCount("protocolError") === 0 && !this.#hasWarned) {
      this.#hasWarned = true
      const { remoteAddress, remotePort } = connection
      process.emitWarning(
        `the peer ${remoteAddress}:${remotePort} of ${this.address} lost its connection: ${told.message}. Both ends have to be lz4+tcp://, unless this one has the option acceptPlain.`,
        { code: told.code },
      )
    }
    lz4.failed(connection, this, told)
  }

  protected tellClosed(connection: PeerConnection, { error, stage, counts }: Ending): void {
    this.settings.authenticator.cancel(connection)
    if (stage === "handshaking" && !this.isReleased) {
      this.emit("handshake:error:other", { error: handshakeError(error) })
    }
    if (!this.isReleased) this.emit("disconnect")
    const told = error instanceof ProtocolError ? undefined : error
    this.host.lz4.closed(connection, this, counts, told)
  }

  effortChanged(connection: PeerConnection): void {
    this.host.lz4.effortChanged(connection)
  }

  protected newPipe(): Pipe {
    const { host, settings } = this
    const { receiveHighWaterBytes } = settings
    const pipe = new Pipe(host.type, this.encoder, host.pipeOptions, receiveHighWaterBytes)
    host.lz4.pipeAdded(pipe)
    return pipe
  }
}

/** An endpoint that was bound: a pipe for each peer that comes. */
export class BoundEndpoint extends Endpoint implements ListenerHandlers {
  readonly kind = "bind"
  address = ""
  readonly #listener: PeerListener

  constructor(host: EndpointHost, settings: EndpointSettings) {
    super(host, settings)
    this.#listener = settings.transport.listener(this)
  }

  /** @throws Error in the form of zeromq.js. */
  async listen(address: HostPort): Promise<void> {
    try {
      this.#listens(await this.#listener.listen(address))
    } catch (error) {
      this.#cannotListen(error)
    }
  }

  /** @throws Error in the form of zeromq.js. */
  listenSync(address: HostPort): void {
    try {
      this.#listens(this.#listener.listenSync(address))
    } catch (error) {
      this.#cannotListen(error)
    }
  }

  #listens(address: HostPort): void {
    this.address = formatEndpoint(address)
    this.emit("bind")
  }

  #cannotListen(error: unknown): never {
    this.#listener.close()
    this.encoder.close()
    throw error
  }

  protected get connections(): Iterable<PeerConnection> {
    return this.#listener.connections
  }

  protected get isWaiting(): boolean {
    return false
  }

  protected finishPipes(keepsReceived: boolean): void {
    this.#listener.close()
    this.emit("close")
    for (const connection of this.connections) {
      const pipe = this.pipes.get(connection)
      if (pipe) pipe.finish(() => this.end(connection), keepsReceived)
      else connection.destroy()
    }
  }

  protected dropWaiting(): void {
    for (const pipe of this.pipes.values()) pipe.dropWaiting()
  }

  get sendingPipes(): Iterable<Pipe> {
    return this.pipes.values()
  }

  depart(departure: Departure): void {
    for (const [connection, pipe] of this.pipes) if (connection.depart(departure)) pipe.writeOut()
  }

  accepted(connection: PeerConnection): void {
    this.emit("accept")
    this.host.lz4.opened(connection, this, "accepted")
  }

  acceptFailed(error: Error): void {
    this.emit("accept:error", { error: systemError((error as NodeJS.ErrnoException).code) })
  }

  ready(connection: PeerConnection, peerRoutingId: Buffer): void {
    this.emit("handshake")
    const pipe = this.newPipe()
    pipe.peerRoutingId = peerRoutingId
    this.pipes.set(connection, pipe)
    pipe.attach(connection)
    this.host.added(pipe)
    this.host.type.attach(pipe)
  }

  closed(connection: PeerConnection, ending: Ending): void {
    const pipe = this.pipes.get(connection)
    this.pipes.delete(connection)
    this.tellClosed(connection, ending)
    if (pipe) {
      pipe.close()
      this.host.removed(pipe)
      this.host.lz4.pipeRemoved(pipe)
    }
    this.checkReleased()
  }
}

/** An endpoint that was connected: one pipe, over all its connections. */
export class ConnectedEndpoint extends Endpoint implements DialerHandlers {
  readonly kind = "connect"
  readonly address: string
  readonly #dialer: PeerDialer
  /** There is none where pipes are there only while there is a connection. */
  #pipe: Pipe | undefined
  /** Whether there was a connection before, and whether one was ready. */
  #wasOpened = false
  #wasConnected = false
  /** Whether nothing waits to be sent any more, since the endpoint was released. */
  #finished = false
  #gone: (isWrongPeer: boolean) => void

  /** @param gone called when there is no connection and there will be none. */
  constructor(
    host: EndpointHost,
    settings: EndpointSettings,
    address: string,
    destination: Destination,
    gone: (isWrongPeer: boolean) => void,
  ) {
    super(host, settings)
    this.address = address
    this.#gone = gone
    this.#dialer = settings.transport.dialer(destination, this)
  }

  /** Adds the pipe, and begins to dial. */
  dial(routingId: string | undefined): void {
    if (!this.host.immediate) {
      this.#pipe = this.newPipe()
      this.#pipe.routingId = routingId
      this.host.added(this.#pipe)
      this.host.type.attach(this.#pipe)
    }
    this.#dialer.dial()
  }

  protected get connections(): Iterable<PeerConnection> {
    const { connection } = this.#dialer
    return connection ? [connection] : []
  }

  protected get isWaiting(): boolean {
    return this.#pipe !== undefined && !this.#finished
  }

  protected finishPipes(keepsReceived: boolean): void {
    if (!this.#pipe) {
      this.#finish()
      return
    }
    // As in libzmq, which knows the pipes of endpoints, and drops them, unless connections make them.
    this.#pipe.finish(() => this.#finish(), keepsReceived && this.host.immediate)
    this.host.removed(this.#pipe)
  }

  protected dropWaiting(): void {
    this.#pipe?.dropWaiting()
  }

  protected override over(): void {
    if (this.#pipe) this.host.lz4.pipeRemoved(this.#pipe)
  }

  get sendingPipes(): Iterable<Pipe> {
    return this.#pipe ? [this.#pipe] : []
  }

  depart(departure: Departure): void {
    const pipe = this.#pipe
    if (!pipe) return
    const { connection } = this.#dialer
    const isReady = connection !== undefined && this.pipes.has(connection)
    if (isReady && connection.depart(departure)) {
      pipe.writeOut()
      return
    }
    // There is no event loop for the handler of ZAP.
    const frames = this.settings.authenticates ? [] : pipe.takeFrames()
    if (frames.length > 0) this.#dialer.handOver(frames, departure)
  }

  /** Nothing waits to be sent any more. */
  #finish(): void {
    this.#finished = true
    this.#dialer.close()
    const { connection } = this.#dialer
    if (connection?.sink) this.end(connection)
    else connection?.destroy()
    this.checkReleased()
  }

  delayed(): void {
    this.emit("connect:delay")
  }

  attemptFailed(): void {
    this.emit("close")
  }

  retried(interval: number): void {
    this.emit("connect:retry", { interval })
    this.host.lz4.retried(this, interval)
  }

  override failed(
    connection: PeerConnection,
    error: ProtocolError,
    failure?: HandshakeFailure,
  ): void {
    this.protocolErrors++
    super.failed(connection, error, failure)
  }

  connected(connection: PeerConnection): void {
    this.emit("connect")
    if (this.#wasOpened) this.reconnects++
    this.#wasOpened = true
    this.host.lz4.opened(connection, this, "connected")
  }

  ready(connection: PeerConnection, peerRoutingId: Buffer): void {
    this.emit("handshake")
    const { type } = this.host
    const isNew = !this.#pipe
    this.#pipe ??= this.newPipe()
    const pipe = this.#pipe
    this.pipes.set(connection, pipe)
    pipe.peerRoutingId = peerRoutingId
    if (this.#wasConnected && type.resubscribes && !isNew) pipe.hiccup()
    this.#wasConnected = true
    pipe.attach(connection)
    if (isNew) {
      this.host.added(pipe)
      type.attach(pipe)
    } else type.identified(pipe)
  }

  closed(connection: PeerConnection, ending: Ending): void {
    this.pipes.delete(connection)
    this.tellClosed(connection, ending)
    if (this.#pipe && this.host.immediate && !this.isReleased) {
      this.#pipe.close()
      this.host.removed(this.#pipe)
      this.host.lz4.pipeRemoved(this.#pipe)
      this.#pipe = undefined
    } else this.#pipe?.detach(connection.takePendingWrites())
    this.checkReleased()
  }

  gaveUp(isWrongPeer: boolean): void {
    this.#finished = true
    if (this.#pipe) {
      this.#pipe.close()
      this.host.removed(this.#pipe)
    }
    this.#dialer.close()
    if (this.isReleased) this.checkReleased()
    else this.#gone(isWrongPeer)
  }
}

/** Whether the first part of a peer that announced nothing has no sentinel. */
function isProbablyPlain(connection: PeerConnection, { code }: ProtocolError): boolean {
  if (code !== "ERR_LZ4_PART_TOO_SHORT" && code !== "ERR_LZ4_UNKNOWN_SENTINEL") return false
  return connection.peerRevision === undefined && connection.counts.received.wireBytes === 0
}

/** Returns libzmq's name for the end of a connection in its handshake. */
function handshakeError(error: Error | undefined): Error {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === undefined || error instanceof ProtocolError) return systemError("EPIPE")
  return systemError(code === "ETIMEDOUT" ? "EAGAIN" : code)
}
