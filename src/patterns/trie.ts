/** Number of children above which a table finds them faster than a search. */
const SEARCHED_MAX = 8
/**
 * Bytes of a prefix up to which it is copied where nodes are split and joined. A longer one is left
 * as it is: each topic that a peer adds or removes would copy a long topic of another.
 */
const COPIED_MAX = 1024

/** A node of a `Trie`: the bytes that its key adds to its parent's, as a latin1 string, and a value. */
export class TrieNode<V> {
  prefix: string
  parent: TrieNode<V> | undefined
  /** The children, whose prefixes begin with different bytes, in the order of libzmq's radix tree. */
  children: TrieNode<V>[] | undefined
  value: V | undefined
  /** For each byte, 1 more than the index of the child whose prefix begins with it, or 0. */
  #places: Uint16Array | undefined

  constructor(prefix: string, parent: TrieNode<V> | undefined) {
    this.prefix = prefix
    this.parent = parent
  }

  get key(): Buffer {
    let length = 0
    for (let node: TrieNode<V> | undefined = this; node; node = node.parent)
      length += node.prefix.length
    const key = Buffer.allocUnsafe(length)
    for (let node: TrieNode<V> | undefined = this; node; node = node.parent) {
      const { prefix } = node
      for (let i = prefix.length - 1; i >= 0; i--) key[--length] = prefix.charCodeAt(i)
    }
    return key
  }

  /** Returns the child whose prefix is found in `key` at `at`. */
  next(key: Uint8Array, at: number): TrieNode<V> | undefined {
    const { children } = this
    if (children === undefined || at >= key.length) return undefined
    const child = children[this.placeOf(key[at] as number)]
    if (child === undefined) return undefined
    const { prefix } = child
    if (prefix.length > key.length - at) return undefined
    for (let i = 0; i < prefix.length; i++)
      if (prefix.charCodeAt(i) !== key[at + i]) return undefined
    return child
  }

  /**
   * Returns the index of the child whose prefix begins with `byte`; their number if there is none.
   * The node must have children.
   */
  placeOf(byte: number): number {
    const children = this.children as TrieNode<V>[]
    const { length } = children
    if (length <= SEARCHED_MAX) {
      let place = 0
      while (place < length && children[place]?.firstByte !== byte) place++
      return place
    }
    this.#places ??= placesOf(children)
    const place = this.#places[byte] as number
    return place === 0 ? length : place - 1
  }

  append(child: TrieNode<V>): void {
    // Copied: an array that grows in place reserves far more than the few children of most nodes.
    this.children = [...(this.children ?? []), child]
    if (this.#places) this.#places[child.firstByte] = this.children.length
  }

  /** Adds a child before the only other one. */
  prepend(child: TrieNode<V>): void {
    this.children = [child, ...(this.children as TrieNode<V>[])]
  }

  /** Removes a child. As in libzmq, the last one takes its place. */
  removeChild(child: TrieNode<V>): void {
    const children = this.children as TrieNode<V>[]
    const place = this.placeOf(child.firstByte)
    const last = children.pop() as TrieNode<V>
    if (place < children.length) children[place] = last
    if (children.length === 0) this.children = undefined
    if (children.length <= SEARCHED_MAX) this.#places = undefined
    else if (this.#places) {
      this.#places[last.firstByte] = place + 1
      this.#places[child.firstByte] = 0
    }
  }

  /** Replaces a child by one whose prefix begins with the same byte. */
  replace(child: TrieNode<V>, by: TrieNode<V>): void {
    const children = this.children as TrieNode<V>[]
    children[this.placeOf(child.firstByte)] = by
  }

  get firstByte(): number {
    return this.prefix.charCodeAt(0)
  }
}

function placesOf(children: readonly TrieNode<unknown>[]): Uint16Array {
  const places = new Uint16Array(256)
  for (const [i, { firstByte }] of children.entries()) places[firstByte] = i + 1
  return places
}

/** A map with keys of bytes that quickly finds all keys that another key begins with. */
export class Trie<V> {
  readonly root: TrieNode<V> = new TrieNode<V>("", undefined)

  find(key: Buffer): TrieNode<V> | undefined {
    let node: TrieNode<V> | undefined = this.root
    for (let at = 0; node && at < key.length; at += node?.prefix.length ?? 0)
      node = node.next(key, at)
    return node
  }

  /** Returns the node of a key. A new node has no value yet; the caller sets it. */
  add(key: Buffer): TrieNode<V> {
    let node = this.root
    for (let at = 0; at < key.length; ) {
      const child = node.children?.[node.placeOf(key[at] as number)]
      if (child === undefined) {
        const leaf = new TrieNode<V>(key.toString("latin1", at), node)
        // Where libzmq would split a node, the new one comes first.
        if (this.#mayJoin(node)) node.prepend(leaf)
        else node.append(leaf)
        return leaf
      }
      const shared = sharedLength(child.prefix, key, at)
      at += shared
      if (shared === child.prefix.length) {
        node = child
        continue
      }
      node = split(child, shared)
      if (at === key.length) return node
      const leaf = new TrieNode<V>(key.toString("latin1", at), node)
      node.children = [leaf, child]
      return leaf
    }
    return node
  }

  /** Removes the value of a node, and the nodes that this makes unnecessary. */
  remove(node: TrieNode<V>): void {
    node.value = undefined
    let empty = node
    while (empty.parent && empty.value === undefined && empty.children === undefined) {
      const { parent } = empty
      parent.removeChild(empty)
      empty = parent
    }
    if (!this.#mayJoin(empty)) return
    const [child] = empty.children as [TrieNode<V>]
    if (child.prefix.length <= COPIED_MAX) join(child, empty)
  }

  /** Returns whether a node is only there for a single child, which could replace it. */
  #mayJoin(node: TrieNode<V>): boolean {
    return node !== this.root && node.value === undefined && node.children?.length === 1
  }

  /** Yields all nodes with values, in the order in which libzmq sends its subscriptions again. */
  *[Symbol.iterator](): Iterator<TrieNode<V>> {
    const stack = [this.root]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.value !== undefined) yield node
      const { children = [] } = node
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i] as TrieNode<V>)
    }
  }
}

/** Returns the number of bytes that `prefix` has in common with `key` from `at` on. */
function sharedLength(prefix: string, key: Buffer, at: number): number {
  const end = Math.min(prefix.length, key.length - at)
  let length = 0
  while (length < end && prefix.charCodeAt(length) === key[at + length]) length++
  return length
}

/** Inserts a node above `node` that takes over the first `length` bytes of its prefix. */
function split<V>(node: TrieNode<V>, length: number): TrieNode<V> {
  const parent = node.parent as TrieNode<V>
  const upper = new TrieNode<V>(flat(node.prefix.slice(0, length)), parent)
  const lower = node.prefix.slice(length)
  parent.replace(node, upper)
  upper.children = [node]
  node.parent = upper
  node.prefix = lower.length <= COPIED_MAX ? flat(lower) : lower
  return upper
}

/** Replaces `parent` by `node`, its only child. */
function join<V>(node: TrieNode<V>, parent: TrieNode<V>): void {
  const above = parent.parent as TrieNode<V>
  above.replace(parent, node)
  node.parent = above
  node.prefix = flat(parent.prefix + node.prefix)
}

/** Returns a copy of the text: a string made by slicing or joining keeps its sources alive. */
function flat(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1")
}
