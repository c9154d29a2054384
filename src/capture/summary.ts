/** A summary of a connection in a few bytes, whatever its peers sent. */
import type { CaptureConnection, Side } from "./events.js"

/** One side of a connection, and its traffic. */
export interface SideSummary {
  /** Its first characters; undefined if not known. */
  socketType: string | undefined
  messages: number
  plainBytes: number
  wireBytes: number
  /** Size of the dictionary that it sent, or that was given. */
  dictionaryBytes: number | undefined
}

export interface ConnectionSummary {
  id: number
  client: string
  server: string
  begun: boolean
  transport: "lz4+tcp" | "tcp" | undefined
  sides: Record<Side, SideSummary>
  /** Number of errors, including parts that do not decode. */
  errors: number
}

/**
 * The names of socket types are shorter, but a peer may send anything, and there may be thousands
 * of summaries.
 */
const SOCKET_TYPE_MAX_CHARS = 100

/** Kinds of packets that are named. */
const UNREAD_MAX_KINDS = 10

/** Names the packets that are not read, the most frequent kinds first; "" if there are none. */
export function unreadText(unread: ReadonlyMap<string, number>): string {
  const kinds = [...unread].sort(([, a], [, b]) => b - a)
  if (kinds.length === 0) return ""
  const named = kinds.slice(0, UNREAD_MAX_KINDS).map(([name, packets]) => `${packets} ${name}`)
  if (kinds.length > named.length) named.push(`${kinds.length - named.length} more kinds`)
  return `packets that are not read: ${named.join(", ")}`
}

export function connectionSummary(
  connection: CaptureConnection,
  errors: number,
): ConnectionSummary {
  const { id, client, server, begun, transport } = connection
  const sides = {
    client: sideSummary(connection, "client"),
    server: sideSummary(connection, "server"),
  }
  return { id, client, server, begun, transport, sides, errors }
}

export function sideSummary(connection: CaptureConnection, side: Side): SideSummary {
  const { messages, plainBytes, wireBytes } = connection.traffic[side]
  return {
    socketType: startOf(connection.handshakes[side]?.socketType),
    messages,
    plainBytes,
    wireBytes,
    dictionaryBytes: connection.dictionaries[side]?.length,
  }
}

// Joined again, because the result of `slice` may keep the whole text in memory.
const startOf = (text: string | undefined): string | undefined =>
  text && [...text.slice(0, SOCKET_TYPE_MAX_CHARS)].join("")
