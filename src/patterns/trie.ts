/** A key's bytes from the end of its parent's on, one character for each, and what is kept under it. */
export class TrieNode<V> {
  prefix: string
  parent: TrieNode<V> | undefined
  /** In the order of the first bytes of their prefixes, which differ. */
  children: TrieNode<V>[] | undefined
  value: V | undefined

  constructor(prefix: string, parent: TrieNode<V> | undefined) {
    this.prefix = prefix
    this.parent = parent
  }

  /** The bytes of its key. */
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

  /** Finds the child whose prefix is in a key from a place on. */
  next(key: Uint8Array, at: number): TrieNode<V> | undefined {
    const { children } = this
    if (children === undefined || at >= key.length) return undefined
    const child = children[placeOf(children, key[at] as number)]
    if (child === undefined) return undefined
    const { prefix } = child
    if (prefix.length > key.length - at) return undefined
    for (let i = 0; i < prefix.length; i++)
      if (prefix.charCodeAt(i) !== key[at + i]) return undefined
    return child
  }
}

/** Values by keys of bytes, in which those whose keys begin another key are found quickly. */
export class Trie<V> {
  readonly root: TrieNode<V> = new TrieNode<V>("", undefined)

  find(key: Buffer): TrieNode<V> | undefined {
    let node: TrieNode<V> | undefined = this.root
    for (let at = 0; node && at < key.length; at += node?.prefix.length ?? 0)
      node = node.next(key, at)
    return node
  }

  /** Finds the node of a key, or makes one, which is to be given a value. */
  add(key: Buffer): TrieNode<V> {
    let node = this.root
    for (let at = 0; at < key.length; ) {
      const children = node.children ?? []
      const place = placeOf(children, key[at] as number)
      const child = children[place]
      if (child === undefined || child.prefix.charCodeAt(0) !== key[at]) {
        const leaf = new TrieNode<V>(key.toString("latin1", at), node)
        // An array that grows in place reserves far more than the few children that most nodes have.
        node.children = [...children.slice(0, place), leaf, ...children.slice(place)]
        return leaf
      }
      const shared = sharedLength(child.prefix, key, at)
      node = shared < child.prefix.length ? split(child, shared) : child
      at += shared
    }
    return node
  }

  /** Takes the value of a node away, and with it the nodes that are of no use any more. */
  remove(node: TrieNode<V>): void {
    node.value = undefined
    let empty = node
    while (empty.parent && empty.value === undefined && empty.children === undefined) {
      const { parent } = empty
      const children = parent.children as TrieNode<V>[]
      const place = placeOf(children, empty.prefix.charCodeAt(0))
      children.splice(place, 1)
      if (children.length === 0) parent.children = undefined
      empty = parent
    }
    if (empty.parent && empty.value === undefined && empty.children?.length === 1)
      join(empty.children[0] as TrieNode<V>, empty)
  }

  /** All nodes with values, in the order of their keys. */
  *[Symbol.iterator](): Iterator<TrieNode<V>> {
    const stack = [this.root]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.value !== undefined) yield node
      const { children = [] } = node
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i] as TrieNode<V>)
    }
  }
}

/** The place of the child whose prefix begins with a byte, or where it would be. */
function placeOf(children: readonly TrieNode<unknown>[], byte: number): number {
  let low = 0
  let high = children.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((children[middle] as TrieNode<unknown>).prefix.charCodeAt(0) < byte) low = middle + 1
    else high = middle
  }
  return low
}

/** The number of bytes that a prefix has in common with a key from a place on. */
function sharedLength(prefix: string, key: Buffer, at: number): number {
  const end = Math.min(prefix.length, key.length - at)
  let length = 0
  while (length < end && prefix.charCodeAt(length) === key[at + length]) length++
  return length
}

/** Puts a node before another, with the first bytes of its prefix. */
function split<V>(node: TrieNode<V>, length: number): TrieNode<V> {
  const parent = node.parent as TrieNode<V>
  const upper = new TrieNode<V>(flat(node.prefix.slice(0, length)), parent)
  replace(parent, node, upper)
  upper.children = [node]
  node.parent = upper
  node.prefix = flat(node.prefix.slice(length))
  return upper
}

/** Lets a node take the place of its parent, whose only child it is. */
function join<V>(node: TrieNode<V>, parent: TrieNode<V>): void {
  const above = parent.parent as TrieNode<V>
  replace(above, parent, node)
  node.parent = above
  node.prefix = flat(parent.prefix + node.prefix)
}

function replace<V>(parent: TrieNode<V>, child: TrieNode<V>, by: TrieNode<V>): void {
  const children = parent.children as TrieNode<V>[]
  children[placeOf(children, child.prefix.charCodeAt(0))] = by
}

/** The same text by itself: a string that was cut or joined keeps those that it was made of. */
function flat(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1")
}
