/** The pauses between attempts to connect, as libzmq chooses them. */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  #currentMs: number

  /** `firstMs` of 0 or less allows no second attempt; pauses double up to `maxMs` if that is above it. */
  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs
    this.#maxMs = maxMs
    this.#currentMs = firstMs
  }

  /** The most that libzmq waits before it comes back to an endpoint it lost, in milliseconds. */
  get longestMs(): number {
    return Math.max(0, 2 * this.#firstMs, this.#maxMs)
  }

  /** Milliseconds until the next attempt; undefined when there is to be none. */
  next(): number | undefined {
    if (this.#firstMs <= 0) return undefined
    // The random part keeps peers that lost the same server from coming back all at once.
    const pauseMs = this.#currentMs + Math.floor(Math.random() * this.#firstMs)
    if (this.#maxMs > this.#firstMs) this.#currentMs = Math.min(2 * this.#currentMs, this.#maxMs)
    return pauseMs
  }

  reset(): void {
    this.#currentMs = this.#firstMs
  }
}
