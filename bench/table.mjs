/** Measurements of the codec as a table: in the terminal and, by report.mjs, in the README. */
import { digits, sizeName, withSpread } from "./format.mjs"
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
