import { createServer, type Server, type Socket } from "node:net"
import type { ProtocolError } from "../codec/errors.js"
import type { Credentials, HandshakeFailure } from "../zmtp/handshake.js"
import { Channel } from "./channel.js"
import {
  Connection,
  type ConnectionHandlers,
  type ConnectionOptions,
  type Ending,
} from "./connection.js"
import type { HostPort } from "./endpoint.js"
import { listenTcp, serverOptions } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"

/** Connections in their handshake, at most; the oldest gives way to the next. */
const HALF_OPEN_MAX = 4096

export interface ListenerHandlers extends ConnectionHandlers {
  /** Whether a peer of this address may come in. */
  admits(address: string | undefined): boolean
  accepted(connection: Connection): void
  acceptFailed(error: Error): void
}

/** A bound endpoint: makes a connection of each TCP connection that comes. */
export class Listener implements ConnectionHandlers {
  readonly connections: Set<Connection> = new Set()
  readonly #options: ConnectionOptions
  readonly #handlers: ListenerHandlers
  readonly #server: Server
  readonly #tcp: TcpOptions
  /** In the order in which they came. */
  readonly #halfOpen = new Set<Connection>()

  constructor(options: ConnectionOptions, tcp: TcpOptions, handlers: ListenerHandlers) {
    this.#options = options
    this.#tcp = tcp
    this.#handlers = handlers
    this.#server = createServer(serverOptions(tcp), (socket) => this.#accept(socket))
    this.#server.unref()
  }

  /**
   * Starts to listen at an address, and returns where.
   *
   * @throws Error in the form of zeromq.js.
   */
  listen(address: HostPort): HostPort {
    const bound = listenTcp(this.#server, address, this.#tcp)
    this.#server.on("error", (error) => this.#handlers.acceptFailed(error))
    return bound
  }

  /** Stops listening; connections go on. */
  close(): void {
    this.#server.close()
  }

  #accept(socket: Socket): void {
    if (!this.#handlers.admits(socket.remoteAddress)) {
      socket.destroy()
      return
    }
    const connection = new Connection(Channel.adopt(socket), this.#options, this)
    this.connections.add(connection)
    this.#halfOpen.add(connection)
    this.#handlers.accepted(connection)
    if (this.#halfOpen.size <= HALF_OPEN_MAX) return
    for (const oldest of this.#halfOpen) {
      this.#halfOpen.delete(oldest)
      oldest.timedOut()
      break
    }
  }

  ready(connection: Connection, peerRoutingId: Buffer): void {
    this.#halfOpen.delete(connection)
    this.#handlers.ready(connection, peerRoutingId)
  }

  closed(connection: Connection, ending: Ending): void {
    this.connections.delete(connection)
    this.#halfOpen.delete(connection)
    this.#handlers.closed(connection, ending)
  }

  authenticate(connection: Connection, credentials: Credentials): void {
    this.#handlers.authenticate(connection, credentials)
  }

  refused(connection: Connection, status: number): void {
    this.#handlers.refused(connection, status)
  }

  failed(connection: Connection, error: ProtocolError, failure?: HandshakeFailure): void {
    this.#handlers.failed(connection, error, failure)
  }
}
