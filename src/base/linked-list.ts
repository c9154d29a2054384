/** An item of a list, and its neighbours. */
export interface Link<T> {
  readonly item: T
  previous: Link<T> | undefined
  next: Link<T> | undefined
}

/** A queue from which any item can be removed in constant time. */
export class LinkedList<T> {
  #first: Link<T> | undefined
  #last: Link<T> | undefined

  get first(): Link<T> | undefined {
    return this.#first
  }

  push(item: T): Link<T> {
    const previous = this.#last
    const link = { item, previous, next: undefined }
    if (previous) previous.next = link
    else this.#first = link
    this.#last = link
    return link
  }

  remove({ previous, next }: Link<T>): void {
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
  }
}
