import { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"

/** The PULL socket: receives from its peers in turn. */
export class Pull extends SocketType {
  override readonly name: "PULL" | "GATHER" = "PULL"
  protected readonly in: FairQueue = new FairQueue()

  attach(pipe: Pipe): void {
    this.in.attach(pipe)
    this.events.readable()
  }

  terminated(pipe: Pipe): void {
    this.in.terminated(pipe)
  }

  override readActivated(pipe: Pipe): void {
    this.in.activated(pipe)
    this.events.readable()
  }

  override receive(): Message | Refusal {
    return this.in.receive() ?? "EAGAIN"
  }

  override hasIn(): boolean {
    return this.in.hasIn()
  }
}
