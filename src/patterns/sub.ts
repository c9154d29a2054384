import { type Part, plaintextOf } from "../zmtp/part.js"
import type { Message } from "./message.js"
import type { Refusal } from "./socket-type.js"
import { XSub } from "./xsub.js"

/** The SUB socket: receives messages of the topics that it subscribed to. */
export class Sub extends XSub {
  override readonly name = "SUB"
  override readonly connectsOnce = true

  override send(): Refusal {
    return "ENOTSUP"
  }

  protected override accepts(message: Message): boolean {
    return this.topics.matches(plaintextOf(message[0] as Part)) !== this.options.invertMatching
  }

  override hasOut(): boolean {
    return false
  }
}
