import type { Command } from "../transport/transport.js"

/**
 * The subscriptions and cancellations that a pipe has not sent, at most one for each topic. A
 * program may change its mind any number of times before a peer reads, so one that takes back
 * another removes it. What remains is bounded by the topics of the peer and those of the program.
 */
export class SubscriptionChanges {
  /** The commands by topic, in the order in which they are sent. */
  readonly #commands = new Map<string, Command>()

  get isEmpty(): boolean {
    return this.#commands.size === 0
  }

  /** Adds a command that begins or ends the subscription to a topic. */
  add(command: Command): void {
    const { name, data } = command
    const topic = Buffer.from(data.buffer, data.byteOffset, data.length).toString("latin1")
    const opposite = this.#commands.get(topic)
    if (!opposite) this.#commands.set(topic, command)
    else if (opposite.name !== name) this.#commands.delete(topic)
  }

  shift(): Command | undefined {
    for (const [topic, command] of this.#commands) {
      this.#commands.delete(topic)
      return command
    }
    return undefined
  }

  clear(): void {
    this.#commands.clear()
  }
}

/** Returns a subscription or cancellation as the message that it is in ZMTP 3.0. */
export function subscriptionMessage({ name, data }: Command): Buffer {
  const message = Buffer.alloc(1 + data.length)
  message[0] = name === "SUBSCRIBE" ? 1 : 0
  message.set(data, 1)
  return message
}
