import type { Side } from "../events.js"
import type { Found, NotJoined } from "./conversation.js"

/** Counts the messages of a connection that cannot be joined, if both sides send some. */
export class Unjoined {
  readonly #why: NotJoined
  readonly #senders = new Set<Side>()
  #messages = 0

  constructor(why: NotJoined) {
    this.#why = why
  }

  add(from: Side, matches: boolean): void {
    this.#senders.add(from)
    if (matches) this.#messages++
  }

  gap(): void {}

  giveUp(): void {}

  end(): [] {
    return []
  }

  get found(): Found {
    const messages = this.#senders.size === 2 ? this.#messages : 0
    const notJoined = messages > 0 ? this.#why : undefined
    return { exchanges: 0, unanswered: 0, unexpected: 0, unknown: 0, notJoined, messages }
  }
}
