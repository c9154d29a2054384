/** Measurements of the transports as a table, and whether they reach what is meant to be reached. */
import { digits, targetLine, withSpread } from "../format.mjs"
import { median } from "../measure.mjs"
import { OURS, SAME_THREAD, TCP } from "./transports.mjs"

/** @typedef {import("../results.mjs").Measurement} Measurement */

/** What was measured, by transport. @typedef {{ name: string, by: Record<string, Measurement> }} Cell */

/** @param {readonly Measurement[]} measurements @returns {Cell[]} */
export function cellsOf(measurements) {
  /** @type {Map<string, Cell>} */
  const cells = new Map()
  for (const measurement of measurements) {
    const { name, implementation } = measurement
    const cell = cells.get(name) ?? { name, by: {} }
    cell.by[implementation] = measurement
    cells.set(name, cell)
  }
  return [...cells.values()]
}

/**
 * Each round is compared with itself before the median is taken, so that a machine that was slow
 * for a while slows both sides.
 * @param {Cell} cell @param {string} transport
 */
function ratio(cell, transport) {
  const theirs = cell.by[TCP].values
  return median(cell.by[transport].values.map((ours, round) => ours / theirs[round]))
}

/** @param {Cell} cell @param {string} transport */
const measured = (cell, transport) => (cell.by[transport] ? withSpread(cell.by[transport]) : "—")

/** @param {Cell} cell @param {string} transport */
const times = (cell, transport) =>
  cell.by[TCP] && cell.by[transport] ? digits(ratio(cell, transport)) : "—"

const HEADINGS = ["", "unit", "tcp://", "lz4+tcp://", "× tcp", "same thread", "× tcp"]

/** @param {readonly Cell[]} cells */
export const rows = (cells) => [
  HEADINGS,
  ...cells.map((cell) => [
    cell.name,
    Object.values(cell.by)[0].unit,
    measured(cell, TCP),
    measured(cell, OURS),
    times(cell, OURS),
    measured(cell, SAME_THREAD),
    times(cell, SAME_THREAD),
  ]),
]

/** @typedef {{ atLeast: number } | { atMost: number }} Limit */

/** Of links on their own thread, as a multiple of tcp://. @type {Record<string, Limit>} */
const RATIOS = {
  "PUSH → PULL 64 B": { atLeast: 0.9 },
  "PUSH → PULL 1 KiB": { atLeast: 0.8 },
  "PUSH → PULL 16 KiB": { atLeast: 0.7 },
  "PUSH → PULL 128 KiB": { atLeast: 0.5 },
  "REQ ↔ REP 64 B, median": { atMost: 2 },
  "idle connection, bound side": { atMost: 1.6 },
  "idle connection, connecting side": { atMost: 1.6 },
}
const WASM = "idle connection, wasm memory"
const WASM_MOST_BYTES = 1024

/** A line for each target. @param {readonly Cell[]} cells */
export const targetLines = (cells) =>
  cells.flatMap((cell) => {
    const limit = RATIOS[cell.name]
    if (limit) return [limitLine(`${cell.name}, × tcp`, limit, ratio(cell, OURS))]
    if (cell.name !== WASM) return []
    return [limitLine(`${WASM}, bytes`, { atMost: WASM_MOST_BYTES }, cell.by[SAME_THREAD].median)]
  })

/** @param {string} what @param {Limit} limit @param {number} reached */
function limitLine(what, limit, reached) {
  const [goal, met] =
    "atLeast" in limit
      ? [`≥ ${limit.atLeast}`, reached >= limit.atLeast]
      : [`≤ ${limit.atMost}`, reached <= limit.atMost]
  return targetLine(what, goal, digits(reached), met)
}
