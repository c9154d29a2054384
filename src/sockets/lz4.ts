import type { AsyncResource } from "node:async_hooks"
import { EventEmitter } from "node:events"
import { type InspectOptions, inspect } from "node:util"
import { queueMicrotask } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import type { ProtocolError } from "../codec/errors.js"
import type { FormatName } from "../codec/format.js"
import { loadFormatSync } from "../codec/formats.js"
import { integer } from "../codec/integer.js"
import { type Level, ownOptions } from "../codec/options.js"
import { addTraffic, type Traffic } from "../codec/traffic.js"
import type { Pipe } from "../patterns/pipe.js"
import { formatOf } from "../transport/address.js"
import type { ConnectionCounts, DirectionCounts, PeerConnection } from "../transport/transport.js"
import { type CompressedPart, compressedOf } from "./compressed-part.js"
import {
  CONNECTION,
  type ConnectionMessage,
  type DiagnosticsMessage,
  LEVEL,
  PROTOCOL_ERROR,
  RECONNECT,
  SILENT_PEER,
  type Topic,
} from "./diagnostics.js"
import type { Connection, Statistics, Stats } from "./statistics.js"

/** The event for a new connection. */
export interface ConnectEvent {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
}

/** The event for the end of a connection. */
export interface DisconnectEvent extends ConnectEvent {
  /**
   * The error of the network or the system that ended the connection; undefined if either side
   * simply closed it.
   */
  error: Error | undefined
}

/** The event for a peer that broke a rule and loses its connection. */
export interface ProtocolErrorEvent extends ConnectEvent {
  /** The rule that the peer broke: its `code` and a message. */
  error: ProtocolError
}

/** The longest time that timers support. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1

/** Options of {@link Lz4.flush}. */
export interface FlushOptions {
  /** Milliseconds until the call rejects; -1 is no limit. Default: -1. */
  timeout?: number
}

/** The events of a socket's {@link Lz4}, and the arguments of their listeners. */
export type Lz4Events = {
  /** A connection was accepted or made. Its handshake begins. */
  connect: [ConnectEvent]
  /** A connection has ended. */
  disconnect: [DisconnectEvent]
  /** A peer broke a rule of RFC.md and loses its connection; "disconnect" follows. */
  protocolError: [ProtocolErrorEvent]
}

/** An endpoint, as statistics and events see it. */
export interface Observed {
  /** The format of its parts. */
  readonly format: FormatName
  readonly address: string
  readonly socketType: string
  /** The pipes of connections whose handshake is over. */
  readonly pipes: ReadonlyMap<PeerConnection, Pipe>
  /** Counts of a connected endpoint. */
  readonly protocolErrors: number
  readonly reconnects: number
}

/** Depth that shows connections and their counts. */
const SHOWN_DEPTH = 3
/** Width that puts each direction on a line of its own. */
const SHOWN_COLUMNS = 120

/** What a connection that has ended can no longer tell. */
interface OpenConnection {
  peer: ConnectEvent
  endpoint: Observed
  /** The level reported last. */
  level: Level
}

/**
 * The `lz4` property of a socket: events and statistics of its `lz4+tcp://` and `zstd+tcp://`
 * connections. It emits {@link Lz4Events}.
 */
