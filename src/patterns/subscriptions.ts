import { sortedInTurns } from "../base/sorted-in-turns.js"
import { Trie, type TrieNode } from "./trie.js"

/** Returns whether a part is a ZMTP 3.0 subscription: 1 subscribes, 0 cancels. */
export function isSubscription(part: Buffer): boolean {
  return part.length > 0 && (part[0] as number) <= 1
}

/** The topics of a SUB or XSUB, with the number of subscriptions to each (libzmq's radix_tree_t). */
export class Topics {
  readonly #counts = new Trie<number>()

  /** Adds one subscription. Returns whether it is the first to its topic. */
  add(topic: Buffer): boolean {
    const node = this.#counts.add(topic)
    const count = node.value ?? 0
    node.value = count + 1
    return count === 0
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

/** Called with a topic that a subscriber has left, and whether it was the last subscription to it. */
type Removed = (topic: Buffer, wasLast: boolean) => void

/**
 * Limits on the topics that one peer may subscribe to, and on their bytes; subscriptions beyond
 * them are ignored.
 */
const TOPICS_MAX = 1 << 18
const TOPICS_MAX_BYTES = 16 << 20
/** Bytes of a topic that count as another step: they take as long to sort as a short topic. */
const STEP_BYTES = 256

/** The topics of the subscribers of a PUB or XPUB (libzmq's mtrie_t). */
export class MultiTopics<T> {
  readonly #topics = new Trie<Subscribers<T>>()
  readonly #of = new Map<T, Subscribed<T>>()
  /** The subscribers whose topics are being removed. */
  readonly #leaving = new Map<T, Removed | undefined>()

  /** Adds a subscription. Returns whether it is the first to its topic. */
  add(topic: Buffer, subscriber: T): boolean {
    this.#finishLeaving(topic)
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
    this.#finishLeaving(topic)
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

  /** Whether all topics are empty, so that no part has to be looked at. */
  get areEmpty(): boolean {
    return this.#topics.root.children === undefined
  }

  /** Returns whether a topic is one too many for a subscriber. */
  isFull(subscriber: T, topic: Buffer): boolean {
    const { count, bytes } = this.of(subscriber)
    return count >= TOPICS_MAX || bytes + topic.length > TOPICS_MAX_BYTES
  }

  /**
   * Returns the work of removing all subscriptions of a subscriber, which yields the number of steps
   * that it took. If `removed` is given, it is called with each topic, in order. Other subscribers are
   * not affected while the work is not done: if one of them subscribes to a topic or cancels it, the
   * leaving subscriber is removed from that topic first.
   */
  removeAll(subscriber: T, removed?: Removed): Iterator<number> {
    const subscribed = this.#of.get(subscriber)
    if (!subscribed) return [].values()
    this.#leaving.set(subscriber, removed)
    return this.#leave(subscriber, subscribed, removed)
  }

  *#leave(
    subscriber: T,
    { nodes }: Subscribed<T>,
    removed: Removed | undefined,
  ): Generator<number> {
    if (removed) {
      for (const item of sortedInTurns(textsOf(nodes))) {
        // The topic may have been removed meanwhile.
        if (item && nodes.delete(item.node))
          removed(Buffer.from(item.text, "latin1"), this.#remove(item.node, subscriber) === "last")
        yield 1 + Math.floor((item?.text.length ?? 0) / STEP_BYTES)
      }
    } else
      for (const node of nodes) {
        nodes.delete(node)
        this.#remove(node, subscriber)
        yield 1
      }
    this.#of.delete(subscriber)
    this.#leaving.delete(subscriber)
  }

  /** Removes a topic from the subscribers that are leaving. */
  #finishLeaving(topic: Buffer): void {
    if (this.#leaving.size === 0) return
    const node = this.#topics.find(topic)
    if (node?.value === undefined) return
    for (const subscriber of this.#leavingFrom(node.value)) {
      this.#of.get(subscriber)?.nodes.delete(node)
      const outcome = this.#remove(node, subscriber)
      this.#leaving.get(subscriber)?.(topic, outcome === "last")
    }
  }

  #leavingFrom(value: Subscribers<T>): T[] {
    if (!(value instanceof Set)) return this.#leaving.has(value) ? [value] : []
    // Either may be large.
    return value.size < this.#leaving.size
      ? [...value].filter((subscriber) => this.#leaving.has(subscriber))
      : [...this.#leaving.keys()].filter((subscriber) => value.has(subscriber))
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

/** Yields nodes with their keys as text, which sorts as bytes do. */
function* textsOf<V>(nodes: Iterable<TrieNode<V>>): Generator<{ node: TrieNode<V>; text: string }> {
  for (const node of nodes) yield { node, text: node.key.toString("latin1") }
}
