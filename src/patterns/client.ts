import { Dealer } from "./dealer.js"
import type { Message } from "./message.js"
import type { Refusal } from "./socket-type.js"

/** The CLIENT socket: a DEALER whose messages have one part (RFC 41). */
export class Client extends Dealer {
  override readonly name = "CLIENT"
  override readonly connectsOnce = false
  override readonly sendTellsRoom = false

  override send(message: Message): Refusal | undefined {
    return message.length === 1 ? super.send(message) : "EINVAL"
  }

  override receive(): Message | Refusal {
    return this.in.receiveSinglePart() ?? "EAGAIN"
  }
}
