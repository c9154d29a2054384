import { EventEmitter } from "node:events"
import type { Traffic } from "../codec/codec.js"
import { ProtocolError, type ProtocolErrorCode } from "../codec/errors.js"
import { errorFrom } from "../transport/error-info.js"
import {
  type CountersPlace,
  type Peer,
  readCounters,
  type TransportEvent,
} from "../transport/protocol.js"
import { Totals } from "../transport/totals.js"

/** What went one way over a connection. */
export interface ConnectionTraffic extends Traffic {
  /** Whether a dictionary is in use in this direction. */
  dictionary: boolean
}

/** One connection, as it was when the list was read. */
export interface Connection {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
  /** What went to the peer. */
  sent: ConnectionTraffic
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

interface LiveConnection extends Peer {
  counters: CountersPlace
}

/**
 * What a socket tells of its `lz4+tcp://` connections.
 *
 * Emits "connect" and "disconnect" for each, and "protocolError" when a peer
 * breaks a rule of RFC.md and loses its connection; a "disconnect" follows.
 * Counting goes on whether anybody reads or not.
 */
export class Lz4 extends EventEmitter<Lz4Events> {
  readonly #live = new Map<number, LiveConnection>()
  /** Of connections that are over too, which count until libzmq has taken what they brought. */
  readonly #totals = new Totals()

  /** The connections that are open now. */
  get connections(): readonly Connection[] {
    return Array.from(this.#live.values(), ({ remoteAddress, remotePort, counters }) => ({
      remoteAddress,
      remotePort,
      sent: readCounters(counters, "sent"),
      received: readCounters(counters, "received"),
    }))
  }

  /** Totals over all connections, past ones included. Bytes are those of parts, without frame headers. */
  get stats(): { sent: Traffic; received: Traffic } {
    return { sent: this.#totals.total("sent"), received: this.#totals.total("received") }
  }

  /** @internal */
  handle(event: TransportEvent): void {
    if (event.type === "connect") {
      const { remoteAddress, remotePort } = event.peer
      this.#live.set(event.link, { remoteAddress, remotePort, counters: event.counters })
      this.#totals.begin(event.link, event.counters)
      this.emit("connect", { remoteAddress, remotePort })
    } else if (event.type === "protocolError") {
      const { code, message } = event.error
      const detail = message.slice(message.indexOf(": ") + 2)
      const error = new ProtocolError(code as ProtocolErrorCode, detail)
      this.emit("protocolError", { ...event.peer, error })
    } else if (event.type === "disconnect") {
      const connection = this.#live.get(event.link)
      if (!connection) return
      const { remoteAddress, remotePort } = connection
      this.#live.delete(event.link)
      const error = event.error && errorFrom(event.error)
      this.emit("disconnect", { remoteAddress, remotePort, error })
    } else if (event.type === "ended") {
      this.#totals.end(event.link)
    }
  }
}
