/** The channels of node:diagnostics_channel, which NODE_DEBUG=zeromq-lz4 prints to stderr. */
import { type Channel, channel } from "node:diagnostics_channel"
import { debuglog } from "node:util"
import type { ProtocolError } from "../codec/errors.js"
import type { Level } from "../codec/options.js"
import type { Traffic } from "../codec/traffic.js"
import { print } from "../transport/diagnosis.js"
import type { Statistics } from "./statistics.js"

/** The properties of the messages on all channels. */
export interface DiagnosticsMessage {
  /** The type of the socket, for example "PUSH". */
  socketType: string
  /**
   * The endpoint as it was connected, or as it is bound: with the real port, and 0.0.0.0 for all
   * addresses.
   */
  endpoint: string
  /** The `lz4` property of the socket, which identifies it. */
  lz4: Statistics
}

/** The properties of messages about a connection. */
export interface PeerMessage extends DiagnosticsMessage {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
}

/** A message on the channel `zeromq-lz4:connection`. */
export interface ConnectionMessage extends PeerMessage {
  /** The new state of the connection. Its handshake begins when it is accepted or connected. */
  state: "accepted" | "connected" | "closed"
  /** The error of the network or the system that closed the connection, if there was one. */
  error?: Error | undefined
  /** The traffic sent to the peer. Only set if the connection was closed. */
  sent?: Traffic
  /** The traffic received from the peer. Only set if the connection was closed. */
  received?: Traffic
}

/**
 * A message on the channel `zeromq-lz4:protocol-error`: a peer broke a rule, and its connection is
 * closed.
 */
export interface ProtocolErrorMessage extends PeerMessage {
  /** The rule that the peer broke. */
  error: ProtocolError
}

/** A message on the channel `zeromq-lz4:reconnect`: a connection was lost, or could not be made. */
export interface ReconnectMessage extends DiagnosticsMessage {
  /** Milliseconds until the next attempt. */
  intervalMs: number
  /**
   * Why there is no connection: the error of the attempt, of the handshake, of the network or of a
   * peer that broke a rule; undefined if the peer simply closed the connection.
   */
  error?: Error | undefined
}

/** A message on the channel `zeromq-lz4:level`: the compression level of sent messages has changed. */
export interface LevelMessage extends PeerMessage {
  /** The new level. */
  level: Level
  /** The level before. */
  previous: Level
}

/** A channel of node:diagnostics_channel, with the type of its messages. */
export interface Lz4Channel<M extends DiagnosticsMessage> {
  /** The name in node:diagnostics_channel. */
  readonly name: string | symbol
  /** Whether anything has subscribed. */
  readonly hasSubscribers: boolean
  /** Calls `listener` with each message from now on, and with the channel's name. */
  subscribe(listener: (message: M, name: string | symbol) => void): void
  /** Ends a subscription; returns whether there was one. */
  unsubscribe(listener: (message: M, name: string | symbol) => void): boolean
}

const debug = debuglog("zeromq-lz4")

/** Characters to remove from a line: an error may quote a peer, and must not control the terminal. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu

/** A channel, and the format of its lines for stderr. */
export class Topic<M extends DiagnosticsMessage> {
  readonly channel: Channel & Lz4Channel<M>
  readonly #format: (message: M) => string

  /** @param line formats a message, without the socket's type and endpoint, which come first. */
  constructor(name: string, line: (message: M) => string) {
    this.channel = channel(`zeromq-lz4:${name}`) as Channel & Lz4Channel<M>
    this.#format = line
  }

  /** Whether the channel has subscribers or NODE_DEBUG is set. */
  get isWanted(): boolean {
    return this.channel.hasSubscribers || debug.enabled
  }

  publish(message: M): void {
    this.channel.publish(message)
    note(message, this.#format(message))
  }

  line(message: M): string {
    return lineOf(message, this.#format(message))
  }
}

type Place = Pick<DiagnosticsMessage, "socketType" | "endpoint">

/** Prints a line about an endpoint if NODE_DEBUG is set. */
export function note(place: Place, text: string): void {
  // debuglog() itself prints so that an error ends the process.
  if (debug.enabled) print(`ZEROMQ-LZ4 ${process.pid}: ${lineOf(place, text)}\n`)
}

function lineOf({ socketType, endpoint }: Place, text: string): string {
  return `${socketType} ${endpoint}: ${text}`.replace(UNPRINTABLE, "?")
}

export const CONNECTION: Topic<ConnectionMessage> = new Topic("connection", (message) => {
  const { state, error, sent, received } = message
  const peer = formatPeer(message)
  if (state !== "closed" || !sent || !received)
    return `${state === "accepted" ? state : "connected to"} ${peer}`
  return `closed ${peer}${formatError(error)}, sent ${formatTraffic(sent)}, received ${formatTraffic(received)}`
})

export const PROTOCOL_ERROR: Topic<ProtocolErrorMessage> = new Topic(
  "protocol-error",
  (message) => `${formatPeer(message)} broke a rule: ${message.error.message}`,
)

export const RECONNECT: Topic<ReconnectMessage> = new Topic(
  "reconnect",
  ({ intervalMs, error }) => `tries to connect again in ${intervalMs} ms${formatError(error)}`,
)

export const LEVEL: Topic<LevelMessage> = new Topic(
  "level",
  (message) => `sends to ${formatPeer(message)} at level ${message.level}, was ${message.previous}`,
)

export const SILENT_PEER: Topic<PeerMessage> = new Topic(
  "silent-peer",
  (message) =>
    `${formatPeer(message)} announced no revision and has sent nothing: if it is a tcp:// peer, it cannot read what it is sent (both ends need the same scheme, unless this one has the option acceptPlain)`,
)

/**
 * The channels of node:diagnostics_channel on which the events of all `lz4+tcp://` connections in the
 * process are published: docs/monitoring.md.
 */
export const channels: {
  /** The channel `zeromq-lz4:connection`: a connection was accepted, connected or closed. */
  readonly connection: Lz4Channel<ConnectionMessage>
  /** The channel `zeromq-lz4:protocol-error`: a peer broke a rule, and its connection is closed. */
  readonly protocolError: Lz4Channel<ProtocolErrorMessage>
  /** The channel `zeromq-lz4:reconnect`: a connection was lost or could not be made. */
  readonly reconnect: Lz4Channel<ReconnectMessage>
  /** The channel `zeromq-lz4:level`: the compression level of a connection has changed. */
  readonly level: Lz4Channel<LevelMessage>
  /**
   * The channel `zeromq-lz4:silent-peer`: a peer announced no revision of the format, and has sent no
   * message for 2 s. It may speak plain `tcp://`. There is one message for each endpoint.
   */
  readonly silentPeer: Lz4Channel<PeerMessage>
} = {
  connection: CONNECTION.channel,
  protocolError: PROTOCOL_ERROR.channel,
  reconnect: RECONNECT.channel,
  level: LEVEL.channel,
  silentPeer: SILENT_PEER.channel,
}

function formatPeer({ remoteAddress, remotePort }: PeerMessage): string {
  return remoteAddress.includes(":")
    ? `[${remoteAddress}]:${remotePort}`
    : `${remoteAddress}:${remotePort}`
}

const formatError = (error: Error | undefined): string => (error ? ` (${error.message})` : "")

function formatTraffic({ messages, plainBytes, wireBytes }: Traffic): string {
  return `${messages} messages (${plainBytes} bytes as ${wireBytes})`
}
