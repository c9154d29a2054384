import type { Refusal } from "./socket-type.js"
import { XPub } from "./xpub.js"

/** The PUB socket: sends to all peers that subscribed to a topic. */
export class Pub extends XPub {
  override readonly name = "PUB"
  override readonly connectsOnce = true

  protected override get notifies(): boolean {
    return false
  }

  override receive(): Refusal {
    return "ENOTSUP"
  }

  override hasIn(): boolean {
    return false
  }
}
