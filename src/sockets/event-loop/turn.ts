import { OPERATIONS_MAX } from "../../base/limits.js"
import { clockMs, setImmediate } from "../../base/runtime.js"
import { hasWorkedLong } from "../../transport/last-poll.js"
import type { ReceivedParts } from "../message.js"

/**
 * Milliseconds after which a turn ends in any case, because `OPERATIONS_MAX` large messages take long.
 * The clock is read every `POLL_BYTES`.
 */
const TURN_MAX_MS = 0.5
const POLL_BYTES = 128 * 1024
/** Maximum number of messages between two looks at the clock. One at each costs too much. */
const LOOK_MESSAGES = 32

/**
 * Counts a socket's operations and their bytes, so that a program that sends or receives in a loop
 * lets the event loop have its turn from time to time.
 */
export class TurnBudget {
  /** Number of operations since the last one that waited. */
  #operations = 0
  /** Number of messages since then, including those of calls with a timeout of 0. */
  #messages = 0
  /** The message at which to look next, soon at first: a program that computes sends little. */
  #lookAt = 1
  /** Bytes sent and received since the clock was last read. */
  #bytes = 0
  /** The time at the first reading of the clock after an operation waited, in milliseconds. */
  #turnStart: number | undefined
  #turn: Promise<void> | undefined

  /** Counts an operation. Returns whether it still belongs to this turn of the event loop. */
  countOperation(): boolean {
    return this.#operations++ < OPERATIONS_MAX
  }

  /** Returns the turn of the event loop to wait for after a message; undefined if none is due. */
  turnAfter(message: ReceivedParts): Promise<void> | undefined {
    for (let i = 0; i < message.length; i++)
      this.#bytes += (message[i] as Partial<Buffer>).length ?? 0
    if (this.#computes()) return this.nextTurn()
    if (this.#bytes < POLL_BYTES) return this.#turn
    this.#bytes = 0
    const now = clockMs()
    this.#turnStart ??= now
    return now - this.#turnStart < TURN_MAX_MS ? this.#turn : this.nextTurn()
  }

  /** Returns whether the program computes between its operations, so that nothing is polled. */
  #computes(): boolean {
    if (++this.#messages < this.#lookAt) return false
    this.#lookAt = this.#messages + Math.min(this.#messages, LOOK_MESSAGES)
    return hasWorkedLong()
  }

  /** The turn of the event loop that operations wait for, if any does. */
  get turn(): Promise<void> | undefined {
    return this.#turn
  }

  nextTurn(): Promise<void> {
    this.#turn ??= turn().then(() => {
      this.reset()
      this.#turn = undefined
    })
    return this.#turn
  }

  /** Resets the counts, because an operation has waited for the event loop. */
  reset(): void {
    this.#operations = 0
    this.#messages = 0
    this.#lookAt = 1
    this.#turnStart = undefined
  }
}

/** Waits for a turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
