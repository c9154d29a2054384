import { FairQueue } from "./fair-queue.js"
import { LoadBalancer } from "./load-balancer.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"

/** The DEALER socket: sends to its peers in turn, and receives from them in turn. */
export class Dealer extends SocketType {
  override readonly name: "DEALER" | "CLIENT" | "REQ" = "DEALER"
  override readonly connectsOnce: boolean = true
  override readonly sendTellsRoom: boolean = true
  override readonly mayKeepForms: boolean = true
  protected override readonly in: FairQueue = new FairQueue()
  protected override readonly out: LoadBalancer = new LoadBalancer()

  override get decidesNow(): boolean {
    return this.out.decidesNow
  }

  override get turns(): number {
    return this.out.active
  }

  attach(pipe: Pipe): void {
    if (this.options.probeRouter) pipe.out.write([Buffer.alloc(0)])
    this.in.attach(pipe)
    this.out.attach(pipe)
    this.events.readable()
    this.events.writable()
  }

  override send(message: Message): Refusal | undefined {
    return this.out.send(message) ? undefined : "EAGAIN"
  }

  override hasOut(): boolean {
    return this.out.hasOut()
  }
}
