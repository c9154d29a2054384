import { hex } from "../../codec/errors.js"
import { addTraffic, type Traffic } from "../../codec/traffic.js"
import { utf8 } from "../printable.js"

/** Bytes of a topic. Longer ones are cut, and counted together if they are the same up to there. */
export const TOPIC_BYTES = 64

/** The first character of the keys of topics that are not text, which have no such character. */
const BINARY = "\0"

/** Returns a text for the beginning of a topic that no other beginning has. */
export function topicKey(topic: Uint8Array): string {
  const start = topic.subarray(0, TOPIC_BYTES)
  const text = utf8(start)
  return text === undefined || text.includes(BINARY) ? `${BINARY}${hex(start)}` : text
}

/** Returns the beginning of a topic as text, or in hexadecimal after "hex " if it is not UTF-8. */
export function topicName(key: string): { name: string; hex?: true } {
  return key.startsWith(BINARY) ? { name: `hex ${key.slice(1)}`, hex: true } : { name: key }
}

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
