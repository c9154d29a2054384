/** Generates pseudo-random numbers from a seed (sfc32). */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = stream | 0
    for (let i = 0; i < 12; i++) this.#next()
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** Returns a number from 0 up to, but not including, 1. */
  fraction(): number {
    return this.#next() / 2 ** 32
  }

  /** Returns an integer from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end)
  }

  /** Returns an integer from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** Picks an item by its weight. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    const total = items.reduce((sum, [weight]) => sum + weight, 0)
    let at = this.fraction() * total
    for (const [weight, item] of items) {
      at -= weight
      if (at < 0) return item
    }
    return (items.at(-1) as readonly [number, T])[1]
  }

  /** Returns an integer from `min` to `max`, with smaller ones more likely. */
  skewed(min: number, max: number): number {
    return Math.floor(min * ((max + 1) / min) ** this.fraction())
  }

  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items]
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      ;[result[i], result[j]] = [result[j] as T, result[i] as T]
    }
    return result
  }

  /** Returns a generator whose numbers do not depend on how many this one has returned. */
  fork(stream: number): Random {
    return new Random(this.#a ^ Math.imul(stream + 1, 0x9e3779b1), stream)
  }
}
