import type { CaptureConnection, Side } from "../events.js"

/** How a connection's questions and answers are joined. */
export interface SocketPair {
  /** "envelope": the answer has the parts before the first empty one; "id": see Conversation. */
  by: "envelope" | "id"
  /** Who asks; undefined if it is whoever sends first. */
  asker: Side | undefined
  /** Whether the asker is a REQ: it does not ask again before it has an answer. */
  oneAtATime: boolean
}

/** Types that neither always ask nor always answer. */
const EITHER = ["DEALER", "ROUTER", "CLIENT", "SERVER"]

/**
 * Returns how the messages of a connection are joined: "unknown" if the recording does not have its
 * socket types; undefined if they exchange no questions and answers, as PUB and SUB.
 */
export function socketPair({ handshakes }: CaptureConnection): SocketPair | "unknown" | undefined {
  const client = handshakes.client?.socketType
  const server = handshakes.server?.socketType
  if (client === undefined && server === undefined) return "unknown"
  if (client === "REQ" || server === "REP")
    return { by: "envelope", asker: "client", oneAtATime: client === "REQ" }
  if (server === "REQ" || client === "REP")
    return { by: "envelope", asker: "server", oneAtATime: server === "REQ" }
  if (!EITHER.includes(client ?? server ?? "")) return undefined
  if (client === undefined || server === undefined) return "unknown"
  return EITHER.includes(server) ? { by: "id", asker: undefined, oneAtATime: false } : undefined
}
