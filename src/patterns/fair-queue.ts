import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { RoundRobin } from "./round-robin.js"

/** A set of pipes that receives from each one with messages in turn (libzmq's fq_t). */
export class FairQueue extends RoundRobin {
  /** The pipe of the message received last. */
  from: Pipe | undefined

  constructor() {
    super("fqIndex")
  }

  receive(): Message | undefined {
    const message = this.take()
    if (message !== undefined) this.advance()
    return message
  }

  /** Receives a message of one part, and drops others before it. */
  receiveSinglePart(): Message | undefined {
    for (;;) {
      const message = this.receive()
      if (message === undefined || message.length === 1) return message
    }
  }

  /** Ends the turn of the pipe that `take` received from. */
  endTurn(): void {
    this.advance()
  }

  /** Receives a message, but does not end the turn of its pipe. */
  take(): Message | undefined {
    for (let pipe = this.current; pipe; pipe = this.current) {
      const message = pipe.read()
      if (message !== undefined) {
        this.from = pipe
        return message
      }
      this.deactivate()
    }
    return undefined
  }

  hasIn(): boolean {
    for (let pipe = this.current; pipe; pipe = this.current) {
      if (pipe.checkRead()) return true
      this.deactivate()
    }
    return false
  }
}