export class Lz4 extends EventEmitter<Lz4Events> implements Statistics {
  /** The async context in which all listeners are called. */
  readonly #context: AsyncResource
  readonly #open = new Map<PeerConnection, OpenConnection>()
  readonly #pipes = new Set<Pipe>()
  /** Totals of connections and pipes that have ended. */
  readonly #ended = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0 },
    received: { messages: 0, plainBytes: 0, wireBytes: 0 },
    dropped: 0,
  }
  #protocolErrors = 0
  #reconnects = 0
  readonly #flush: (timeoutMs: number) => Promise<void>

  readonly #onListeners: (lz4: Lz4, areThere: boolean) => void

  /** @internal @param onListeners called when listeners are added or removed. */
  constructor(
    context: AsyncResource,
    flush: (timeoutMs: number) => Promise<void>,
    onListeners: (lz4: Lz4, areThere: boolean) => void = () => {},
  ) {
    super()
    this.#context = context
    this.#flush = flush
    this.#onListeners = onListeners
  }

  // All methods of EventEmitter that add or remove listeners call one of these.
  static {
    const changing = ["on", "addListener", "prependListener", "removeListener", "off"] as const
    for (const name of [...changing, "removeAllListeners"] as const) {
      const change = EventEmitter.prototype[name] as (...args: unknown[]) => unknown
      const value = function (this: Lz4, ...args: unknown[]) {
        change.apply(this, args)
        this.#onListeners(this, this.eventNames().length > 0)
        return this
      }
      Object.defineProperty(Lz4.prototype, name, { value, writable: true, configurable: true })
    }
  }

  /**
   * Waits until the system has accepted all messages over these connections whose `send()` has
   * resolved, also after `close()`. Messages that are dropped are not waited for, for example when
   * `linger` has expired or the peer of a bound endpoint has gone. A pending call keeps the process
   * alive.
   *
   * @throws TypeError or RangeError if `timeout` is invalid, or another option is given.
   * @throws Error with the code EAGAIN after `timeout`; the messages stay queued.
   *
   * @example
   * ```js
   * await push.lz4.flush({ timeout: 10_000 })
   * ```
   */
  async flush(options: FlushOptions = {}): Promise<void> {
    const { timeout } = ownOptions(options, ["timeout"])
    await this.#flush(integer("timeout", timeout, -1, -1, TIMEOUT_MAX_MS))
  }

  /**
   * Returns what a received part was on the wire, if it came compressed over an endpoint with
   * `keepCompressed`, without a dictionary, not in an arena, and with at least 512 bytes of plaintext;
   * otherwise undefined. `part` is the Buffer that `receive()` returned, not a view of it.
   *
   * @throws TypeError if `part` is not a Uint8Array.
   */
  compressedOf(part: Uint8Array): CompressedPart | undefined {
    return compressedOf(part)
  }

  /** The open connections. */
  get connections(): readonly Connection[] {
    return Array.from(this.#open, ([connection, { peer, endpoint }]) => {
      const { scheme, peerRevision: revision } = connection
      const { sent, received } = connection.counts
      const pipe = endpoint.pipes.get(connection)
      return {
        endpoint: endpoint.address,
        ...peer,
        scheme,
        revision,
        sent: { ...sent, level: levelOf(connection, endpoint) },
        received,
        protocolErrors: endpoint.protocolErrors,
        reconnects: endpoint.reconnects,
        dropped: pipe?.out.dropped ?? 0,
        waiting: pipe?.out.waiting ?? { messages: 0, bytes: 0 },
      }
    })
  }

  /**
   * Totals over all connections, including past ones. Bytes are those of parts without frame
   * headers, except that `waiting` includes headers. Messages for a connection that has not been
   * made yet count as waiting. Each read returns a copy.
   */
  get stats(): Stats {
    const past = this.#ended
    const stats = {
      sent: { ...past.sent },
      received: { ...past.received },
      protocolErrors: this.#protocolErrors,
      reconnects: this.#reconnects,
      dropped: past.dropped,
      waiting: { messages: 0, bytes: 0 },
    }
    for (const connection of this.#open.keys()) addCounts(stats, connection.counts)
    for (const pipe of this.#pipes) {
      const { messages, bytes } = pipe.out.waiting
      stats.waiting.messages += messages
      stats.waiting.bytes += bytes
      stats.dropped += pipe.out.dropped
    }
    return stats
  }

  /** @internal */
  [inspect.custom](depth: number, options: InspectOptions): string {
    // A Proxy of the object has no private fields, and util.inspect passes it as `this`.
    if (depth < 0 || !(#open in this)) return "[Lz4]"
    const { stats, connections } = this
    const layout = { ...options, depth: SHOWN_DEPTH, breakLength: SHOWN_COLUMNS }
    return `Lz4 ${inspect({ stats, connections }, layout)}`
  }

  /** @internal */
  opened(connection: PeerConnection, endpoint: Observed, state: "accepted" | "connected"): void {
    const { remoteAddress = "unknown", remotePort = 0 } = connection // it may have ended already
    const peer = { remoteAddress, remotePort }
    this.#open.set(connection, { peer, endpoint, level: levelOf(connection, endpoint) })
    if (endpoint.reconnects > 0) this.#reconnects++
    this.#tell("connect", { ...peer })
    this.#publish(CONNECTION, () => ({ ...this.#describe(endpoint), ...peer, state }))
  }

  /** @internal Records the level after the handshake: nothing is compressed for a plain peer. */
  ready(connection: PeerConnection): void {
    const live = this.#open.get(connection)
    if (live) live.level = levelOf(connection, live.endpoint)
  }

  /** @internal */
  failed(connection: PeerConnection, endpoint: Observed, error: ProtocolError): void {
    const peer = this.#peerOf(connection)
    this.#protocolErrors++
    this.#tell("protocolError", { ...peer, error })
    this.#publish(PROTOCOL_ERROR, () => ({ ...this.#describe(endpoint), ...peer, error }))
  }

  /** @internal Reports a silent peer if anybody listens. Returns whether anybody does. */
  silent(connection: PeerConnection, endpoint: Observed): boolean {
    const { isWanted } = SILENT_PEER
    this.#publish(SILENT_PEER, () => ({ ...this.#describe(endpoint), ...this.#peerOf(connection) }))
    return isWanted
  }

  /** @internal */
  closed(
    connection: PeerConnection,
    endpoint: Observed,
    counts: ConnectionCounts,
    error: Error | undefined,
  ): void {
    const peer = this.#peerOf(connection)
    this.#open.delete(connection)
    addCounts(this.#ended, counts)
    this.#tell("disconnect", { ...peer, error })
    this.#publish<ConnectionMessage>(CONNECTION, () => ({
      ...this.#describe(endpoint),
      ...peer,
      state: "closed",
      error,
      sent: trafficOf(counts.sent),
      received: trafficOf(counts.received),
    }))
  }

  /** @internal */
  retried(endpoint: Observed, intervalMs: number, error: Error | undefined): void {
    this.#publish(RECONNECT, () => ({ ...this.#describe(endpoint), intervalMs, error }))
  }

  /** @internal */
  effortChanged(connection: PeerConnection): void {
    const live = this.#open.get(connection)
    if (!live) return
    const { peer, endpoint, level: previous } = live
    const level = levelOf(connection, endpoint)
    if (level === previous) return
    live.level = level
    // Deferred, because this is called while sending, and a subscriber may send too.
    if (LEVEL.isWanted)
      queueMicrotask(() =>
        this.#publish(LEVEL, () => ({ ...this.#describe(endpoint), ...peer, level, previous })),
      )
  }

  /** @internal Counts what a pipe queues and drops. */
  pipeAdded(pipe: Pipe): void {
    this.#pipes.add(pipe)
  }

  /** @internal Counts no more of a pipe that is not used any more. */
  pipeRemoved(pipe: Pipe): void {
    if (this.#pipes.delete(pipe)) this.#ended.dropped += pipe.out.dropped
  }

  /** Emits an event. Errors of listeners are thrown later, so that they do not interrupt the socket. */
  #tell<Type extends keyof Lz4Events>(type: Type, event: Lz4Events[Type][0]): void {
    try {
      this.#context.runInAsyncScope(() => this.emit<keyof Lz4Events>(type, event))
    } catch (error) {
      throwLater(error)
    }
  }

  #publish<M extends DiagnosticsMessage>(topic: Topic<M>, message: () => M): void {
    if (topic.isWanted) this.#context.runInAsyncScope(() => topic.publish(message()))
  }

  #describe({ socketType, address }: Observed): DiagnosticsMessage {
    return { socketType, endpoint: address, lz4: this }
  }

  /** Returns the peer of a connection; a placeholder if this object was made after the connection. */
  #peerOf(connection: PeerConnection): ConnectEvent {
    return this.#open.get(connection)?.peer ?? { remoteAddress: "unknown", remotePort: 0 }
  }
}

/** Returns the level that a connection of an endpoint uses, in the format of the peer. */
function levelOf({ effort, scheme }: PeerConnection, { format }: Observed): Level {
  const own = scheme && formatOf(`${scheme}://`)
  return loadFormatSync(own ?? format).levelOf(effort) as Level
}

function trafficOf({ messages, plainBytes, wireBytes }: DirectionCounts): Traffic {
  return { messages, plainBytes, wireBytes }
}

function addCounts(total: { sent: Traffic; received: Traffic }, counts: ConnectionCounts): void {
  addTraffic(total.sent, counts.sent)
  addTraffic(total.received, counts.received)
}
