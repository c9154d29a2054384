import { writeOut } from "../../patterns/exit-writes.js"
import type { Pipe } from "../../patterns/pipe.js"
import { formatEndpoint, type HostPort, SCHEMES } from "../../transport/address.js"
import type { Departure, PeerConnection, PeerListener } from "../../transport/transport.js"
import { Endpoint, type EndpointHost, type EndpointSettings } from "./endpoint.js"

/** A bound endpoint: a pipe for each peer that connects. */
export class BoundEndpoint extends Endpoint {
  readonly kind = "bind"
  address = ""
  readonly #listener: PeerListener

  constructor(host: EndpointHost, settings: EndpointSettings) {
    super(host, settings)
    this.#listener = settings.transport.listener((event) => this.onEvent(event))
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

  keepForms(keeps: boolean): void {
    this.#listener.keepForms?.(keeps || this.settings.pipe.keepCompressed === true)
  }

  #listens(address: HostPort): void {
    this.address = formatEndpoint(address, SCHEMES[this.settings.format])
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
      else this.destroy(connection)
    }
  }

  get sendingPipes(): Iterable<Pipe> {
    return this.pipes.values()
  }

  depart(departure: Departure): void {
    for (const [connection, pipe] of this.pipes)
      if (connection.depart(departure)) writeOut(pipe.out)
  }

  protected opened(connection: PeerConnection): void {
    this.emit("accept")
    this.host.lz4.opened(connection, this, "accepted")
  }

  protected ready(connection: PeerConnection, peerRoutingId: Buffer): void {
    const pipe = this.newPipe()
    pipe.peerRoutingId = peerRoutingId
    this.pipes.set(connection, pipe)
    pipe.attach(connection)
    this.addPipe(pipe)
  }

  protected pipeOf(connection: PeerConnection): Pipe | undefined {
    return this.pipes.get(connection)
  }
}
