import type { Message } from "./message.js"
import { Pull } from "./pull.js"
import type { Refusal } from "./socket-type.js"

/** The GATHER socket: a PULL whose messages have one part (RFC 49). */
export class Gather extends Pull {
  override readonly name = "GATHER"

  override receive(): Message | Refusal {
    return this.in.receiveSinglePart() ?? "EAGAIN"
  }
}
