import { createServer, type Server, type Socket } from "node:net"
import { clearTimeout, setTimeout } from "../base/runtime.js"
import { loadFormatSync } from "../codec/formats.js"
import type { Instance } from "../codec/instance.js"
import { loadInstanceSync } from "../codec/module.js"
import type { Settings } from "../codec/options.js"
import {
  formatEndpoint,
  isOurs,
  parseBind,
  parseConnect,
  SCHEMES,
  schemeOf,
} from "../transport/address.js"
import { Channel } from "../transport/channel.js"
import { destroyLater } from "../transport/farewell.js"
import { HalfOpen } from "../transport/half-open.js"
import {
  ADDRESS_MS,
  connectTcp,
  listenTcp,
  nextAddressMs,
  resolveHost,
  serverOptions,
} from "../transport/tcp.js"
import { BACKLOG, type TcpOptions } from "../transport/tcp-options.js"
import type { ConnectionCounts } from "../transport/transport.js"
import { mistake, zmqError } from "../transport/zmq-error.js"
import { type BridgeCurve, CurveEnd, expected } from "./curve-end.js"
import { Incoming } from "./incoming.js"
import { IPC, listenIpc, parseIpc } from "./ipc.js"
import { Link } from "./link.js"
import { LinkTraining } from "./link-training.js"
import type { MessageLimits } from "./message-limits.js"

/**
 * libzmq's defaults, but for `backlog`. Dialling may take as long as libzmq gives a handshake: the peer
 * waits no longer.
 */
const TCP: TcpOptions = {
  keepAlive: undefined,
  keepAliveDelayMs: 0,
  keepAliveIntervalMs: 0,
  keepAliveCount: 0,
  typeOfService: 0,
  ipv6: true,
  acceptFilters: [],
  backlog: BACKLOG,
  connectTimeoutMs: 30_000,
  reconnectMs: 0,
  reconnectMaxMs: 0,
}

export interface BridgeSpec {
  /** The endpoint to listen at. */
  from: string
  /** The endpoint to dial for each connection. One is lz4+tcp:// or zstd+tcp://, the other plain. */
  to: string
  settings: Settings
  /** Limits of a message in either direction. The bytes are those that the plain side sends. */
  limits: MessageLimits
  /** The keys of connections at `from` and at `to`; undefined for those without CURVE. */
  fromCurve?: BridgeCurve | undefined
  toCurve?: BridgeCurve | undefined
  /**
   * Maximum number of connections, including those that are not joined yet. Beyond that, a new one
   * takes the place of the oldest one whose handshake is not over.
   */
  maxConnections: number
}

/** Two connections that are joined. */
export interface Joined {
  /** The number of the pair, from 1. */
  number: number
  /** Addresses of the peer that connected, and of the one that was dialled. */
  from: string
  to: string
  counts(): ConnectionCounts
}

export interface BridgeHandlers {
  joined(joined: Joined): void
  /** A side broke a rule. `side` is its address. Both connections will be ended. */
  failed(joined: Joined, side: string, error: Error): void
  /**
   * Both connections have ended; `error` is the cause, if there was one.
   *
   * @param isForRoom whether they ended to make room, which `full` has reported.
   */
  ended(joined: Joined, error: Error | undefined, isForRoom: boolean): void
  /** The connection of `from` was closed before another one was dialled for it: it is no peer's. */
  refused(from: string, error: Error): void
  /** The other endpoint could not be reached, so the connection of `from` was closed. */
  unreachable(from: string, error: Error): void
  /** The maximum number of connections is open, so the connection of `from` was closed. */
  full(from: string): void
}

/**
 * Accepts connections at one endpoint, dials the other for each peer, and joins the two.
 *
 * If the other cannot be reached, the accepted connection is closed again. libzmq, which has had no
 * handshake, keeps its messages and reconnects later.
 */
