import { BlockList, createServer, type Server, type Socket } from "node:net"
import { loadFormatSync } from "../codec/formats.js"
import { loadInstance, receivingInstance } from "../codec/module.js"
import { familyOf, type HostPort, SCHEMES } from "./address.js"
import { Channel } from "./channel.js"
import { Connection } from "./connection.js"
import { areDescriptorsUsedUp } from "./descriptors.js"
import { HalfOpen } from "./half-open.js"
import { handshakeBegan, handshakeEnded } from "./last-poll.js"
import { listenTcp, serverOptions, setConnectedOptions } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"
import type { ConnectionEvent, ConnectionOptions, OnEvent, PeerListener } from "./transport.js"
import { zmqError } from "./zmq-error.js"

/** Maximum number of connections in their handshake. One more closes the oldest. */
const HALF_OPEN_MAX = 4096

/** A bound endpoint: makes a connection of each TCP connection that it accepts. */
export class Listener implements PeerListener {
  readonly connections: Set<Connection> = new Set()
  readonly #options: ConnectionOptions
  readonly #emit: OnEvent<Connection>
  readonly #server: Server
  readonly #tcp: TcpOptions
  readonly #filter: BlockList | undefined
  /** The connections in their handshake. */
  readonly #halfOpen = new HalfOpen<Connection>((oldest) => oldest.timedOut())

  constructor(options: ConnectionOptions, tcp: TcpOptions, onEvent: OnEvent<Connection>) {
    this.#options = options
    this.#tcp = tcp
    this.#emit = onEvent
    this.#filter = readFilters(tcp.acceptFilters)
    this.#server = createServer(serverOptions(tcp), (socket) => this.#accept(socket))
    this.#server.unref()
  }

  async listen(address: HostPort): Promise<HostPort> {
    await loadInstance(loadFormatSync(this.#options.settings.format))
    return this.listenSync(address)
  }

  listenSync(address: HostPort): HostPort {
    // Here, where an error can be thrown, rather than when a peer connects.
    receivingInstance(loadFormatSync(this.#options.settings.format))
    const scheme = SCHEMES[this.#options.settings.format]
    const bound = listenTcp(this.#server, address, this.#tcp, scheme)
    this.#server.on("error", (error) => this.#emit({ type: "acceptFailed", error }))
    return bound
  }

  close(): void {
    this.#server.close()
  }

  #accept(socket: Socket): void {
    if (!this.#admits(socket.remoteAddress)) {
      socket.destroy()
      this.#emit({ type: "acceptFailed", error: refused() })
      return
    }
    setConnectedOptions(socket, this.#tcp)
    const connection = this.#connect(Channel.adopt(socket))
    if (!connection) return
    handshakeBegan(connection)
    this.connections.add(connection)
    this.#halfOpen.begin(connection)
    this.#emit({ type: "opened", connection })
    // This one took the last, so those that follow are refused.
    if (areDescriptorsUsedUp()) this.#emit({ type: "acceptFailed", error: zmqError("EMFILE") })
    if (this.#halfOpen.size > HALF_OPEN_MAX) this.#halfOpen.closeOldest()
  }

  /** Makes a connection. If there is no memory for it, only this one ends. */
  #connect(channel: Channel): Connection | undefined {
    try {
      return new Connection(channel, this.#options, this.#onConnectionEvent)
    } catch {
      channel.handlers = {}
      channel.socket.destroy()
      this.#emit({ type: "acceptFailed", error: zmqError("ENOBUFS") })
      return undefined
    }
  }

  #admits(address: string | undefined): boolean {
    if (!this.#filter || address === undefined) return true
    return this.#filter.check(address, familyOf(address) === 6 ? "ipv6" : "ipv4")
  }

  readonly #onConnectionEvent = (event: ConnectionEvent<Connection>): void => {
    const { type, connection } = event
    if (type === "closed") this.connections.delete(connection)
    if (type === "closed" || type === "ready") {
      this.#halfOpen.end(connection)
      handshakeEnded(connection)
    }
    this.#emit(event)
  }
}

/** Returns the error for a connection that the filter does not admit. libzmq reports EAGAIN. */
const refused = (): Error =>
  Object.assign(new Error("the peer is not in tcpAcceptFilter"), { code: "EAGAIN" })

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
