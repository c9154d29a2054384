import { XPub } from "./xpub.js"

/** Publishes to all peers that want a topic. */
export class Pub extends XPub {
  override readonly name = "PUB"
  override readonly connectsOnce = true

  protected override get notifies(): boolean {
    return false
  }

  override hasIn(): boolean {
    return false
  }
}
