import type { Traffic } from "../codec/codec.js"
import type { Lz4Level } from "../codec/options.js"
import type { Waiting } from "../transport/transport.js"

/** Traffic of a connection in one direction. */
export interface ConnectionTraffic extends Traffic {
  /** Whether a dictionary is in use in this direction. */
  dictionary: boolean
}

/** Sent traffic of a connection, and the level that compresses it. */
export interface SentTraffic extends ConnectionTraffic {
  /**
   * The level in use. With `level: "adaptive"`, the one that was chosen last: "none" if nothing is
   * compressed, 0 for LZ4, higher for LZ4HC.
   */
  level: Lz4Level | "none"
}

/** What happened besides traffic. */
export interface Incidents {
  /** How often a peer broke a rule, and lost its connection. */
  protocolErrors: number
  /** How often the connection of an endpoint that was connected was made again. */
  reconnects: number
  /**
   * Messages that a peer did not get, as `sendHighWaterMark` was reached: those that a PUB, XPUB,
   * XSUB, RADIO, ROUTER without `mandatory` or REP does not keep.
   */
  dropped: number
  /** What was sent and has not left: what the system has not taken yet. */
  waiting: Waiting
}

/**
 * One connection, as it was when the list was read. What happened at an endpoint that was connected is
 * counted over all its connections, one after the other.
 */
export interface Connection extends Incidents {
  /** The endpoint that it belongs to, as it was bound or connected. */
  endpoint: string
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
  /**
   * What the peer is spoken to with: "tcp" if it is served as a plain one, with the option
   * `acceptPlain`. undefined until the handshake is over.
   */
  scheme: "lz4+tcp" | "tcp" | undefined
  /**
   * The revision of the format that the peer announced in its handshake (RFC.md section 3.9). One that
   * announced none is another implementation, or speaks `tcp://`.
   */
  revision: number | undefined
  /** Traffic to the peer. */
  sent: SentTraffic
  /** Traffic from the peer. */
  received: ConnectionTraffic
}

/** Totals over all connections of a socket, past ones included. */
export interface Stats extends Incidents {
  /** What went to peers. */
  sent: Traffic
  /** What came from peers. */
  received: Traffic
}

/** The statistics of a socket: its `lz4`. */
export interface Statistics {
  /** The connections that are open now. */
  readonly connections: readonly Connection[]
  /** Totals over all connections, past ones included. */
  readonly stats: Stats
}