export class Bridge {
  readonly #spec: BridgeSpec
  readonly #handlers: BridgeHandlers
  readonly #server: Server
  readonly #dial: () => Channel
  /** Starts to listen. Resolves to the endpoint with the real port; rejects with a coded error. */
  readonly start: () => Promise<string>
  /** The connections that are open, without those that are being closed. */
  readonly #open = new Set<Incoming>()
  readonly #halfOpen = new HalfOpen<Incoming>((oldest) => this.#makeRoom(oldest))
  readonly #links = new Map<Incoming, Link>()
  /** Trains the dictionary for all links, if they share one. */
  #training: LinkTraining | undefined
  #count = 0
  readonly #expected = expected()
  #drained: (() => void) | undefined

  /** @throws Error with code EINVAL or ENODEV if an endpoint is invalid. */
  constructor(spec: BridgeSpec, handlers: BridgeHandlers) {
    this.#spec = spec
    this.#handlers = handlers
    checkSchemes(spec)
    this.#server = createServer(serverOptions(TCP), (accepted) => this.#accept(accepted))
    this.start = listenerFor(this.#server, spec.from)
    this.#dial = dialerFor(spec.to)
    checkAddresses(spec)
  }

  /**
   * Stops listening and ends all links, each as `Link.drain` does. Destroys the remaining ones
   * after `limitMs`.
   */
  async drain(limitMs: number): Promise<void> {
    this.#server.close()
    for (const incoming of this.#open) if (!this.#links.has(incoming)) incoming.close()
    for (const link of this.#links.values()) link.drain()
    if (this.#links.size > 0) {
      const limit = setTimeout(() => {
        for (const link of this.#links.values()) link.destroy()
      }, limitMs)
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      clearTimeout(limit)
    }
    this.#training?.close()
  }

  #accept(accepted: Socket): void {
    const from = addressOf(accepted, this.#spec.from)
    if (this.#open.size >= this.#spec.maxConnections && !this.#halfOpen.closeOldest()) {
      accepted.on("error", () => {})
      accepted.destroy()
      this.#handlers.full(from)
      return
    }
    const channel = Channel.adopt(accepted)
    const curve = this.#curveOf(channel, "from")
    const incoming: Incoming = new Incoming(from, channel, curve, this.#dial, {
      dialled: (dialled, start) => this.#join(incoming, curve, dialled).start(channel, start),
      refused: (error) => this.#handlers.refused(from, error),
      unreachable: (error) => this.#handlers.unreachable(from, error),
      closed: () => this.#closed(incoming),
    })
    this.#open.add(incoming)
    this.#halfOpen.begin(incoming)
  }

  /** Closes the oldest connection whose handshake is not over, for a new one. */
  #makeRoom(oldest: Incoming): void {
    this.#open.delete(oldest)
    this.#handlers.full(oldest.from)
    const link = this.#links.get(oldest)
    if (link) link.crowdedOut()
    else oldest.close()
  }

  #closed(incoming: Incoming): void {
    this.#open.delete(incoming)
    this.#halfOpen.end(incoming)
  }

  #join(incoming: Incoming, fromCurve: CurveEnd | undefined, dialled: Channel): Link {
    const { settings, limits } = this.#spec
    const { from, channel: accepted } = incoming
    const instance = loadInstanceSync(loadFormatSync(settings.format))
    const training = this.#trainingFor(instance)
    const to = addressOf(dialled.socket, this.#spec.to)
    const fromIsLz4 = isOurs(this.#spec.from)
    const [lz4, plain] = fromIsLz4 ? [accepted, dialled] : [dialled, accepted]
    const closePlain = () => destroyWhenSent(plain.socket)
    const toCurve = this.#curveOf(dialled, "to")
    const [lz4Curve, plainCurve] = fromIsLz4 ? [fromCurve, toCurve] : [toCurve, fromCurve]
    const ends = { lz4, lz4Curve, plain, plainCurve }
    const link = new Link(ends, instance, settings, limits, training, {
      begun: () => this.#halfOpen.end(incoming),
      failed: (error, end) =>
        this.#handlers.failed(joined, (end === "lz4") === fromIsLz4 ? from : to, error),
      disconnected: closePlain,
      ended: (error) => {
        if (training !== this.#training) training?.close()
        this.#closed(incoming)
        this.#links.delete(incoming)
        this.#handlers.ended(joined, error, link.isCrowdedOut)
        if (this.#links.size === 0) this.#drained?.()
      },
    })
    lz4.socket.once("end", closePlain)
    const joined: Joined = { number: ++this.#count, from, to, counts: () => link.counts }
    this.#links.set(incoming, link)
    this.#handlers.joined(joined)
    return link
  }

  #curveOf({ socket }: Channel, side: "from" | "to"): CurveEnd | undefined {
    const { settings, limits, [side]: endpoint, [`${side}Curve` as const]: keys } = this.#spec
    if (!keys) return undefined
    const budgetBytes = isOurs(endpoint) ? settings.budgetBytes : limits.maxBytes
    return new CurveEnd(keys, budgetBytes, this.#expected, (bytes) => socket.write(bytes))
  }

  /** Returns the training of a new link: its own, so that no peer reads pieces of others' messages. */
  #trainingFor(instance: Instance): LinkTraining | undefined {
    const { training } = this.#spec.settings
    if (!training) return undefined
    if (!training.isShared) return new LinkTraining(instance, training)
    this.#training ??= new LinkTraining(instance, training)
    return this.#training
  }
}

function checkSchemes({ from, to }: BridgeSpec): void {
  for (const endpoint of [from, to])
    if (![...Object.values(SCHEMES), "tcp://", IPC].some((scheme) => endpoint.startsWith(scheme)))
      throw mistake(
        "EINVAL",
        endpoint,
        "has another scheme",
        "expected lz4+tcp://, zstd+tcp://, tcp:// or ipc://",
      )
  if (isOurs(from) === isOurs(to))
    throw zmqError(
      "EINVAL",
      undefined,
      `one of the two ends must be lz4+tcp:// or zstd+tcp://, the other tcp:// or ipc://; got ${from} and ${to}`,
    )
}

/** A bridge to itself would dial again for each connection that it makes. */
function checkAddresses({ from, to }: BridgeSpec): void {
  const address = (endpoint: string) => endpoint.slice(endpoint.indexOf("://"))
  if (address(from) === address(to))
    throw zmqError(
      "EINVAL",
      undefined,
      `the two ends must have different addresses; got ${from} and ${to}`,
    )
}

/** Returns whether an endpoint uses IPv6. As with libzmq, `*` is all addresses of IPv4 only. */
const usesIpv6 = (endpoint: string) => /\[|::/.test(endpoint)

function listenerFor(server: Server, endpoint: string): () => Promise<string> {
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
      listenTcp(server, await resolveHost(bind, ipv6, endpoint), TCP, schemeOf(endpoint)),
      schemeOf(endpoint),
    )
}

function dialerFor(endpoint: string): () => Channel {
  if (endpoint.startsWith(IPC)) {
    const path = parseIpc(endpoint)
    return () => Channel.connect({ path, allowHalfOpen: true })
  }
  const destination = parseConnect(endpoint, true)
  let addressMs = ADDRESS_MS
  return () => {
    const channel = connectTcp(destination, TCP, addressMs)
    const { socket } = channel
    socket.once("close", () => {
      addressMs = nextAddressMs(addressMs, socket, TCP)
    })
    return channel
  }
}

/** Returns the address of a socket's peer. A Unix socket, and one that was closed, have none. */
function addressOf({ remoteAddress, remotePort }: Socket, endpoint: string): string {
  if (remoteAddress === undefined || remotePort === undefined) return endpoint
  return formatEndpoint({ host: remoteAddress, port: remotePort }, schemeOf(endpoint))
}

/** Closes a socket that was ended, in case the peer does not. */
function destroyWhenSent(socket: Socket): void {
  const wait = () => destroyLater(socket)
  if (socket.writableFinished) wait()
  else socket.once("finish", wait)
}
