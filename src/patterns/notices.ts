import { Queue } from "../transport/queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"

/**
 * Limits on queued notices and on the bytes of their topics; beyond them, notices that cancel each
 * other are dropped.
 */
const NOTICES_MAX = 1 << 16
const TOPIC_BYTES_MAX = 16 << 20

/** A subscription or cancellation that the program has not received yet. */
export interface Notice {
  readonly subscribe: boolean
  /** The topic as a latin1 string, which takes less memory than a buffer. */
  readonly topic: string
  readonly pipe: Pipe
  /**
   * Whether each pipe's subscription counts; if not, only the first subscription and the last
   * cancellation of a topic do.
   */
  readonly perPipe: boolean
  /** Whether the notice changes what the program knows; a second subscription to a topic does not. */
  readonly isChange: boolean
}

/** An entry of the queue: a notice, a pipe that has a message, or a message of a pipe that has ended. */
export type Entry = Notice | Pipe | Message

export function isNotice(entry: Entry): entry is Notice {
  return "topic" in entry
}

/**
 * The queue of notices and messages that an XPUB program has not received yet, in order.
 *
 * A program may never receive, yet its peers' subscriptions must be read. So when the queue gets
 * long, it drops each subscription that was cancelled before the program received it, together with
 * its cancellation, and each notice that changes nothing. The notices that remain are bounded by
 * the topics that peers are subscribed to and those that the program knows of. The messages are
 * bounded by the high-water marks of their pipes.
 */
export class Notices {
  #queue = new Queue<Entry>()
  #topicBytes = 0
  #max = NOTICES_MAX
  #maxBytes = TOPIC_BYTES_MAX

  get length(): number {
    return this.#queue.length
  }

  first(): Entry | undefined {
    return this.#queue.first()
  }

  push(entry: Entry): void {
    this.#queue.push(entry)
    if (!isNotice(entry)) return
    this.#topicBytes += entry.topic.length
    if (this.#queue.length > this.#max || this.#topicBytes > this.#maxBytes) this.#compact()
  }

  shift(): Entry | undefined {
    const entry = this.#queue.shift()
    if (entry && isNotice(entry)) this.#topicBytes -= entry.topic.length
    return entry
  }

  /** Replaces each entry of `pipe` by the message itself, so that the pipe can end. */
  takeOut(pipe: Pipe): void {
    for (let i = this.#queue.length; i > 0; i--) {
      const first = this.#queue.shift()
      const entry = first === pipe ? pipe.read() : first
      if (entry) this.#queue.push(entry)
    }
  }

  #compact(): void {
    const kept: (Entry | undefined)[] = []
    /** Indexes of subscriptions in `kept`, by topic, and by pipe where `perPipe` is set. */
    const subscriptions = new Map<Pipe | undefined, Map<string, number>>()
    for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) {
      if (!isNotice(entry)) {
        kept.push(entry)
        continue
      }
      const { subscribe, topic, pipe, perPipe, isChange } = entry
      if (!isChange) continue
      const key = perPipe ? pipe : undefined
      let places = subscriptions.get(key)
      if (!places) {
        places = new Map()
        subscriptions.set(key, places)
      }
      const place = places.get(topic)
      if (subscribe) places.set(topic, kept.push(entry) - 1)
      else if (place === undefined) kept.push(entry)
      else {
        kept[place] = undefined
        places.delete(topic)
      }
    }
    this.#queue = new Queue()
    this.#topicBytes = 0
    for (const entry of kept) {
      if (!entry) continue
      this.#queue.push(entry)
      if (isNotice(entry)) this.#topicBytes += entry.topic.length
    }
    // Compact again only after the queue has doubled, because compacting takes time in proportion
    // to its length.
    this.#max = Math.max(NOTICES_MAX, 2 * this.#queue.length)
    this.#maxBytes = Math.max(TOPIC_BYTES_MAX, 2 * this.#topicBytes)
  }
}
