import type { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"

/** A received message, its sender, and the routing id that the sender had then. */
export interface Fetched {
  readonly message: Message
  readonly pipe: Pipe
  readonly routingId: string | undefined
}

/**
 * The message that a ROUTER, SUB or XSUB takes from a pipe when it looks for messages, before the
 * program receives it: the pipe may end or lose its routing id meanwhile.
 *
 * libzmq takes only the first part. As there, the pipe keeps its turn until the program receives the
 * message, and disconnecting the pipe loses a message of several parts.
 */
export class Prefetch {
  readonly #in: FairQueue
  readonly #accepts: (message: Message) => boolean
  #fetched: Fetched | undefined

  /** @param accepts returns whether the program receives a message; others are dropped. */
  constructor(queue: FairQueue, accepts: (message: Message) => boolean = () => true) {
    this.#in = queue
    this.#accepts = accepts
  }

  /** Takes a message, unless there is one already. Returns whether there is one. */
  fetch(): boolean {
    while (!this.#fetched) {
      const message = this.#in.take()
      if (message === undefined) return false
      const isFetched = this.#accepts(message)
      if (isFetched) this.#fetched = fetchedFrom(this.#in, message)
      if (!isFetched || message.length === 1) this.#in.endTurn()
    }
    return true
  }

  /** Returns the message that `fetch` has taken, and lets it take the next one. */
  take(): Fetched {
    const fetched = this.#fetched as Fetched
    this.#fetched = undefined
    if (fetched.message.length > 1) this.#in.endTurn()
    return fetched
  }

  isOf(pipe: Pipe): boolean {
    return this.#fetched?.pipe === pipe
  }

  /** Drops the message if its pipe was terminated, unless it has a single part. */
  terminated(pipe: Pipe): void {
    if (this.isOf(pipe) && this.#fetched?.message.length !== 1) this.#fetched = undefined
  }
}

function fetchedFrom({ from }: FairQueue, message: Message): Fetched {
  const pipe = from as Pipe
  return { message, pipe, routingId: pipe.routingId }
}
