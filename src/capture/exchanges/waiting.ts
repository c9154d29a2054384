import type { Heard } from "./exchange.js"

/** Messages that have the same envelope or id, in order, of which the first are taken. */
interface Same {
  all: Heard[]
  taken: number
}

export interface AllWaiting {
  count: number
}

/** Messages that wait for their question or answer, by envelope or id. */
export class Waiting {
  readonly #byKey = new Map<string, Same>()
  readonly #all: AllWaiting
  #size = 0

  constructor(all: AllWaiting) {
    this.#all = all
  }

  get size(): number {
    return this.#size
  }

  /** The number of those that match the filter. */
  get matching(): number {
    let matching = 0
    for (const { all, taken } of this.#byKey.values())
      for (const { matches } of all.slice(taken)) matching += Number(matches)
    return matching
  }

  get firstKey(): string | undefined {
    const [first] = this.#byKey.keys()
    return first
  }

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  first(key: string): Heard | undefined {
    const same = this.#byKey.get(key)
    return same?.all[same.taken]
  }

  add(key: string, heard: Heard): void {
    const same = this.#byKey.get(key)
    if (same) same.all.push(heard)
    else this.#byKey.set(key, { all: [heard], taken: 0 })
    this.#size++
    this.#all.count++
  }

  /** Takes the oldest one with a key away. */
  take(key: string): void {
    const same = this.#byKey.get(key)
    if (!same) return
    same.taken++
    if (same.taken === same.all.length) this.#byKey.delete(key)
    // Now and then, because this moves all of them.
    else if (2 * same.taken > same.all.length)
      this.#byKey.set(key, { all: same.all.slice(same.taken), taken: 0 })
    this.#size--
    this.#all.count--
  }

  /** Takes all away. Returns the number of those that match the filter. */
  clear(): number {
    const { matching } = this
    this.#all.count -= this.#size
    this.#size = 0
    this.#byKey.clear()
    return matching
  }
}
