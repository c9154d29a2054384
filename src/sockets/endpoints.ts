import type { Socket } from "zeromq"
import { shown } from "../codec/errors.js"
import { checkLz4Options, type Lz4Options } from "../codec/options.js"
import { formatEndpoint, parseBind, parseConnect } from "../transport/endpoint.js"
import { newLocalPath } from "../transport/local-hop.js"
import type { LinkOptions } from "../transport/protocol.js"
import { TransportEndpoint } from "../transport/transport-endpoint.js"
import { zmqError } from "../transport/zmq-error.js"
import { Lz4 } from "./lz4.js"
import { readTcpOptions } from "./socket-options.js"

/** Options of one `lz4+tcp://` endpoint. */
export interface EndpointOptions extends Lz4Options {
  /**
   * Whether links live on a thread of their own. Decided by the first endpoint of
   * the process for all; otherwise by the environment variable ZEROMQ_LZ4_THREAD,
   * of which 0 means no. Default: true.
   */
  thread?: boolean
}

/** How many names of former endpoints are kept at most. */
const NAMES_KEPT = 100

export interface Endpoint {
  kind: "bind" | "connect"
  /** As it was asked for. */
  given: string
  /** As it came to be: with the port, for one that was bound. */
  actual: string
  /** libzmq's side of it. */
  local: string
  transport: TransportEndpoint
}

/** The `lz4+tcp://` endpoints of one socket. It does not know the socket, which may be collected. */
export class Endpoints {
  readonly lz4: Lz4 = new Lz4()
  /** Whether a bind or unbind is under way, in which the socket cannot be used. */
  busy = false
  /** Whether the socket is to be closed when it no longer is. */
  closing = false
  #all: Endpoint[] = []
  /** By libzmq's name; those of endpoints that are gone for a while too, as events come late. */
  readonly #names = new Map<string, string>()

  get size(): number {
    return this.#all.length
  }

  /** Binds: the real endpoint first, so that libzmq learns only of one that is there. */
  async bind(
    socket: Socket,
    given: string,
    options: EndpointOptions,
    bindLocal: (local: string) => Promise<void>,
  ): Promise<void> {
    const bind = parseBind(given, socket.ipv6)
    const links = linkOptions(socket, given, options)
    const transport = this.#open(socket, options)
    const address = await transport.listen({ ...links, bind })
    const local = localEndpoint(links.localPath)
    await bindLocal(local).catch((error: Error) => {
      transport.release(0)
      throw error
    })
    this.#add({ kind: "bind", given, actual: formatEndpoint(address), local, transport })
    transport.activate()
  }

  /** The same without waiting for other events, where links have a thread of their own. */
  bindSync(
    socket: Socket,
    given: string,
    options: EndpointOptions,
    bindLocal: (local: string) => void,
  ): void {
    const bind = parseBind(given, socket.ipv6)
    const links = linkOptions(socket, given, options)
    const transport = this.#open(socket, options)
    const address = transport.listenSync({ ...links, bind })
    const local = localEndpoint(links.localPath)
    orRelease(transport, () => bindLocal(local))
    this.#add({ kind: "bind", given, actual: formatEndpoint(address), local, transport })
    transport.activate()
  }

  /** Connects: the private endpoint is there before libzmq hears of it, because it may try only once. */
  connect(
    socket: Socket,
    given: string,
    options: EndpointOptions,
    connectLocal: (local: string) => void,
  ): void {
    const destination = parseConnect(given, socket.ipv6)
    const { settings, tcp, localPath } = linkOptions(socket, given, options)
    const transport = this.#open(socket, options)
    // Not spread: for thousands of connections V8 would make as many hidden classes.
    transport.dial({ destination, settings, tcp, localPath })
    const local = localEndpoint(localPath)
    orRelease(transport, () => connectLocal(local))
    this.#add({ kind: "connect", given, actual: given, local, transport })
  }

  /** The bound endpoint of this name. @throws Error with code ENOENT */
  findBound(name: string): Endpoint {
    const found = this.#all.find(
      ({ kind, given, actual }) => kind === "bind" && (actual === name || given === name),
    )
    if (!found) throw zmqError("ENOENT", "No such endpoint", name)
    return found
  }

  /** The connected endpoints of this name, as one may connect several times. @throws Error with code ENOENT */
  findConnected(name: string): Endpoint[] {
    const found = this.#all.filter(({ kind, given }) => kind === "connect" && given === name)
    if (found.length === 0) throw zmqError("ENOENT", "No such endpoint", name)
    return found
  }

  /** libzmq closes its side: what it still hands over has `lingerMs` to leave. */
  release(endpoint: Endpoint, lingerMs: number): void {
    this.#all = this.#all.filter((other) => other !== endpoint)
    endpoint.transport.release(lingerMs)
  }

  releaseAll(lingerMs: number): void {
    for (const endpoint of this.#all) this.release(endpoint, lingerMs)
  }

  /** The endpoint that the user knows behind one that libzmq reports. */
  actual(local: string): string {
    return this.#names.get(local) ?? local
  }

  #open(socket: Socket, { thread }: EndpointOptions): TransportEndpoint {
    const { lz4 } = this
    // Where libzmq spreads its work, so do the links.
    const threads = Math.max(1, socket.context.ioThreads)
    return new TransportEndpoint(thread, threads, (event) => lz4.handle(event))
  }

  #add(endpoint: Endpoint): void {
    this.#all.push(endpoint)
    this.#names.set(endpoint.local, endpoint.actual)
    if (this.#names.size <= this.#all.length + NAMES_KEPT) return
    const live = new Set(this.#all.map(({ local }) => local))
    for (const local of this.#names.keys()) if (!live.has(local)) this.#names.delete(local)
  }
}

function linkOptions(socket: Socket, given: string, options: EndpointOptions): LinkOptions {
  const { thread, ...lz4 } = options
  if (thread !== undefined && typeof thread !== "boolean")
    throw new TypeError(`thread must be a boolean; got ${shown(thread)}`)
  return {
    settings: checkLz4Options(lz4, socket.maxMessageSize),
    tcp: readTcpOptions(socket, given),
    localPath: newLocalPath(),
  }
}

function localEndpoint(localPath: string): string {
  return `ipc://${localPath}`
}

function orRelease(transport: TransportEndpoint, call: () => void): void {
  try {
    call()
  } catch (error) {
    transport.release(0)
    throw error
  }
}
