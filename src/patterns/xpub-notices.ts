import { type Link, LinkedList } from "../base/linked-list.js"
import { Queue } from "../base/queue.js"
import type { Message } from "./message.js"
import { type QueuedMessage, unpacked } from "./packed-message.js"
import type { Pipe } from "./pipe.js"
import type { QueuedParts } from "./queued-parts.js"

/** Limits on queued notices and on the bytes of their topics. Beyond either, the queue is long. */
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

/** The messages of a pipe that the program has not received. The queue has an entry for each. */
export class PipeMessages {
  #pipe: Pipe | undefined
  /** The messages of a pipe that has ended. */
  readonly #rest = new Queue<QueuedMessage>()
  /** Counts the parts of those as well. */
  readonly #queued: QueuedParts

  constructor(pipe: Pipe, queued: QueuedParts) {
    this.#pipe = pipe
    this.#queued = queued
  }

  /** Returns whether there is a message. There is none if the pipe was dropped with its messages. */
  hasMessage(): boolean {
    return this.#pipe ? this.#pipe.checkRead() : this.#rest.length > 0
  }

  read(): Message {
    if (!this.#pipe) {
      const message = this.#rest.shift() as QueuedMessage
      this.#queued.removed(message.length)
      return unpacked(message)
    }
    const message = this.#pipe.read() as Message
    this.#pipe.checkRead() // so that the pipe reports the next message
    return message
  }

  /** Takes all messages out of the pipe, which ends it. */
  takeOut(): void {
    const pipe = this.#pipe
    this.#pipe = undefined
    for (const message of pipe?.takeAll() ?? []) {
      this.#queued.added(message.length)
      this.#rest.push(message)
    }
  }
}

export type Entry = Notice | PipeMessages

/**
 * The queue of notices and messages that an XPUB program has not received yet, in order.
 *
 * A program may never receive, yet its peers' subscriptions must be read. So while the queue is
 * long, a cancellation removes the subscription that it cancels, if the program has not received
 * that, and notices that change nothing are not queued. The notices that remain are bounded by the
 * topics that peers are subscribed to and those that the program knows of. The messages are bounded
 * by the high-water marks of their pipes.
 */
export class Notices {
  readonly #queue = new LinkedList<Entry>()
  readonly #queued: QueuedParts
  #length = 0
  #topicBytes = 0
  readonly #messages = new WeakMap<Pipe, PipeMessages>()
  /**
   * The subscriptions queued since the queue became long, by pipe if `perPipe` is set and by topic;
   * undefined while it is not long.
   */
  #subscriptions: Map<Pipe | undefined, Map<string, Link<Entry>>> | undefined

  /** @param queued counts the parts of messages. */
  constructor(queued: QueuedParts) {
    this.#queued = queued
  }

  first(): Entry | undefined {
    return this.#queue.first?.item
  }

  push(notice: Notice): void {
    if (this.#length < NOTICES_MAX && this.#topicBytes <= TOPIC_BYTES_MAX) {
      this.#subscriptions = undefined
      this.#append(notice)
    } else if (notice.isChange) this.#pushLong(notice)
  }

  #pushLong(notice: Notice): void {
    const { subscribe, topic, pipe, perPipe } = notice
    const key = perPipe ? pipe : undefined
    this.#subscriptions ??= new Map()
    let links = this.#subscriptions.get(key)
    if (subscribe) {
      if (!links) {
        links = new Map()
        this.#subscriptions.set(key, links)
      }
      links.set(topic, this.#append(notice))
      return
    }
    const link = links?.get(topic)
    if (link) this.#remove(link)
    else this.#append(notice)
  }

  #append(notice: Notice): Link<Entry> {
    this.#length++
    this.#topicBytes += notice.topic.length
    return this.#queue.push(notice)
  }

  /** Adds an entry for a message that the pipe is about to queue. */
  pushMessageOf(pipe: Pipe): void {
    let messages = this.#messages.get(pipe)
    if (!messages) {
      messages = new PipeMessages(pipe, this.#queued)
      this.#messages.set(pipe, messages)
    }
    this.#queue.push(messages)
  }

  shift(): Entry | undefined {
    const { first } = this.#queue
    if (first) this.#remove(first)
    return first?.item
  }

  #remove(link: Link<Entry>): void {
    this.#queue.remove(link)
    const { item } = link
    if (item instanceof PipeMessages) return
    const { topic, pipe, perPipe } = item
    this.#length--
    this.#topicBytes -= topic.length
    const key = perPipe ? pipe : undefined
    const links = this.#subscriptions?.get(key)
    if (links?.get(topic) !== link) return
    links.delete(topic)
    if (links.size === 0) this.#subscriptions?.delete(key)
  }

  /** Takes the messages out of a pipe that is ending, so that it can end before they are received. */
  takeOut(pipe: Pipe): void {
    this.#messages.get(pipe)?.takeOut()
  }
}
