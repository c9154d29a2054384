/** The weight of the latest measurement in an average. */
const LATEST = 0.4
/** The factor beyond which a measurement is ignored as odd, unless the next one confirms it. */
export const ODD = 1.5

/** Returns whether two measurements differ by less than an odd one does. */
export const isLike = (one: number, other: number): boolean =>
  one <= other * ODD && other <= one * ODD

/** An average in which the latest measurements count most, and single odd ones do not count. */
export class Average {
  value: number | undefined
  #odd: number | undefined
  #isGuess = false

  /** Whether the value is assumed, and was not measured. */
  get isGuess(): boolean {
    return this.#isGuess
  }

  /** Whether the latest measurement was an odd one. */
  get isUnsure(): boolean {
    return this.#odd !== undefined
  }

  /** Assumes a value until the next measurement. */
  guess(value: number | undefined): void {
    this.value = value
    this.#isGuess = true
  }

  add(measured: number): void {
    const { value } = this
    if (value === undefined || this.#isGuess) this.#set(measured)
    else if (isLike(measured, value)) this.#set(value + (measured - value) * LATEST)
    else if (this.#odd !== undefined && isLike(measured, this.#odd)) this.#set(measured)
    else this.#odd = measured
  }

  #set(value: number): void {
    this.value = value
    this.#odd = undefined
    this.#isGuess = false
  }
}
