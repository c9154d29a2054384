import type { Traffic } from "../../codec/traffic.js"
import { addTraffic } from "../../codec/traffic.js"

/** Topics whose traffic is kept, between two times at which the smaller half of them is dropped. */
const TOPICS_MAX = 1 << 14

/**
 * Traffic by topic, of the topics with the most bytes on the wire. If there are too many, the smaller
 * half is added to the others now and then, so a topic that is dropped and comes again counts from
 * there on.
 */
export class Topics {
  #topics = new Map<string, Traffic>()
  /** Traffic of topics that were dropped; undefined if all are there. */
  others: Traffic | undefined

  add(topic: string, traffic: Traffic): void {
    const known = this.#topics.get(topic)
    if (known) {
      addTraffic(known, traffic)
      return
    }
    if (this.#topics.size === TOPICS_MAX) this.#drop()
    this.#topics.set(topic, { ...traffic })
  }

  /** Returns the topics, those with the most bytes on the wire first. */
  get sorted(): [topic: string, traffic: Traffic][] {
    return [...this.#topics].sort(([, a], [, b]) => b.wireBytes - a.wireBytes)
  }

  #drop(): void {
    const sorted = this.sorted
    this.#topics = new Map(sorted.splice(0, TOPICS_MAX >> 1))
    this.others ??= { messages: 0, plainBytes: 0, wireBytes: 0 }
    for (const [, traffic] of sorted) addTraffic(this.others, traffic)
  }
}
