import type { CaptureConnection, CaptureEvent, CaptureMessage, Side } from "../events.js"
import { firstPart, partCount } from "../parts.js"
import { other } from "../sides.js"
import { TOPIC_BYTES, topicKey } from "./topics.js"

const KEPT_MAX = 1 << 16

/** The subscriptions of the connections that are open. */
export class Subscriptions {
  readonly #connections = new Map<CaptureConnection, Record<Side, Map<number, Set<string>>>>()
  #count = 0

  /** Takes a subscription or its end, if an event is one: a command, or until ZMTP 3.0 a message. */
  add(event: CaptureEvent): void {
    const { connection } = event
    if (event.type === "close") this.#forget(event.connection)
    else if (event.type === "command" && event.command.name === "SUBSCRIBE")
      this.#subscribe(event.connection, event.command.from, event.command.body)
    else if (event.type === "command" && event.command.name === "CANCEL")
      this.#cancel(event.connection, event.command.from, event.command.body)
    else if (event.type === "message" && connection) {
      const { from } = event.message
      const type = connection.handshakes[from]?.socketType
      if ((type !== "SUB" && type !== "XSUB") || partCount(event.message) > 1) return
      const body = firstPart(event.message).plain
      if (!body) return
      if (body[0] === 1) this.#subscribe(connection, from, body.subarray(1))
      else if (body[0] === 0) this.#cancel(connection, from, body.subarray(1))
    }
  }

  /** Returns the key of the topic of a message; undefined if its sender has none. */
  topicOf(connection: CaptureConnection, message: CaptureMessage): string | undefined {
    const type = connection.handshakes[message.from]?.socketType
    const first = firstPart(message).plain ?? new Uint8Array()
    const hasTopics = type === "PUB" || type === "XPUB" || type === "RADIO"
    if (!hasTopics && type !== undefined) return undefined
    if (partCount(message) > 1) return topicKey(first)
    if (!hasTopics) return undefined
    const receiver = other(message.from)
    return this.#longest(connection, receiver, first.subarray(0, TOPIC_BYTES)) ?? ""
  }

  /** Returns the key of the longest subscription of the receiver with which a message begins. */
  #longest(connection: CaptureConnection, receiver: Side, start: Uint8Array): string | undefined {
    const byLength = this.#connections.get(connection)?.[receiver]
    if (!byLength) return undefined
    for (let length = Math.min(start.length, TOPIC_BYTES); length > 0; length--) {
      const topics = byLength.get(length)
      const topic = topics && topicKey(start.subarray(0, length))
      if (topic !== undefined && topics?.has(topic)) return topic
    }
    return undefined
  }

  #subscribe(connection: CaptureConnection, from: Side, topic: Uint8Array): void {
    if (topic.length === 0 || topic.length > TOPIC_BYTES || this.#count >= KEPT_MAX) return
    const sides = this.#connections.get(connection) ?? { client: new Map(), server: new Map() }
    this.#connections.set(connection, sides)
    const topics = sides[from].get(topic.length) ?? new Set()
    sides[from].set(topic.length, topics)
    const before = topics.size
    topics.add(topicKey(topic))
    this.#count += topics.size - before
  }

  /** However often it was sent, it ends with the first CANCEL: a publisher does not count. */
  #cancel(connection: CaptureConnection, from: Side, topic: Uint8Array): void {
    const byLength = this.#connections.get(connection)?.[from]
    const topics = byLength?.get(topic.length)
    if (!topics?.delete(topicKey(topic))) return
    this.#count--
    if (topics.size === 0) byLength?.delete(topic.length)
  }

  #forget(connection: CaptureConnection): void {
    const sides = this.#connections.get(connection)
    if (!sides) return
    this.#connections.delete(connection)
    for (const side of [sides.client, sides.server])
      for (const topics of side.values()) this.#count -= topics.size
  }
}
