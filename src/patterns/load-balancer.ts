import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { RoundRobin } from "./round-robin.js"

/** A set of pipes that sends each message to the next one with room (libzmq's lb_t). */
export class LoadBalancer extends RoundRobin {
  constructor() {
    super("lbIndex")
  }

  /** Sends to the next pipe in turn and returns it; undefined if no pipe has room. */
  send(message: Message): Pipe | undefined {
    for (let pipe = this.current; pipe; pipe = this.current) {
      if (pipe.out.write(message)) {
        this.advance()
        return pipe
      }
      this.deactivate()
    }
    return undefined
  }

  hasOut(): boolean {
    for (let pipe = this.current; pipe; pipe = this.current) {
      if (pipe.out.checkWrite()) return true
      this.deactivate()
    }
    return false
  }
}
