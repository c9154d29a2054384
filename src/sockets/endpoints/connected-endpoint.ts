import { takeFrames, writeOut } from "../../patterns/exit-writes.js"
import type { Pipe } from "../../patterns/pipe.js"
import type { Destination } from "../../transport/address.js"
import type { Departure, PeerConnection, PeerDialer } from "../../transport/transport.js"
import { Endpoint, type EndpointHost, type EndpointSettings } from "./endpoint.js"

/** A connected endpoint: one pipe for all of its connections, which follow one another. */
export class ConnectedEndpoint extends Endpoint {
  readonly kind = "connect"
  readonly address: string
  readonly #dialer: PeerDialer
  /** With `immediate`, undefined while there is no connection. */
  #pipe: Pipe | undefined
  /** The most that any connection has reached. */
  #reached: "nothing" | "connection" | "handshake" = "nothing"
  /** Whether there will be no other connection. */
  #finished = false
  #gone: (isWrongPeer: boolean) => void

  /** @param gone called when the connection has ended and there will be no other. */
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
    this.#dialer = settings.transport.dialer(destination, (event) => this.onEvent(event))
  }

  keepForms(keeps: boolean): void {
    this.#dialer.keepForms?.(keeps || this.settings.pipe.keepCompressed === true)
  }

  dial(routingId: string | undefined): void {
    if (!this.settings.immediate) {
      const pipe = this.newPipe()
      this.#pipe = pipe
      pipe.out.outlivesConnection = true
      pipe.routingId = routingId
      this.addPipe(pipe)
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
    // As in libzmq, received messages that were not read are dropped with the pipe, unless the
    // connection made the pipe (`immediate`) or the socket type has taken them out of it.
    const keeps = keepsReceived && (this.settings.immediate || this.host.type.ownsReceived)
    this.#pipe.finish(() => this.#finish(), keeps)
    this.host.removed(this.#pipe)
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
    if (connection && this.pipes.has(connection)) {
      if (connection.depart(departure)) {
        writeOut(pipe.out)
        return
      }
      // Its thread may have a new connection already, which will write what this one has not.
      if (connection.hasPeerEnded) this.lost(pipe, connection)
    }
    // The ZAP handler cannot run, as the event loop has stopped.
    const frames = this.settings.authenticates ? [] : takeFrames(pipe.out)
    if (frames.length > 0) this.#dialer.handOver(frames, departure)
  }

  /** Stops dialling and ends the connection, because no queued messages are left. */
  #finish(): void {
    this.#finished = true
    this.#dialer.close()
    const { connection } = this.#dialer
    if (connection?.sink) this.end(connection)
    else if (connection) this.destroy(connection)
    this.checkReleased()
  }

  protected opened(connection: PeerConnection): void {
    this.emit("connect")
    if (this.#reached === "nothing") this.#reached = "connection"
    else this.reconnects++
    this.host.lz4.opened(connection, this, "connected")
  }

  protected ready(connection: PeerConnection, peerRoutingId: Buffer): void {
    const { type } = this.host
    const isNew = !this.#pipe
    this.#pipe ??= this.newPipe()
    const pipe = this.#pipe
    this.pipes.set(connection, pipe)
    pipe.peerRoutingId = peerRoutingId
    if (this.#reached === "handshake" && type.resubscribes && !isNew) pipe.hiccup()
    this.#reached = "handshake"
    pipe.attach(connection)
    if (isNew) this.addPipe(pipe)
    else type.identified(pipe)
  }

  protected pipeOf(): Pipe | undefined {
    return this.#pipe
  }

  protected override lost(pipe: Pipe, connection: PeerConnection): void {
    if (this.settings.immediate && !this.isReleased) {
      super.lost(pipe, connection)
      this.#pipe = undefined
    } else pipe.detach(connection.takePendingWrites?.() ?? [])
  }

  protected override gaveUp(isWrongPeer: boolean): void {
    this.#finished = true
    if (this.#pipe) {
      this.#pipe.close()
      this.host.removed(this.#pipe)
      if (isWrongPeer) {
        // As in libzmq, where the session ends the pipe: received messages can still be read.
        this.host.lz4.pipeRemoved(this.#pipe)
        this.#pipe = undefined
      }
    }
    this.#dialer.close()
    if (this.isReleased) this.checkReleased()
    else this.#gone(isWrongPeer)
  }
}
