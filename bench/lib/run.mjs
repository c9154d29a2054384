/** The measurements of one run of a benchmark, by cell and contestant. */
import { ratio } from "./statistics.mjs"

/** @typedef {import("./results.mjs").Measurement} Measurement */

export class Run {
  /** @type {Map<string, Map<string, Measurement>>} */
  #byName = new Map()
  /** The names of the measurements, in order. @type {readonly string[]} */
  names
  /** The contestants, in order. @type {readonly string[]} */
  implementations

  /** @param {readonly Measurement[]} measurements */
  constructor(measurements) {
    for (const measurement of measurements) {
      const { name, implementation } = measurement
      const all = this.#byName.get(name) ?? new Map()
      this.#byName.set(name, all.set(implementation, measurement))
    }
    this.names = [...this.#byName.keys()]
    this.implementations = [...new Set(measurements.map(({ implementation }) => implementation))]
  }

  /** The names without their quantities, if a benchmark measures several. */
  get cells() {
    return [...new Set(this.names.map((name) => name.split(": ", 1)[0]))]
  }

  /** @param {string} name @param {string} implementation */
  get(name, implementation) {
    return this.#byName.get(name)?.get(implementation)
  }

  /** Returns the parameters of a measurement, which all contestants share. @param {string} name */
  parameters(name) {
    const [first] = this.#byName.get(name)?.values() ?? []
    return first?.parameters ?? {}
  }

  /**
   * Divides one implementation's value by another's; undefined if one of them was not measured.
   * @param {string} name @param {string} implementation @param {string} other
   */
  ratio(name, implementation, other) {
    const one = this.get(name, implementation)
    const two = this.get(name, other)
    return one && two && ratio(one, two)
  }
}
