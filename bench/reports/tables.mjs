/** The common part of all reports. */
import { COLOURS } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"

/** @typedef {import("../lib/format.mjs").Table} Table */
/** @typedef {import("../lib/results.mjs").Measurement} Measurement */
/** @typedef {import("../lib/run.mjs").Run} Run */

/** @typedef {{ name: string, title: string, svg: string }} Plot  a file */

/**
 * The report of a benchmark.
 * @typedef {object} Report
 * @property {(measurements: readonly Measurement[]) => string} introduction  a paragraph
 * @property {(measurements: readonly Measurement[]) => Table[]} tables
 * @property {(measurements: readonly Measurement[]) => Plot[]} plots
 */

/**
 * Returns the colour of an implementation. Ours and the reference have the same colours in all charts.
 * @param {string} name @param {number} position  among the contestants
 */
export const colourOf = (name, position) =>
  name === OURS ? 0 : name === TCP ? 1 : 2 + (position % (COLOURS - 2))

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
 * Returns a function that makes a table of the medians of one quantity, without empty rows.
 * @param {Run} run  whose measurements are named "cell: quantity"
 */
export const mediansOf =
  (run) =>
  /** @param {string} title @param {string} quantity @param {(value: number) => string} format */
  (title, quantity, format) =>
    withoutEmptyRows(
      byImplementation(run, title, (cell, who) => {
        const measurement = run.get(`${cell}: ${quantity}`, who)
        return measurement && format(measurement.median)
      }),
    )

/** Leaves out rows without a result. @param {Table} table @returns {Table} */
export function withoutEmptyRows({ title, names, rows: [heads, ...cells] }) {
  const measured = cells.filter((row) => row.some((text, i) => i > 0 && text !== "—"))
  return { title, names, rows: [heads, ...measured] }
}

/** Returns the number of runs of each cell. @param {readonly Measurement[]} measurements */
export const runsOfEach = (measurements) => Math.max(...measurements.map(({ runs }) => runs))
