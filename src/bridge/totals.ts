import type { Traffic } from "../codec/codec.js"
import type { ConnectionCounts } from "../transport/transport.js"

/** Traffic of all links, including closed ones. */
export class Totals {
  /** Counts of links that are still open. */
  readonly #live = new Map<number, () => ConnectionCounts>()
  /** Counts of all others. */
  readonly #past: Record<"sent" | "received", Traffic> = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0 },
    received: { messages: 0, plainBytes: 0, wireBytes: 0 },
  }

  begin(link: number, counts: () => ConnectionCounts): void {
    this.#live.set(link, counts)
  }

  /** Adds the final counts of a link to the past ones. */
  end(link: number): void {
    const counts = this.#live.get(link)
    if (!counts) return
    this.#live.delete(link)
    add(this.#past.sent, counts().sent)
    add(this.#past.received, counts().received)
  }

  total(way: "sent" | "received"): Traffic {
    const total = { ...this.#past[way] }
    for (const counts of this.#live.values()) add(total, counts()[way])
    return total
  }
}

function add(total: Traffic, { messages, plainBytes, wireBytes }: Traffic): void {
  total.messages += messages
  total.plainBytes += plainBytes
  total.wireBytes += wireBytes
}
