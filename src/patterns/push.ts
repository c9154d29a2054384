import { LoadBalancer } from "./load-balancer.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"

/** The PUSH socket: sends each message to one peer, in turn. */
export class Push extends SocketType {
  override readonly name: "PUSH" | "SCATTER" = "PUSH"
  override readonly sendTellsRoom: boolean = true
  protected override readonly out: LoadBalancer = new LoadBalancer()

  override get decidesNow(): boolean {
    return this.out.decidesNow
  }

  override get turns(): number {
    return this.out.active
  }

  attach(pipe: Pipe): void {
    this.out.attach(pipe)
    this.events.writable()
  }

  /**
   * Drops received messages. The program cannot receive them, and a pipe that held any would outlive
   * its connection.
   */
  takes(): boolean {
    return true
  }

  override send(message: Message): Refusal | undefined {
    return this.out.send(message) ? undefined : "EAGAIN"
  }

  override hasOut(): boolean {
    return this.out.hasOut()
  }
}
