import type { Message } from "./message.js"
import type { Refusal } from "./socket-type.js"
import { XSub } from "./xsub.js"

/** The SUB socket: receives messages of the topics that it subscribed to. */
export class Sub extends XSub {
  override readonly name = "SUB"
  override readonly connectsOnce = true
  /** A matching message that `hasIn` has already taken from a pipe. */
  #found: Message | undefined

  override send(): Refusal {
    return "ENOTSUP"
  }

  override receive(): Message | Refusal {
    if (!this.hasIn()) return "EAGAIN"
    const message = this.#found as Message
    this.#found = undefined
    return message
  }

  override hasIn(): boolean {
    while (!this.#found) {
      const message = this.in.receive()
      if (message === undefined) return false
      if (this.topics.matches(message[0] as Buffer) !== this.options.invertMatching)
        this.#found = message
    }
    return true
  }

  override hasOut(): boolean {
    return false
  }
}
