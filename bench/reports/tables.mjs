/** The common part of all reports. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { COLOURS } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"

/** @typedef {import("../lib/format.mjs").Table} Table */
/** @typedef {import("../lib/results.mjs").Measurement} Measurement */

/** @typedef {{ name: string, title: string, svg: string }} Plot  a file */

/**
 * The report of a benchmark.
 * @typedef {object} Report
 * @property {(measurements: readonly Measurement[]) => string} introduction  a paragraph
 * @property {(measurements: readonly Measurement[]) => Table[]} tables
 * @property {(measurements: readonly Measurement[]) => Plot[]} [plots]
 */

/**
 * Returns the colour of an implementation. Ours and the reference have the same colours in all charts.
 * @param {string} name @param {number} position  among the contestants
 */
export const colourOf = (name, position) =>
  name === OURS ? 0 : name === TCP ? 1 : 2 + (position % (COLOURS - 2))

/**
 * Returns a line for each implementation, with a point for each cell in which it was measured.
 * @param {Run} run @param {readonly string[]} cells
 * @param {(cell: string, implementation: string) => [x: number, y: number] | undefined} pointOf
 */
export const seriesOf = (run, cells, pointOf) =>
  run.implementations.flatMap((name, i) => {
    const points = cells.flatMap((cell) => {
      const point = pointOf(cell, name)
      return point ? [point] : []
    })
    return points.length > 0 ? [{ name, colour: colourOf(name, i), points }] : []
  })

/**
 * Makes a table with a row for each cell and a column for each implementation.
 * @param {Run} run @param {string} title
 * @param {(cell: string, implementation: string) => string | undefined} content
 * @returns {Table}
 */
export const byImplementation = (run, title, content) => ({
  title,
  names: 1,
  rows: [
    ["", ...run.implementations],
    ...run.cells.map((cell) => [
      cell,
      ...run.implementations.map((implementation) => content(cell, implementation) ?? "—"),
    ]),
  ],
})

/**
 * Makes a table with a row for each measurement's name and unit, and a column for each implementation.
 * @param {Run} run @param {string} title @param {(measurement: Measurement) => string} [show]
 * @returns {Table}
 */
export const byName = (run, title, show = (measurement) => withSpread(measurement, digits)) => ({
  title,
  names: 1,
  rows: [
    ["", "unit", ...run.implementations],
    ...run.names.map((name) => {
      const of = run.implementations.map((who) => run.get(name, who))
      const shown = of.map((measurement) => (measurement ? show(measurement) : "—"))
      return [name, of.find(Boolean)?.unit ?? "", ...shown]
    }),
  ],
})

/** @typedef {(value: number) => string} Format */

/**
 * Makes a table of each quantity that was measured, with the cells and implementations that have it.
 * @param {readonly Measurement[]} measurements  whose names are "cell: quantity"
 * @param {readonly (readonly [title: string, quantity: string, format: Format])[]} quantities
 * @param {(measurement: Measurement, format: Format) => string} [show]  only the median by default
 */
export const quantityTables = (
  measurements,
  quantities,
  show = ({ median }, format) => format(median),
) =>
  quantities.flatMap(([title, quantity, format]) => {
    const run = new Run(measurements.filter(({ name }) => name.endsWith(`: ${quantity}`)))
    if (run.cells.length === 0) return []
    const content = (/** @type {string} */ cell, /** @type {string} */ who) => {
      const measurement = run.get(`${cell}: ${quantity}`, who)
      return measurement && show(measurement, format)
    }
    return [byImplementation(run, title, content)]
  })

/** Returns the number of runs of each cell. @param {readonly Measurement[]} measurements */
export const runsOfEach = (measurements) => Math.max(...measurements.map(({ runs }) => runs))
