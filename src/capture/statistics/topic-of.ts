import type { CaptureConnection, CaptureMessage } from "../events.js"
import { firstPart, partCount } from "../parts.js"
import type { Subscriptions } from "./subscriptions.js"
import { TOPIC_BYTES, topicKey } from "./topic-text.js"

/** Returns the key of the topic of a message; undefined if its sender has none. */
export function topicOf(
  connection: CaptureConnection,
  message: CaptureMessage,
  subscriptions: Subscriptions,
): string | undefined {
  const type = connection.handshakes[message.from]?.socketType
  const first = firstPart(message).plain ?? new Uint8Array()
  const hasTopics = type === "PUB" || type === "XPUB" || type === "RADIO"
  if (!hasTopics && type !== undefined) return undefined
  if (partCount(message) > 1) return topicKey(first)
  if (!hasTopics) return undefined
  const receiver = message.from === "client" ? "server" : "client"
  return subscriptions.longest(connection, receiver, first.subarray(0, TOPIC_BYTES)) ?? ""
}
