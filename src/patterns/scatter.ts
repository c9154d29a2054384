import type { Message } from "./message.js"
import { Push } from "./push.js"
import type { Refusal } from "./socket-type.js"

/** The SCATTER socket: a PUSH whose messages have one part (RFC 49). */
export class Scatter extends Push {
  override readonly name = "SCATTER"
  override readonly sendTellsRoom = false

  override send(message: Message): Refusal | undefined {
    return message.length === 1 ? super.send(message) : "EINVAL"
  }
}
