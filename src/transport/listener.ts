import { BlockList, createServer, type Server, type Socket } from "node:net"
import type { ProtocolError } from "../codec/errors.js"
import type { Credentials, HandshakeFailure } from "../zmtp/handshake.js"
import { Channel } from "./channel.js"
import { Connection } from "./connection.js"
import { familyOf, type HostPort } from "./endpoint.js"
import { listenTcp, serverOptions } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"
import type {
  ConnectionHandlers,
  ConnectionOptions,
  Ending,
  ListenerHandlers,
  PeerListener,
} from "./transport.js"

/** Maximum number of connections in their handshake. One more closes the oldest. */
const HALF_OPEN_MAX = 4096

/** A bound endpoint: makes a connection of each TCP connection that it accepts. */
export class Listener implements PeerListener, ConnectionHandlers {
  readonly connections: Set<Connection> = new Set()
  readonly #options: ConnectionOptions
  readonly #handlers: ListenerHandlers
  readonly #server: Server
  readonly #tcp: TcpOptions
  readonly #filter: BlockList | undefined
  /** The connections in their handshake, oldest first. */
  readonly #halfOpen = new Set<Connection>()

  constructor(options: ConnectionOptions, tcp: TcpOptions, handlers: ListenerHandlers) {
    this.#options = options
    this.#tcp = tcp
    this.#handlers = handlers
    this.#filter = readFilters(tcp.acceptFilters)
    this.#server = createServer(serverOptions(tcp), (socket) => this.#accept(socket))
    this.#server.unref()
  }

  async listen(address: HostPort): Promise<HostPort> {
    return this.listenSync(address)
  }

  listenSync(address: HostPort): HostPort {
    const bound = listenTcp(this.#server, address, this.#tcp)
    this.#server.on("error", (error) => this.#handlers.acceptFailed(error))
    return bound
  }

  close(): void {
    this.#server.close()
  }

  #accept(socket: Socket): void {
    if (!this.#admits(socket.remoteAddress)) {
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

  #admits(address: string | undefined): boolean {
    if (!this.#filter || address === undefined) return true
    return this.#filter.check(address, familyOf(address) === 6 ? "ipv6" : "ipv4")
  }

  ready(connection: Connection, peerRoutingId: Buffer): void {
    this.#halfOpen.delete(connection)
    this.#handlers.ready(connection, peerRoutingId)
  }

  effortChanged(connection: Connection): void {
    this.#handlers.effortChanged(connection)
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

/** Returns the addresses of ZMQ_TCP_ACCEPT_FILTER; undefined if every address is allowed. */
function readFilters(filters: readonly string[]): BlockList | undefined {
  if (filters.length === 0) return undefined
  const list = new BlockList()
  for (const filter of filters) {
    const [address = "", bits] = filter.split("/")
    const family = familyOf(address) === 6 ? "ipv6" : "ipv4"
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
