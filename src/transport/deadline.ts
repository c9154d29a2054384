import { clearImmediate, clearTimeout, setImmediate, setTimeout } from "../base/runtime.js"
import { endOfLine, isServed } from "./read-turns.js"

/**
 * A time limit for something that arrives. Timers may run before sockets are read, so after a
 * blocked event loop a limit can expire although the awaited bytes have arrived: they are read in
 * one more turn of the event loop, and decoded once the connections before them have had their
 * turn. A deadline does not keep the process alive.
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
    deadline.#turn = setImmediate(Deadline.#read, deadline)
  }

  /** All sockets have been read. */
  static #read(deadline: Deadline): void {
    Deadline.#awaitLine(deadline, endOfLine())
  }

  static #awaitLine(deadline: Deadline, end: number): void {
    if (isServed(end)) deadline.#expired()
    else deadline.#turn = setImmediate(Deadline.#awaitLine, deadline, end)
  }
}
