import { SOCKET_PARTS_MAX } from "../base/limits.js"

/** The last part of the limit is kept for connections that have few parts in their queues. */
const SHARED_MAX = SOCKET_PARTS_MAX * (3 / 4)

/**
 * The parts of received messages in all queues of a socket. Each takes memory, however short it is, and
 * many connections with few parts each take as much as one with many.
 */
export class QueuedParts {
  #parts = 0
  #connections = 0

  added(parts: number): void {
    this.#parts += parts
  }

  removed(parts: number): void {
    this.#parts -= parts
  }

  attached(): void {
    this.#connections++
  }

  detached(): void {
    this.#connections--
  }

  /** Whether there are as many parts as a socket may have. */
  get isFull(): boolean {
    return this.#parts >= SOCKET_PARTS_MAX
  }

  /**
   * Returns whether a queue that has this many parts may get no more. While three quarters of the limit
   * are used, each connection may have its share of the rest.
   */
  isFullFor(parts: number): boolean {
    if (this.#parts < SHARED_MAX) return false
    return this.isFull || parts * this.#connections >= SOCKET_PARTS_MAX - SHARED_MAX
  }
}
