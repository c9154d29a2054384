/** Tells of connections on channels of node:diagnostics_channel, and on stderr with NODE_DEBUG=zeromq-lz4. */
import { type Channel, channel } from "node:diagnostics_channel"
import { debuglog } from "node:util"
import type { Traffic } from "../codec/codec.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Lz4Level } from "../codec/options.js"
import type { Statistics } from "./statistics.js"

/** What messages on all channels tell. */
export interface DiagnosticsMessage {
  /** The type of the socket, as in "PUSH". */
  socketType: string
  /** The endpoint, as it was bound or connected. */
  endpoint: string
  /** The `lz4` of the socket, by which to tell sockets apart. */
  lz4: Statistics
}

/** What messages about a connection tell. */
export interface PeerMessage extends DiagnosticsMessage {
  /** The peer's IP address. */
  remoteAddress: string
  /** The peer's port. */
  remotePort: number
}

/** A message on the channel `zeromq-lz4:connection`. */
export interface ConnectionMessage extends PeerMessage {
  /** What became of the connection. Its handshake begins when it is accepted or connected. */
  state: "accepted" | "connected" | "closed"
  /** Why it was closed, when the network or the system did that. */
  error?: Error | undefined
  /** What went to the peer, when it was closed. */
  sent?: Traffic
  /** What came from the peer, when it was closed. */
  received?: Traffic
}

/** A message on the channel `zeromq-lz4:protocol-error`: the peer loses its connection. */
export interface ProtocolErrorMessage extends PeerMessage {
  /** What the peer did wrong. */
  error: ProtocolError
}

/** A message on the channel `zeromq-lz4:reconnect`: a connection was lost, or could not be made. */
export interface ReconnectMessage extends DiagnosticsMessage {
  /** Time until the next attempt, in milliseconds. */
  intervalMs: number
}

/** A message on the channel `zeromq-lz4:level`: what is sent is compressed otherwise from now on. */
export interface LevelMessage extends PeerMessage {
  /** The level in use. */
  level: Lz4Level | "none"
  /** The level in use before. */
  previous: Lz4Level | "none"
}

const debug = debuglog("zeromq-lz4")

/** A peer's words may be in an error, and a terminal is not to act on them. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu

/** One kind of message. */
class Topic<M extends DiagnosticsMessage> {
  readonly #channel: Channel
  readonly #line: (message: M) => string

  /** @param line says the same in a line, behind the type and the endpoint of the socket. */
  constructor(name: string, line: (message: M) => string) {
    this.#channel = channel(`zeromq-lz4:${name}`)
    this.#line = line
  }

  /** Whether anybody wants to know. */
  get isWanted(): boolean {
    return this.#channel.hasSubscribers || debug.enabled
  }

  tell(message: M): void {
    this.#channel.publish(message)
    if (!debug.enabled) return
    const line = `${message.socketType} ${message.endpoint}: ${this.#line(message)}`
    debug("%s", line.replace(UNPRINTABLE, "?"))
  }
}

export const CONNECTION: Topic<ConnectionMessage> = new Topic("connection", (message) => {
  const { state, error, sent, received } = message
  const peer = peerOf(message)
  if (state !== "closed" || !sent || !received)
    return `${state === "accepted" ? state : "connected to"} ${peer}`
  const why = error ? ` (${error.message})` : ""
  return `closed ${peer}${why}, sent ${amount(sent)}, received ${amount(received)}`
})

export const PROTOCOL_ERROR: Topic<ProtocolErrorMessage> = new Topic(
  "protocol-error",
  (message) => `${peerOf(message)} broke a rule: ${message.error.message}`,
)

export const RECONNECT: Topic<ReconnectMessage> = new Topic(
  "reconnect",
  ({ intervalMs }) => `tries to connect again in ${intervalMs} ms`,
)

export const LEVEL: Topic<LevelMessage> = new Topic(
  "level",
  (message) => `sends to ${peerOf(message)} at level ${message.level}, was ${message.previous}`,
)

function peerOf({ remoteAddress, remotePort }: PeerMessage): string {
  return remoteAddress.includes(":")
    ? `[${remoteAddress}]:${remotePort}`
    : `${remoteAddress}:${remotePort}`
}

function amount({ messages, plainBytes, wireBytes }: Traffic): string {
  return `${messages} messages (${plainBytes} bytes as ${wireBytes})`
}
