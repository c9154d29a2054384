import { clearTimeout, clockMs, setTimeout } from "../../base/runtime.js"

/** Milliseconds by which a timer is late if the event loop was blocked. */
const BLOCKED_MS = 50

/**
 * The time in which a released endpoint may still write. It is extended once if the event loop was
 * blocked at its end, because nothing could be written meanwhile.
 */
export class Linger {
  readonly #expired: () => void
  #timer: NodeJS.Timeout | undefined
  #endMs = Number.POSITIVE_INFINITY
  #extensionMs: number

  /** @param expired called after `ms` milliseconds. */
  constructor(ms: number, expired: () => void) {
    this.#expired = expired
    this.#extensionMs = ms
    this.#endAfter(ms)
  }

  get leftMs(): number {
    const leftMs = this.#endMs - clockMs()
    return leftMs > 0 ? leftMs : Math.min(-leftMs, this.#extensionMs)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #endAfter(ms: number): void {
    this.#endMs = clockMs() + ms
    this.#timer = setTimeout(() => this.#check(), ms).unref()
  }

  #check(): void {
    const { leftMs } = this
    this.#extensionMs = 0
    if (leftMs < BLOCKED_MS) this.#expired()
    else this.#endAfter(leftMs)
  }
}
