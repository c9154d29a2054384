/** A queue from which the item that comes before all others is taken: a binary heap. */
export class Heap<Item extends object> {
  readonly #items: Item[] = []
  readonly #isBefore: (one: Item, other: Item) => boolean

  /** @param isBefore a total order */
  constructor(isBefore: (one: Item, other: Item) => boolean) {
    this.#isBefore = isBefore
  }

  get length(): number {
    return this.#items.length
  }

  /** The item that comes before all others; undefined if there is none. */
  get first(): Item | undefined {
    return this.#items[0]
  }

  /** In no particular order. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values()
  }

  add(item: Item): void {
    const items = this.#items
    let at = items.length
    while (at > 0) {
      const above = (at - 1) >> 1
      const other = items[above] as Item
      if (!this.#isBefore(item, other)) break
      items[at] = other
      at = above
    }
    items[at] = item
  }

  /** Removes the first item. */
  take(): Item | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return first
    let at = 0
    for (let below = 1; below < items.length; below = 2 * at + 1) {
      const right = items[below + 1]
      if (right && this.#isBefore(right, items[below] as Item)) below++
      const other = items[below] as Item
      if (!this.#isBefore(other, last)) break
      items[at] = other
      at = below
    }
    items[at] = last
    return first
  }
}
