/** A summary of a connection in a few bytes, whatever its peers said. */
import type { CaptureConnection, Side } from "./events.js"

/** One side of a connection, and its traffic. */
export interface SideSummary {
  /** Its first characters; undefined when it is not known. */
  socketType: string | undefined
  messages: number
  plainBytes: number
  wireBytes: number
  /** Of the dictionary that it sent, or that was given. */
  dictionaryBytes: number | undefined
}

export interface ConnectionSummary {
  id: number
  client: string
  server: string
  begun: boolean
  transport: "lz4+tcp" | "tcp" | undefined
  sides: Record<Side, SideSummary>
  /** With those of parts that do not decode. */
  errors: number
}

/** Names of socket types are shorter, but a peer may send anything: thousands are summed up at once. */
const SOCKET_TYPE_MAX_CHARS = 100

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

// Joined again, since what `slice` returns may keep all of the text in memory.
const startOf = (text: string | undefined): string | undefined =>
  text && [...text.slice(0, SOCKET_TYPE_MAX_CHARS)].join("")
