import { EventEmitter } from "node:events"
import type { Traffic } from "../codec/codec.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Lz4Level } from "../codec/options.js"
import type { ConnectionCounts, DirectionCounts } from "../transport/connection.js"
import { throwLater } from "../transport/throw-later.js"
import type { PeerConnection } from "../transport/transport.js"

/** What went one way over a connection. */
export interface ConnectionTraffic extends Traffic {
  /** Whether a dictionary is in use in this direction. */
  dictionary: boolean
}

/** What was sent over a connection, and how hard that is compressed. */
export interface SentTraffic extends ConnectionTraffic {
  /**
   * The level in use. With `level: "adaptive"`, the one that was chosen last: "none" if nothing is
   * compressed, 0 for LZ4, higher for LZ4HC.
   */
  level: Lz4Level | "none"
}

/** One connection, as it was when the list was read. */
export interface Connection {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
  /** What went to the peer. */
  sent: SentTraffic
  /** What came from the peer. */
  received: ConnectionTraffic
}

/** A connection was made. */
export interface ConnectEvent {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
}

/** A connection is over. */
export interface DisconnectEvent extends ConnectEvent {
  /** Why, when the network or the system ended it; undefined when either side just closed. */
  error: Error | undefined
}

/** A peer broke a rule, and loses its connection. */
export interface ProtocolErrorEvent extends ConnectEvent {
  /** What the peer did wrong: its `code` and its words. */
  error: ProtocolError
}

/** The arguments of each event. */
export type Lz4Events = {
  connect: [ConnectEvent]
  disconnect: [DisconnectEvent]
  protocolError: [ProtocolErrorEvent]
}

/**
 * Events and statistics of the `lz4+tcp://` connections of a socket.
 *
 * Emits "connect" and "disconnect" for each, and "protocolError" when a peer breaks a rule of
 * RFC.md and loses its connection; a "disconnect" follows.
 */
export class Lz4 extends EventEmitter<Lz4Events> {
  /** With who is at the other end, which a connection that is over no longer knows. */
  readonly #live = new Map<PeerConnection, ConnectEvent>()
  /** Of connections that are over. */
  readonly #past = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0 },
    received: { messages: 0, plainBytes: 0, wireBytes: 0 },
  }

  /** The connections that are open now. */
  get connections(): readonly Connection[] {
    return Array.from(this.#live, ([connection, peer]) => {
      const { sent, received } = connection.counts
      return { ...peer, sent: { ...sent, level: levelOf(connection.effort) }, received }
    })
  }

  /** Totals over all connections, past ones included. Bytes are those of parts, without frame headers. */
  get stats(): { sent: Traffic; received: Traffic } {
    const stats = { sent: { ...this.#past.sent }, received: { ...this.#past.received } }
    for (const connection of this.#live.keys()) count(stats, connection.counts)
    return stats
  }

  /** @internal */
  opened(connection: PeerConnection): void {
    const { remoteAddress = "unknown", remotePort = 0 } = connection // it may have gone already
    const peer = { remoteAddress, remotePort }
    this.#live.set(connection, peer)
    tell(() => this.emit("connect", { ...peer }))
  }

  /** @internal */
  failed(connection: PeerConnection, error: ProtocolError): void {
    const peer = this.#live.get(connection) as ConnectEvent
    tell(() => this.emit("protocolError", { ...peer, error }))
  }

  /** @internal */
  closed(connection: PeerConnection, counts: ConnectionCounts, error: Error | undefined): void {
    const peer = this.#live.get(connection) as ConnectEvent
    this.#live.delete(connection)
    count(this.#past, counts)
    tell(() => this.emit("disconnect", { ...peer, error }))
  }
}

function levelOf(effort: number): Lz4Level | "none" {
  if (effort === 0) return "none"
  return effort > 0 ? 0 : (-effort as Lz4Level)
}

/** What a listener throws is the program's, and stops nothing here. */
function tell(emit: () => void): void {
  try {
    emit()
  } catch (error) {
    throwLater(error)
  }
}

function count(total: { sent: Traffic; received: Traffic }, counts: ConnectionCounts): void {
  add(total.sent, counts.sent)
  add(total.received, counts.received)
}

function add(total: Traffic, { messages, plainBytes, wireBytes }: DirectionCounts): void {
  total.messages += messages
  total.plainBytes += plainBytes
  total.wireBytes += wireBytes
}
