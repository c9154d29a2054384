import type { Traffic } from "../codec/codec.js"
import { type CountersPlace, readCounters } from "./protocol.js"

/** What went through links, those that are over included. */
export class Totals {
  /** Of links that are still counted. */
  readonly #live = new Map<number, CountersPlace>()
  /** Of all others. */
  readonly #past: Record<"sent" | "received", Traffic> = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0 },
    received: { messages: 0, plainBytes: 0, wireBytes: 0 },
  }

  begin(link: number, counters: CountersPlace): void {
    this.#live.set(link, counters)
  }

  /** Nothing is counted any more. */
  end(link: number): void {
    const counters = this.#live.get(link)
    if (!counters) return
    this.#live.delete(link)
    add(this.#past.sent, readCounters(counters, "sent"))
    add(this.#past.received, readCounters(counters, "received"))
  }

  total(way: "sent" | "received"): Traffic {
    const total = { ...this.#past[way] }
    for (const counters of this.#live.values()) add(total, readCounters(counters, way))
    return total
  }
}

function add(total: Traffic, { messages, plainBytes, wireBytes }: Traffic): void {
  total.messages += messages
  total.plainBytes += plainBytes
  total.wireBytes += wireBytes
}
