import { SOCKET_PARTS_MAX } from "../codec/limits.js"

/** A queue of received messages whose connection waits until the socket has room. */
interface WaitingQueue {
  /** Lets the connection read. */
  roomAgain(): void
}

/**
 * The parts of received messages in all queues of a socket. Each takes memory, however short it is, and
 * many connections with few parts each take as much as one with many.
 */
export class QueuedParts {
  #parts = 0
  /** Queues of new connections, in the order in which they came. */
  readonly #waiting = new Set<WaitingQueue>()

  added(parts: number): void {
    this.#parts += parts
  }

  removed(parts: number): void {
    this.#parts -= parts
    if (this.#waiting.size === 0) return
    for (const queue of this.#waiting) {
      if (this.isFull) return
      this.#waiting.delete(queue)
      queue.roomAgain()
    }
  }

  /** Whether new connections wait, and others stop that have a message in their queues. */
  get isFull(): boolean {
    return this.#parts >= SOCKET_PARTS_MAX
  }

  /** Tells a queue once there is room. */
  wait(queue: WaitingQueue): void {
    this.#waiting.add(queue)
  }

  forget(queue: WaitingQueue): void {
    this.#waiting.delete(queue)
  }
}
