import type { PeerConnection } from "../transport/transport.js"
import type { SendCredit } from "./send-credit.js"

/** A caller waiting until all messages sent so far have been written. */
export interface FlushWaiter {
  /** Whether the caller has stopped waiting. */
  readonly isOver: boolean
  /** Called when a pipe has written the messages that it had. */
  flushed(): void
}

/** A waiter, and the number of messages that must be sent first. */
interface PendingFlush {
  readonly written: number
  readonly waiter: FlushWaiter
}

/** The callers that wait until a pipe has written what it had accepted when they asked. */
export class FlushWaiters {
  readonly #credit: SendCredit
  #waiting: PendingFlush[] = []

  constructor(credit: SendCredit) {
    this.#credit = credit
  }

  /** Number of callers, with those that have stopped waiting. */
  get length(): number {
    return this.#waiting.length
  }

  get isEmpty(): boolean {
    return this.#waiting.every(({ waiter }) => waiter.isOver)
  }

  add(waiter: FlushWaiter): void {
    this.#waiting = this.#waiting.filter((other) => !other.waiter.isOver)
    this.#waiting.push({ written: this.#credit.written, waiter })
  }

  /**
   * Notifies the waiters whose messages were sent, once the connection has written them. Without a
   * connection they were dropped.
   */
  check(connection: Pick<PeerConnection, "flush"> | undefined): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) {
      if (this.#credit.sent < one.written) this.#waiting.push(one)
      else if (!connection) one.waiter.flushed()
      else connection.flush(() => this.#flushed(one))
    }
  }

  #flushed(one: PendingFlush): void {
    // A connection that ended may have returned chunks, which the next one will write.
    if (this.#credit.sent < one.written) this.#waiting.push(one)
    else one.waiter.flushed()
  }
}
