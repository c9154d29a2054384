// Durations in little memory, however many there are.

/** Buckets for each doubling: a quantile is at most 0.6 % off. */
const BUCKETS = 64

/** A summary of durations, in nanoseconds. */
export interface DurationSummary {
  /** Number of durations. */
  count: number
  /** The shortest one. */
  min: number
  /** The middle one, at most 0.6 % off. */
  median: number
  /** 99 % are not longer than this, at most 0.6 % off. */
  p99: number
  /** The longest one. */
  max: number
  /** The average. */
  mean: number
}

export class Durations {
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = 0
  readonly #buckets = new Map<number, number>()

  /** Adds a duration, in nanoseconds; 0 or more. */
  add(nanoseconds: number): void {
    this.#count++
    this.#sum += nanoseconds
    this.#min = Math.min(this.#min, nanoseconds)
    this.#max = Math.max(this.#max, nanoseconds)
    const bucket = nanoseconds < 1 ? -1 : Math.floor(Math.log2(nanoseconds) * BUCKETS)
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1)
  }

  copy(): Durations {
    const copy = new Durations()
    copy.#count = this.#count
    copy.#sum = this.#sum
    copy.#min = this.#min
    copy.#max = this.#max
    for (const [bucket, count] of this.#buckets) copy.#buckets.set(bucket, count)
    return copy
  }

  /** Returns undefined if there are no durations. */
  get summary(): DurationSummary | undefined {
    const count = this.#count
    if (count === 0) return undefined
    const [median, p99] = [this.#quantile(0.5), this.#quantile(0.99)]
    return { count, min: this.#min, median, p99, max: this.#max, mean: this.#sum / count }
  }

  /** Returns the smallest duration that at least this share of all does not exceed. */
  #quantile(share: number): number {
    let left = Math.ceil(share * this.#count)
    for (const bucket of [...this.#buckets.keys()].sort((a, b) => a - b)) {
      left -= this.#buckets.get(bucket) as number
      if (left > 0) continue
      const middle = bucket < 0 ? 0 : 2 ** ((bucket + 0.5) / BUCKETS)
      return Math.min(Math.max(middle, this.#min), this.#max)
    }
    return this.#max
  }
}
