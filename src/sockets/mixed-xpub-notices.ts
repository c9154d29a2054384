import type { Message } from "../patterns/message.js"
import type { TypeOptions } from "../patterns/socket-type.js"

export type Side = "native" | "own"

/**
 * The topics that each side of a mixed XPUB has subscribers for. Each side reports the first
 * subscription to a topic and the last cancellation among its own peers. The program must be
 * notified of the first and the last of both sides together.
 */
export class MixedXpubNotices {
  readonly #options: TypeOptions
  readonly #topics = { native: new Set<string>(), own: new Set<string>() }

  constructor(options: TypeOptions) {
    this.#options = options
  }

  /** Returns whether the program is to receive a message of one side. */
  isForProgram(message: Message, side: Side): boolean {
    const { manual, verbosity } = this.#options
    const [first] = message as [Buffer]
    if (manual || message.length > 1 || first.length === 0 || (first[0] as number) > 1) return true
    const topic = first.toString("latin1", 1)
    const isOthers = this.#topics[side === "own" ? "native" : "own"].has(topic)
    if (first[0] === 1) {
      this.#topics[side].add(topic)
      return !isOthers || verbosity !== "none"
    }
    this.#topics[side].delete(topic)
    return !isOthers || verbosity === "allSubsUnsubs"
  }
}
