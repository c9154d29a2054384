import { createServer, type Server, type Socket } from "node:net"
import { loadInstanceSync } from "../codec/module.js"
import type { Settings } from "../codec/options.js"
import { Trainer } from "../codec/trainer.js"
import { Channel } from "../transport/channel.js"
import {
  formatEndpoint,
  isLz4,
  parseBind,
  parseConnect,
  SCHEME,
  type TcpScheme,
} from "../transport/endpoint.js"
import { destroyLater } from "../transport/farewell.js"
import { connectTcp, listenTcp, resolveHost, serverOptions } from "../transport/tcp.js"
import type { TcpOptions } from "../transport/tcp-options.js"
import type { ConnectionCounts } from "../transport/transport.js"
import { mistake, zmqError } from "../transport/zmq-error.js"
import { IPC, listenIpc, parseIpc } from "./ipc.js"
import { Link } from "./link.js"
import type { MessageLimits } from "./message-limits.js"

/** libzmq's defaults, and its limit for a handshake: no peer waits longer to be connected. */
const TCP: TcpOptions = {
  keepAlive: undefined,
  keepAliveDelayMs: 0,
  ipv6: true,
  acceptFilters: [],
  backlog: 100,
  connectTimeoutMs: 30_000,
  reconnectMs: 0,
  reconnectMaxMs: 0,
}

export interface BridgeSpec {
  /** Listens. */
  from: string
  /** Is dialled for each connection. One of the two is lz4+tcp://, the other tcp:// or ipc://. */
  to: string
  settings: Settings
  /** Limits of a message, either way; the bytes are those that the plain side sends. */
  limits: MessageLimits
  /** Connections that are joined, or wait for it, at most. */
  maxConnections: number
}

/** Two connections that are joined. */
export interface Joined {
  /** From 1. */
  number: number
  /** Addresses: of who connected, and of who was dialled. */
  from: string
  to: string
  /** What went through so far. */
  counts(): ConnectionCounts
}

export interface BridgeHandlers {
  joined(joined: Joined): void
  /** One side, by its address, broke a rule; its connection, and the one it was joined with, end next. */
  failed(joined: Joined, side: string, error: Error): void
  /** Both connections are over; `error` is what ended them, if anything. */
  ended(joined: Joined, error: Error | undefined): void
  /** The other endpoint could not be reached: the connection of `from` was closed. */
  unreachable(from: string, error: Error): void
  /** There are as many connections as there may be: the one of `from` was closed. */
  full(from: string): void
}

/**
 * Accepts connections at one endpoint, dials the other for each, and joins the two.
 *
 * While the other cannot be reached, accepted connections are closed again. libzmq, which has
 * had no handshake, reconnects in its own time and keeps its messages until then.
 */
export class Bridge {
  readonly #spec: BridgeSpec
  readonly #handlers: BridgeHandlers
  readonly #server: Server
  readonly #dial: () => Channel
  readonly #listen: () => Promise<string>
  readonly #links = new Set<Link>()
  /** Closes a connection that was accepted and is not joined with another yet. */
  readonly #waiting = new Set<() => void>()
  #trainer: Trainer | undefined
  #count = 0
  #drained: (() => void) | undefined

  /** @throws Error with code EINVAL or ENODEV where an endpoint is not valid. */
  constructor(spec: BridgeSpec, handlers: BridgeHandlers) {
    this.#spec = spec
    this.#handlers = handlers
    checkSchemes(spec)
    this.#server = createServer(serverOptions(TCP), (accepted) => this.#accept(accepted))
    this.#listen = listening(this.#server, spec.from)
    this.#dial = dialling(spec.to)
    checkAddresses(spec)
  }

  /** Starts to listen. Returns where, with the real port; rejects with an error that has a code. */
  start(): Promise<string> {
    return this.#listen()
  }

