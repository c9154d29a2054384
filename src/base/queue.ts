/** Maximum number of empty slots at the front before the items move up. */
const EMPTY_MAX = 1024

/** A queue in an array whose front is cleared as it is read, instead of shifted. */
export class Queue<T> {
  #items: (T | undefined)[] = []
  #front = 0

  get length(): number {
    return this.#items.length - this.#front
  }

  *[Symbol.iterator](): Generator<T> {
    for (let i = this.#front; i < this.#items.length; i++) yield this.#items[i] as T
  }

  push(item: T): void {
    this.#items.push(item)
  }

  first(): T | undefined {
    return this.#items[this.#front]
  }

  shift(): T | undefined {
    const items = this.#items
    const front = this.#front
    if (front === items.length) return undefined
    const item = items[front]
    items[front] = undefined
    this.#front = front + 1
    if (this.#front === items.length) {
      items.length = 0
      this.#front = 0
    } else if (this.#front > EMPTY_MAX && this.#front * 2 > items.length) {
      this.#items = items.slice(this.#front)
      this.#front = 0
    }
    return item
  }

  clear(): void {
    this.#items = []
    this.#front = 0
  }
}
