import { FairQueue } from "./fair-queue.js"
import type { Pipe } from "./pipe.js"
import { SocketType } from "./socket-type.js"

/** The PULL socket: receives from its peers in turn. */
export class Pull extends SocketType {
  override readonly name: "PULL" | "GATHER" = "PULL"
  override readonly mayKeepForms: boolean = true
  protected override readonly in: FairQueue = new FairQueue()

  attach(pipe: Pipe): void {
    this.in.attach(pipe)
    this.events.readable()
  }
}
