/** The longest pause in milliseconds: libzmq's, and the longest that setTimeout() supports. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Milliseconds until another attempt is due after a peer sent a message that the socket type does not
 * allow, or was of the other format: the next one would probably end in the same way. libzmq makes no
 * attempt after the former.
 */
export const LATER_MS = 1000

/** The pauses between attempts to connect, as libzmq chooses them (ZMQ_RECONNECT_IVL). */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  #lastMs = 0

  /**
   * @param firstMs 0 or less allows no second attempt.
   * @param maxMs the limit up to which pauses double; 0 keeps them at `firstMs` plus a random part.
   */
  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs
    this.#maxMs = maxMs
  }

  /** Returns the milliseconds until the next attempt; undefined if there will be none. */
  next(): number | undefined {
    if (this.#firstMs <= 0) return undefined
    if (this.#maxMs > 0) {
      const doubled = this.#lastMs === 0 ? this.#firstMs : 2 * this.#lastMs
      this.#lastMs = Math.min(doubled, this.#maxMs, LONGEST_MS)
      return this.#lastMs
    }
    // The random part keeps the peers of a lost server from reconnecting all at once.
    const pauseMs = this.#firstMs + Math.floor(Math.random() * this.#firstMs)
    return Math.min(pauseMs, LONGEST_MS)
  }

  /** Starts again with the first pause, after an attempt succeeded. */
  reset(): void {
    this.#lastMs = 0
  }
}
