/** Measurements as a table: in the terminal and, by report.mjs, in the README. */
import { NATIVE, OURS, PEERS } from "./implementations.mjs"
import { median } from "./measure.mjs"

/** @typedef {import("./results.mjs").Measurement} Measurement */

/**
 * One cell of the benchmark: what was measured, by implementation.
 * @typedef {{ name: string, parameters: Record<string, any>, by: Record<string, Measurement> }} Cell
 */

/** @param {readonly Measurement[]} measurements @returns {Cell[]} */
export function cellsOf(measurements) {
  /** @type {Map<string, Cell>} */
  const cells = new Map()
  for (const measurement of measurements) {
    const { name, parameters, implementation } = measurement
    if (!parameters.operation) continue // not a cell: the first load
    const cell = cells.get(name) ?? { name, parameters, by: {} }
    cell.by[implementation] = measurement
    cells.set(name, cell)
  }
  return [...cells.values()]
}

/**
 * How many times as fast we are. Each round is compared with itself before the
 * median is taken, so that a machine that was slow for a while slows both sides.
 * @param {Cell} cell @param {string} other
 */
export function speedRatio(cell, other) {
  const theirs = cell.by[other].values
  return median(cell.by[OURS].values.map((ours, round) => theirs[round] / ours))
}

/** @param {number} number */
const digits = (number) => number.toFixed(number < 10 ? 2 : number < 100 ? 1 : 0)

/** @param {Measurement} measurement */
const withSpread = ({ median, minimum, maximum }) =>
  `${digits(median)} (${digits(minimum)}–${digits(maximum)})`

/** @param {Cell} cell @param {string} name */
function peer(cell, name) {
  if (!cell.by[name]) return "—"
  return `${digits(cell.by[name].median)} (${digits(speedRatio(cell, name))} ×)`
}

export const HEADINGS = [
  "payload",
  "dictionary",
  `${OURS} µs`,
  "MB/s",
  `${NATIVE} µs`,
  "× native",
  ...PEERS.map((name) => `${name} µs`),
]

/** @param {number} bytes */
export const sizeName = (bytes) =>
  bytes < 1024 ? `${bytes} B` : bytes < 2 ** 20 ? `${bytes / 1024} KiB` : `${bytes / 2 ** 20} MiB`

/** @param {Cell} cell @returns {string[]} */
export function row(cell) {
  const { payload, size, dictionary } = cell.parameters
  return [
    `${payload} ${sizeName(size)}`,
    dictionary ? sizeName(dictionary) : "—",
    withSpread(cell.by[OURS]),
    digits(size / cell.by[OURS].median),
    withSpread(cell.by[NATIVE]),
    digits(speedRatio(cell, NATIVE)),
    ...PEERS.map((name) => peer(cell, name)),
  ]
}

/** Rows in columns for a terminal. @param {readonly string[][]} rows */
export function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
  const line = (/** @type {string[]} */ cells) =>
    cells
      .map((cell, column) =>
        column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
      )
      .join("  ")
  return rows.map(line).join("\n")
}

/** The same as Markdown. @param {readonly string[][]} rows */
export function markdown([headings, ...rows]) {
  const rule = headings.map((_, column) => (column < 2 ? ":--" : "--:"))
  return [headings, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}
