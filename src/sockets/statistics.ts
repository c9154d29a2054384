import type { Level } from "../codec/options.js"
import type { Traffic } from "../codec/traffic.js"
import type { Waiting } from "../transport/transport.js"

/** Traffic of a connection in one direction. */
export interface ConnectionTraffic extends Traffic {
  /** Whether a dictionary is in use in this direction. */
  dictionary: boolean
}

/** Sent traffic of a connection, and the level that compresses it. */
export interface SentTraffic extends ConnectionTraffic {
  /**
   * The level in use. With `level: "adaptive"`, the one chosen last: "none" if nothing is
   * compressed, 0 for LZ4, higher for LZ4HC; over `zstd+tcp://` Zstandard's.
   */
  level: Level
}

/** Counts of what may go wrong, and messages that wait. */
export interface Incidents {
  /** Number of times that a peer broke a rule and lost its connection. */
  protocolErrors: number
  /** Number of times that the connection of a connected endpoint was made again. */
  reconnects: number
  /**
   * Messages that a peer did not get because `sendHighWaterMark` was reached. PUB, XPUB, XSUB,
   * RADIO, REP and ROUTER without `mandatory` drop such messages.
   */
  dropped: number
  /** Messages sent that the system has not accepted yet. */
  waiting: Waiting
}

/**
 * A connection at the time when the list was read. The counts of a connected endpoint cover all of
 * its connections, which follow one another.
 */
export interface Connection extends Incidents {
  /**
   * The endpoint that the connection belongs to, as it was connected, or as it is bound: with the
   * real port, and 0.0.0.0 for all addresses.
   */
  endpoint: string
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
  /**
   * The protocol of the peer: "tcp" for a plain peer that the option `acceptPlain` admitted;
   * undefined until the handshake is over.
   */
  scheme: "lz4+tcp" | "zstd+tcp" | "tcp" | undefined
  /**
   * The format revision that the peer announced in its handshake (RFC.md section 3.9). A peer that
   * announced none is another implementation, or speaks `tcp://`.
   */
  revision: number | undefined
  /** Traffic to the peer. */
  sent: SentTraffic
  /** Traffic from the peer. */
  received: ConnectionTraffic
}

/** Totals over all connections of a socket, including past ones. */
export interface Stats extends Incidents {
  /** Traffic sent to peers. */
  sent: Traffic
  /** Traffic received from peers. */
  received: Traffic
}

/** The statistics of a socket, which its `lz4` has. */
export interface Statistics {
  /** The connections that are open now. */
  readonly connections: readonly Connection[]
  /** Totals over all connections, past ones included. */
  readonly stats: Stats
}
