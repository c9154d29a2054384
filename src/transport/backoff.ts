/** The longest pause, in milliseconds: that of libzmq, and the longest that setTimeout() knows. */
const LONGEST_MS = 2 ** 31 - 1

/** The pauses between attempts to connect, as libzmq chooses them (ZMQ_RECONNECT_IVL). */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  #lastMs = 0

  /**
   * `firstMs` of 0 or less allows no second attempt. Pauses double up to `maxMs`; where that is 0,
   * they stay as they are but for a random part.
   */
  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs
    this.#maxMs = maxMs
  }

  /** Milliseconds until the next attempt; undefined when there is to be none. */
  next(): number | undefined {
    if (this.#firstMs <= 0) return undefined
    if (this.#maxMs > 0) {
      const doubled = this.#lastMs === 0 ? this.#firstMs : 2 * this.#lastMs
      this.#lastMs = Math.min(doubled, this.#maxMs, LONGEST_MS)
      return this.#lastMs
    }
    // The random part keeps peers that lost the same server from coming back all at once.
    const pauseMs = this.#firstMs + Math.floor(Math.random() * this.#firstMs)
    return Math.min(pauseMs, LONGEST_MS)
  }

  /** There was a connection: pauses begin anew. */
  reset(): void {
    this.#lastMs = 0
  }
}
