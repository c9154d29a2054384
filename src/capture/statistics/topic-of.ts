import type { CaptureConnection, CaptureMessage } from "../events.js"
import type { Subscriptions } from "./subscriptions.js"
import { TOPIC_BYTES, topicKey } from "./topic-text.js"

/** Returns the key of the topic of a message; undefined if its sender has none. */
export function topicOf(
  connection: CaptureConnection,
  { from, parts }: CaptureMessage,
  subscriptions: Subscriptions,
): string | undefined {
  const type = connection.handshakes[from]?.socketType
  const first = parts[0]?.plain ?? new Uint8Array()
  const hasTopics = type === "PUB" || type === "XPUB" || type === "RADIO"
  if (!hasTopics && type !== undefined) return undefined
  if (parts.length > 1) return topicKey(first)
  if (!hasTopics) return undefined
  const receiver = from === "client" ? "server" : "client"
  return subscriptions.longest(connection, receiver, first.subarray(0, TOPIC_BYTES)) ?? ""
}
