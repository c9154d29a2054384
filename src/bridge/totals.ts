import { addTraffic, type Traffic } from "../codec/traffic.js"
import type { ConnectionCounts } from "../transport/transport.js"

/** Traffic of all links, including closed ones. */
export class Totals {
  /** Counts of links that are still open. */
  readonly #open = new Map<number, () => ConnectionCounts>()
  /** Counts of all others. */
  readonly #ended: Record<"sent" | "received", Traffic> = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0 },
    received: { messages: 0, plainBytes: 0, wireBytes: 0 },
  }

  begin(link: number, counts: () => ConnectionCounts): void {
    this.#open.set(link, counts)
  }

  /** Adds the final counts of a link to the past ones. */
  end(link: number): void {
    const counts = this.#open.get(link)
    if (!counts) return
    this.#open.delete(link)
    addTraffic(this.#ended.sent, counts().sent)
    addTraffic(this.#ended.received, counts().received)
  }

  total(direction: "sent" | "received"): Traffic {
    const total = { ...this.#ended[direction] }
    for (const counts of this.#open.values()) addTraffic(total, counts()[direction])
    return total
  }
}
