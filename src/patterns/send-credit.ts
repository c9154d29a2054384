import { counted } from "./high-water-mark.js"

/**
 * Whether senders may write:
 * - "free": a message is accepted if the high-water mark leaves room.
 * - "wanted": the same, but a sender found no room and must be told when there is some.
 * - "full": a message was refused, and so are all others until there is room.
 * - "ended": no more messages are accepted.
 */
type Room = "free" | "wanted" | "full" | "ended"

/**
 * The send high-water mark of a pipe: the difference allowed between the messages that it accepts
 * and those that it has passed to a connection.
 */
export class SendCredit {
  /** Maximum number of messages accepted but not sent; 0 is no limit. */
  highWaterMark: number
  /** Number of messages and commands accepted. */
  written = 0
  /** Number of those that were passed to a connection, or dropped. */
  sent = 0
  #room: Room = "free"

  constructor(highWaterMark: number) {
    this.highWaterMark = highWaterMark
  }

  get hasRoom(): boolean {
    const max = this.highWaterMark
    return max <= 0 || counted(max, this.written - this.sent, this.sent) < max
  }

  get accepts(): boolean {
    return !this.isRefusing && this.hasRoom
  }

  /** Whether messages are refused, whatever the high-water mark says. */
  get isRefusing(): boolean {
    return this.#room === "full" || this.#room === "ended"
  }

  /** Whether a sender waits for room. */
  get isWanted(): boolean {
    return this.#room === "wanted" || this.#room === "full"
  }

  get hasEnded(): boolean {
    return this.#room === "ended"
  }

  /** Records that a sender found no room. */
  want(): void {
    if (this.#room === "free") this.#room = "wanted"
  }

  refuse(): void {
    if (this.#room !== "ended") this.#room = "full"
  }

  /** Accepts messages again if there is room. Whoever waits for it is told later. */
  reopen(): void {
    if (this.#room === "full" && this.hasRoom) this.#room = "wanted"
  }

  /** Returns whether a sender was waiting for room and there is some now. */
  regain(): boolean {
    if (!this.isWanted || !this.hasRoom) return false
    this.#room = "free"
    return true
  }

  end(): void {
    this.#room = "ended"
  }
}
