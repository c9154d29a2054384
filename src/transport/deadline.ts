/**
 * A time limit for something that arrives. Timers may run before sockets are read, so after a
 * blocked event loop a limit can expire although the awaited bytes have arrived: they are read in
 * one more turn of the event loop. A deadline does not keep the process alive.
 */
export class Deadline {
  readonly #expired: () => void
  readonly #timer: NodeJS.Timeout
  #turn: NodeJS.Immediate | undefined

  /** @param expired called after `limitMs`, unless the deadline is cleared before. */
  constructor(limitMs: number, expired: () => void) {
    this.#expired = expired
    this.#timer = setTimeout(Deadline.#reached, limitMs, this).unref()
  }

  clear(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#turn)
  }

  static #reached(deadline: Deadline): void {
    deadline.#turn = setImmediate(deadline.#expired)
  }
}
