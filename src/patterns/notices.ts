import { Queue } from "../transport/queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"

/** Notices that wait, and bytes of their topics, before those that cancel each other are dropped. */
const NOTICES_MAX = 1 << 16
const TOPIC_BYTES_MAX = 16 << 20

/** A subscription or a cancellation that a program is to hear of. */
export interface Notice {
  readonly subscribe: boolean
  /** One character for each byte, which takes less memory than a buffer. */
  readonly topic: string
  readonly pipe: Pipe
  /** Whether it matters which pipe: if not, the first subscription and the last cancellation count. */
  readonly perPipe: boolean
  /** Whether it changes what the program knows, unlike a second subscription to the same topic. */
  readonly isChange: boolean
}

/** Something for a program to receive: a notice, a pipe with a message, or one of a pipe that is gone. */
export type Waiting = Notice | Pipe | Message

export function isNotice(waiting: Waiting): waiting is Notice {
  return "topic" in waiting
}

/**
 * Notices and messages of peers, in order.
 *
 * A program may never receive, and its peers are to be heard all the same. So where very many notices
 * wait, a subscription that was cancelled before the program heard of it is dropped, with its
 * cancellation, and so are notices that change nothing. What is left is bounded by the topics that
 * peers are subscribed to and those that the program has heard of. Messages are bounded by their pipes.
 */
export class Notices {
  #queue = new Queue<Waiting>()
  #topicBytes = 0
  #max = NOTICES_MAX
  #maxBytes = TOPIC_BYTES_MAX

  get length(): number {
    return this.#queue.length
  }

  first(): Waiting | undefined {
    return this.#queue.first()
  }

  push(waiting: Waiting): void {
    this.#queue.push(waiting)
    if (!isNotice(waiting)) return
    this.#topicBytes += waiting.topic.length
    if (this.#queue.length > this.#max || this.#topicBytes > this.#maxBytes) this.#compact()
  }

  shift(): Waiting | undefined {
    const waiting = this.#queue.shift()
    if (waiting && isNotice(waiting)) this.#topicBytes -= waiting.topic.length
    return waiting
  }

  /** Takes the messages that wait in a pipe out of it. */
  takeOut(pipe: Pipe): void {
    for (let i = this.#queue.length; i > 0; i--) {
      const first = this.#queue.shift()
      const waiting = first === pipe ? pipe.read() : first
      if (waiting) this.#queue.push(waiting)
    }
  }

  #compact(): void {
    const kept: (Waiting | undefined)[] = []
    /** Places of subscriptions in `kept`, by pipe where it matters, and by topic. */
    const subscriptions = new Map<Pipe | undefined, Map<string, number>>()
    for (let waiting = this.#queue.shift(); waiting; waiting = this.#queue.shift()) {
      if (!isNotice(waiting)) {
        kept.push(waiting)
        continue
      }
      const { subscribe, topic, pipe, perPipe, isChange } = waiting
      if (!isChange) continue
      const key = perPipe ? pipe : undefined
      let places = subscriptions.get(key)
      if (!places) {
        places = new Map()
        subscriptions.set(key, places)
      }
      const place = places.get(topic)
      if (subscribe) places.set(topic, kept.push(waiting) - 1)
      else if (place === undefined) kept.push(waiting)
      else {
        kept[place] = undefined
        places.delete(topic)
      }
    }
    this.#queue = new Queue()
    this.#topicBytes = 0
    for (const waiting of kept) {
      if (!waiting) continue
      this.#queue.push(waiting)
      if (isNotice(waiting)) this.#topicBytes += waiting.topic.length
    }
    // Not before as many more have come: this takes as long as there are notices.
    this.#max = Math.max(NOTICES_MAX, 2 * this.#queue.length)
    this.#maxBytes = Math.max(TOPIC_BYTES_MAX, 2 * this.#topicBytes)
  }
}
