/** A summary of a connection in a few bytes, whatever its peers sent. */
import type { CaptureConnection, ConnectionEnd, EncryptedTraffic, Side } from "./events.js"

/** One side of a connection, and its traffic. */
export interface SideSummary {
  /** Its first characters; undefined if not known. */
  socketType: string | undefined
  messages: number
  plainBytes: number
  wireBytes: number
  /** Size of the dictionary that it sent, or that was given. */
  dictionaryBytes: number | undefined
  /** Segments whose data was in the capture before. */
  repeatedSegments: number
  /** MESSAGE commands of CURVE that were not opened; undefined if the connection is not encrypted. */
  encrypted: EncryptedTraffic | undefined
}

export interface ConnectionSummary {
  id: number
  client: string
  server: string
  begun: boolean
  transport: "lz4+tcp" | "zstd+tcp" | "tcp" | undefined
  sides: Record<Side, SideSummary>
  /** The side that is the server of CURVE; undefined if neither is, as far as is known. */
  curveServer: Side | undefined
  /** Set if one side speaks `lz4+tcp://` and the other `tcp://`, or a dictionary is missing. */
  warning: string | undefined
  /** How it ended; undefined if it did not. */
  ended: ConnectionEnd | undefined
  /** Number of errors, including parts that do not decode. */
  errors: number
}

/**
 * The names of socket types are shorter, but a peer may send anything, and there may be thousands
 * of summaries.
 */
const SOCKET_TYPE_MAX_CHARS = 100

/** Kinds of packets, or servers, that are named. */
const NAMED_MAX = 10

/** Names the packets that are not read, the most frequent kinds first; "" if there are none. */
export const unreadText = (unread: ReadonlyMap<string, number>): string =>
  unread.size === 0 ? "" : `packets that are not read: ${counted(unread, "")}`

/** Names the servers that refused connections; "" if there are none. */
export const refusedText = (refused: ReadonlyMap<string, number>): string =>
  refused.size === 0 ? "" : `connections that were refused: ${counted(refused, "by ")}`

function counted(counts: ReadonlyMap<string, number>, between: string): string {
  const kinds = [...counts].sort(([, a], [, b]) => b - a)
  const named = kinds.slice(0, NAMED_MAX).map(([name, number]) => `${number} ${between}${name}`)
  if (kinds.length > named.length) named.push(`${kinds.length - named.length} more kinds`)
  return named.join(", ")
}

/** Names what a connection speaks. */
export function transportText({ transport, sides, curveServer }: ConnectionSummary): string {
  if (!sides.client.encrypted) return transport ?? "no messages"
  if (transport) return `${transport}, decrypted`
  const also = curveServer === "server" ? "also " : ""
  return `encrypted with CURVE${curveServer ? `, the ${curveServer} is ${also}the CURVE server` : ""}`
}

/** Says how a connection ended. */
export const endText = ({ by, how, inMessage }: ConnectionEnd): string =>
  `${how === "FIN" ? "closed" : "reset"} by the ${by}${inMessage ? ", in the middle of a message" : ""}`

export function connectionSummary(
  connection: CaptureConnection,
  errors: number,
): ConnectionSummary {
  const { id, client, server, begun, transport, warning, ended } = connection
  const sides = {
    client: sideSummary(connection, "client"),
    server: sideSummary(connection, "server"),
  }
  const curveServer = (["client", "server"] as const).find((side) => {
    const handshake = connection.handshakes[side]
    return handshake?.mechanism === "CURVE" && handshake.asServer
  })
  return { id, client, server, begun, transport, sides, curveServer, warning, ended, errors }
}

export function sideSummary(connection: CaptureConnection, side: Side): SideSummary {
  const { messages, plainBytes, wireBytes } = connection.traffic[side]
  return {
    socketType: startOf(connection.handshakes[side]?.socketType),
    messages,
    plainBytes,
    wireBytes,
    dictionaryBytes: connection.dictionaries[side]?.length,
    repeatedSegments: connection.repeatedSegments[side],
    encrypted: connection.encrypted && { ...connection.encrypted[side] },
  }
}

// Joined again, because the result of `slice` may keep the whole text in memory.
const startOf = (text: string | undefined): string | undefined =>
  text && [...text.slice(0, SOCKET_TYPE_MAX_CHARS)].join("")
