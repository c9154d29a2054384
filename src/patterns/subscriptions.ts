import { Trie, type TrieNode } from "./trie.js"

/** Returns whether a part is a ZMTP 3.0 subscription: 1 subscribes, 0 cancels. */
export function isSubscription(part: Buffer): boolean {
  return part.length > 0 && (part[0] as number) <= 1
}

/** The topics of a SUB or XSUB, with the number of subscriptions to each (libzmq's radix_tree_t). */
export class Topics {
  readonly #counts = new Trie<number>()

  add(topic: Buffer): void {
    const node = this.#counts.add(topic)
    node.value = (node.value ?? 0) + 1
  }

  /** Removes one subscription. Returns whether it was the last to its topic. */
  remove(topic: Buffer): boolean {
    const node = this.#counts.find(topic)
    if (node?.value === undefined) return false
    if (--node.value > 0) return false
    this.#counts.remove(node)
    return true
  }

  /** Returns whether a message with this first part matches a topic. */
  matches(first: Buffer): boolean {
    let node: TrieNode<number> | undefined = this.#counts.root
    for (let at = 0; node; at += node?.prefix.length ?? 0) {
      if (node.value !== undefined) return true
      node = node.next(first, at)
    }
    return false
  }

  /** Yields each topic once. */
  *[Symbol.iterator](): Iterator<Buffer> {
    for (const node of this.#counts) yield node.key
  }
}

/** One subscriber or several. Most topics have one, and a set takes much memory. */
type Subscribers<T> = T | Set<T>

/** The topics of a subscriber, and their total bytes. */
interface Subscribed<T> {
  readonly nodes: Set<TrieNode<Subscribers<T>>>
  bytes: number
}

/** The topics of the subscribers of a PUB or XPUB (libzmq's mtrie_t). */
export class MultiTopics<T> {
  readonly #topics = new Trie<Subscribers<T>>()
  readonly #of = new Map<T, Subscribed<T>>()

  /** Adds a subscription. Returns whether it is the first to its topic. */
  add(topic: Buffer, subscriber: T): boolean {
    const node = this.#topics.add(topic)
    const { value } = node
    if (value === undefined) node.value = subscriber
    else if (value instanceof Set) value.add(subscriber)
    else if (value !== subscriber) node.value = new Set([value, subscriber])
    let subscribed = this.#of.get(subscriber)
    if (!subscribed) {
      subscribed = { nodes: new Set(), bytes: 0 }
      this.#of.set(subscriber, subscribed)
    }
    if (!subscribed.nodes.has(node)) {
      subscribed.nodes.add(node)
      subscribed.bytes += topic.length
    }
    return value === undefined
  }

  /** Removes a subscription. Returns "last" if its topic has no other subscriber. */
  remove(topic: Buffer, subscriber: T): "not found" | "last" | "others" {
    const node = this.#topics.find(topic)
    const subscribed = this.#of.get(subscriber)
    if (!node || !subscribed?.nodes.delete(node)) return "not found"
    subscribed.bytes -= topic.length
    if (subscribed.nodes.size === 0) this.#of.delete(subscriber)
    return this.#remove(node, subscriber)
  }

  /** Returns the number of a subscriber's topics, and their total bytes. */
  of(subscriber: T): { count: number; bytes: number } {
    const subscribed = this.#of.get(subscriber)
    return { count: subscribed?.nodes.size ?? 0, bytes: subscribed?.bytes ?? 0 }
  }

  /**
   * Removes all subscriptions of a subscriber. Calls `removed` with each topic, in order, and
   * whether it was the last subscription to it.
   */
  removeAll(subscriber: T, removed?: (topic: Buffer, wasLast: boolean) => void): void {
    const nodes = this.#of.get(subscriber)?.nodes ?? []
    this.#of.delete(subscriber)
    if (!removed) {
      for (const node of nodes) this.#remove(node, subscriber)
      return
    }
    const topics = Array.from(nodes, (node) => ({ node, text: node.key.toString("latin1") }))
    topics.sort((a, b) => (a.text < b.text ? -1 : 1))
    for (const { node, text } of topics)
      removed(Buffer.from(text, "latin1"), this.#remove(node, subscriber) === "last")
  }

  /**
   * Calls `matched` for each subscriber whose topics match a message with this first part; for some
   * more than once.
   */
  match(first: Buffer, matched: (subscriber: T) => void): void {
    let node: TrieNode<Subscribers<T>> | undefined = this.#topics.root
    for (let at = 0; node; at += node?.prefix.length ?? 0) {
      const { value } = node
      if (value instanceof Set) for (const subscriber of value) matched(subscriber)
      else if (value !== undefined) matched(value)
      node = node.next(first, at)
    }
  }

  #remove(node: TrieNode<Subscribers<T>>, subscriber: T): "last" | "others" {
    const { value } = node
    if (value instanceof Set) {
      value.delete(subscriber)
      if (value.size > 0) return "others"
    }
    this.#topics.remove(node)
    return "last"
  }
}