  /** Stops to listen and ends all links, each as `Link.drain` does; destroys what is left after `limitMs`. */
  async drain(limitMs: number): Promise<void> {
    this.#server.close()
    for (const close of this.#waiting) close()
    for (const link of this.#links) link.drain()
    if (this.#links.size > 0) {
      const limit = setTimeout(() => {
        for (const link of this.#links) link.destroy()
      }, limitMs)
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      clearTimeout(limit)
    }
    this.#trainer?.close()
  }

  #accept(accepted: Socket): void {
    const from = addressOf(accepted, this.#spec.from)
    if (this.#links.size + this.#waiting.size >= this.#spec.maxConnections) {
      accepted.on("error", () => {})
      accepted.destroy()
      this.#handlers.full(from)
      return
    }
    const dialled = this.#dial()
    const close = () => {
      this.#waiting.delete(close)
      dialled.handlers = {}
      dialled.socket.destroy()
      accepted.destroy()
    }
    this.#waiting.add(close)
    accepted.on("error", () => {}) // until a link handles it
    dialled.handlers = {
      connected: () => {
        this.#waiting.delete(close)
        this.#join(Channel.adopt(accepted), from, dialled)
      },
      closed: ({ socket }) => {
        close()
        const error = socket.errored ?? zmqError("ETIMEDOUT")
        this.#handlers.unreachable(from, error)
      },
    }
  }

  #join(accepted: Channel, from: string, dialled: Channel): void {
    const { settings, limits } = this.#spec
    const instance = loadInstanceSync()
    if (settings.training) this.#trainer ??= new Trainer(instance, settings.training)
    const to = addressOf(dialled.socket, this.#spec.to)
    const fromIsLz4 = isLz4(this.#spec.from)
    const [lz4, plain] = fromIsLz4 ? [accepted, dialled] : [dialled, accepted]
    const sayFarewell = () => destroyWhenSent(plain.socket)
    const link = new Link(lz4, plain, instance, settings, limits, this.#trainer, {
      failed: (error, end) =>
        this.#handlers.failed(joined, (end === "lz4") === fromIsLz4 ? from : to, error),
      disconnected: sayFarewell,
      ended: (error) => {
        this.#links.delete(link)
        this.#handlers.ended(joined, error)
        if (this.#links.size === 0) this.#drained?.()
      },
    })
    lz4.socket.once("end", sayFarewell)
    const joined: Joined = { number: ++this.#count, from, to, counts: () => link.counts }
    this.#links.add(link)
    this.#handlers.joined(joined)
    link.start()
  }
}

function checkSchemes({ from, to }: BridgeSpec): void {
  for (const endpoint of [from, to])
    if (![SCHEME, "tcp://", IPC].some((scheme) => endpoint.startsWith(scheme)))
      throw mistake(
        "EINVAL",
        endpoint,
        "is of another scheme",
        "expected lz4+tcp://, tcp:// or ipc://",
      )
  if (isLz4(from) === isLz4(to))
    throw zmqError(
      "EINVAL",
      undefined,
      `one of the two ends must be lz4+tcp://, the other tcp:// or ipc://; got ${from} and ${to}`,
    )
}

/** A bridge to itself would dial again for each connection that comes of its dialling. */
function checkAddresses({ from, to }: BridgeSpec): void {
  const address = (endpoint: string) => endpoint.slice(endpoint.indexOf("://"))
  if (address(from) === address(to))
    throw zmqError(
      "EINVAL",
      undefined,
      `the two ends must be of different addresses; got ${from} and ${to}`,
    )
}

const schemeOf = (endpoint: string): TcpScheme => (isLz4(endpoint) ? SCHEME : "tcp://")

/** As with libzmq, `*` is all addresses of IPv4; IPv6 is for those who write it. */
const usesIpv6 = (endpoint: string) => /\[|::/.test(endpoint)

function listening(server: Server, endpoint: string): () => Promise<string> {
  if (endpoint.startsWith(IPC)) {
    const path = parseIpc(endpoint)
    return async () => {
      await listenIpc(server, path, TCP.backlog)
      return endpoint
    }
  }
  const ipv6 = usesIpv6(endpoint)
  const bind = parseBind(endpoint, ipv6)
  return async () =>
    formatEndpoint(
      listenTcp(server, await resolveHost(bind, ipv6, endpoint), TCP),
      schemeOf(endpoint),
    )
}

function dialling(endpoint: string): () => Channel {
  if (endpoint.startsWith(IPC)) {
    const path = parseIpc(endpoint)
    return () => Channel.connect({ path, allowHalfOpen: true })
  }
  const destination = parseConnect(endpoint, true)
  return () => connectTcp(destination, TCP)
}

/** Returns the address of a socket's peer, which a Unix socket and a closed one do not have. */
function addressOf({ remoteAddress, remotePort }: Socket, endpoint: string): string {
  if (remoteAddress === undefined || remotePort === undefined) return endpoint
  return formatEndpoint({ host: remoteAddress, port: remotePort }, schemeOf(endpoint))
}

/** Closes a socket that is sent an end, in case the peer does not. */
function destroyWhenSent(socket: Socket): void {
  const wait = () => destroyLater(socket)
  if (socket.writableFinished) wait()
  else socket.once("finish", wait)
}
