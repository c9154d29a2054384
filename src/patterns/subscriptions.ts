/** The first bytes of a topic, one character for each, so that strings compare as bytes do. */
function topicKey(topic: Buffer, length: number = topic.length): string {
  return length === 0 ? "" : topic.toString("latin1", 0, length)
}

function topicBytes(key: string): Buffer {
  return Buffer.from(key, "latin1")
}

/** Topics with the times that each is subscribed to, for a SUB or XSUB (libzmq's trie_t). */
export class Topics {
  readonly #counts = new Map<string, number>()
  /** How many topics there are of each length, so that few prefixes have to be looked up. */
  readonly #lengths = new Map<number, number>()

  add(topic: Buffer): void {
    const key = topicKey(topic)
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    if (count === 0) this.#lengths.set(key.length, (this.#lengths.get(key.length) ?? 0) + 1)
  }

  /** Takes one subscription back; true when it was the last of its topic. */
  remove(topic: Buffer): boolean {
    const key = topicKey(topic)
    const count = this.#counts.get(key)
    if (count === undefined) return false
    if (count > 1) {
      this.#counts.set(key, count - 1)
      return false
    }
    this.#counts.delete(key)
    forget(this.#lengths, key.length)
    return true
  }

  /** Whether a message whose first part this is matches. */
  matches(first: Buffer): boolean {
    for (const length of this.#lengths.keys())
      if (length <= first.length && this.#counts.has(topicKey(first, length))) return true
    return false
  }

  /** Each topic once. */
  *[Symbol.iterator](): Iterator<Buffer> {
    for (const key of [...this.#counts.keys()].sort()) yield topicBytes(key)
  }
}

/** Which of many subscribers want which topics, for a PUB or XPUB (libzmq's mtrie_t). */
export class MultiTopics<T> {
  readonly #topics = new Map<string, Set<T>>()
  readonly #lengths = new Map<number, number>()
  /** Bytes of the topics of each subscriber. */
  readonly #bytes = new Map<T, number>()
  /** The topics of each subscriber. */
  readonly #of = new Map<T, Set<string>>()

  /** Adds a subscription; true when the topic had no subscriber before. */
  add(topic: Buffer, subscriber: T): boolean {
    const key = topicKey(topic)
    let subscribers = this.#topics.get(key)
    const isFirst = !subscribers
    if (!subscribers) {
      subscribers = new Set()
      this.#topics.set(key, subscribers)
      this.#lengths.set(key.length, (this.#lengths.get(key.length) ?? 0) + 1)
    }
    subscribers.add(subscriber)
    let topics = this.#of.get(subscriber)
    if (!topics) {
      topics = new Set()
      this.#of.set(subscriber, topics)
    }
    if (!topics.has(key)) {
      topics.add(key)
      this.#bytes.set(subscriber, (this.#bytes.get(subscriber) ?? 0) + key.length)
    }
    return isFirst
  }

  /** Takes a subscription back; "last" when the topic has no other subscriber. */
  remove(topic: Buffer, subscriber: T): "not found" | "last" | "others" {
    return this.#remove(topicKey(topic), subscriber)
  }

  /** How many topics a subscriber has, and how many bytes they have together. */
  of(subscriber: T): { count: number; bytes: number } {
    const topics = this.#of.get(subscriber)
    return { count: topics?.size ?? 0, bytes: this.#bytes.get(subscriber) ?? 0 }
  }

  /** Takes all subscriptions of one back, and tells of each topic, and whether it was the last. */
  removeAll(subscriber: T, removed: (topic: Buffer, wasLast: boolean) => void): void {
    const topics = this.#of.get(subscriber)
    if (!topics) return
    for (const key of [...topics].sort())
      removed(topicBytes(key), this.#remove(key, subscriber) === "last")
  }

  /** Tells of each subscriber that wants a message whose first part this is; of some repeatedly. */
  match(first: Buffer, matched: (subscriber: T) => void): void {
    for (const length of this.#lengths.keys()) {
      if (length > first.length) continue
      const subscribers = this.#topics.get(topicKey(first, length))
      if (subscribers) for (const subscriber of subscribers) matched(subscriber)
    }
  }

  #remove(key: string, subscriber: T): "not found" | "last" | "others" {
    const subscribers = this.#topics.get(key)
    if (!subscribers?.delete(subscriber)) return "not found"
    const topics = this.#of.get(subscriber) as Set<string>
    topics.delete(key)
    if (topics.size === 0) {
      this.#of.delete(subscriber)
      this.#bytes.delete(subscriber)
    } else this.#bytes.set(subscriber, (this.#bytes.get(subscriber) as number) - key.length)
    if (subscribers.size > 0) return "others"
    this.#topics.delete(key)
    forget(this.#lengths, key.length)
    return "last"
  }
}

function forget(lengths: Map<number, number>, length: number): void {
  const count = lengths.get(length) as number
  if (count === 1) lengths.delete(length)
  else lengths.set(length, count - 1)
}
