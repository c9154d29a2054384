/** What the codec is meant to reach. Printed, not asserted: it depends on the machine. */
import { targetLine } from "./format.mjs"
import { NATIVE, OURS, PEERS } from "./implementations.mjs"
import { speedRatio } from "./table.mjs"

/** @typedef {import("./table.mjs").Cell} Cell */

const KIB = 1024

/**
 * @typedef {object} Target
 * @property {string} what
 * @property {(cell: Cell) => boolean} applies
 * @property {(cell: Cell) => number} value
 * @property {number} limit
 * @property {boolean} [lowIsGood]  the value is to stay below the limit, not above
 */

/** @param {"encode" | "decode"} operation */
const atLeast16KiB =
  (operation) =>
  (/** @type {Cell} */ { parameters }) =>
    parameters.operation === operation && parameters.size >= 16 * KIB

/** @type {Target[]} */
const TARGETS = [
  {
    what: "encode from 16 KiB, × native",
    applies: atLeast16KiB("encode"),
    value: (cell) => speedRatio(cell, NATIVE),
    limit: 0.85,
  },
  {
    what: "decode from 16 KiB, × native",
    applies: atLeast16KiB("decode"),
    value: (cell) => speedRatio(cell, NATIVE),
    limit: 0.6,
  },
  ...PEERS.map((name) => ({
    what: `everything, × ${name}`,
    applies: (/** @type {Cell} */ cell) => name in cell.by,
    value: (/** @type {Cell} */ cell) => speedRatio(cell, name),
    limit: 1,
  })),
  {
    what: "1 KiB, × lz4-napi",
    applies: ({ parameters }) => parameters.size === KIB,
    value: (cell) => speedRatio(cell, "lz4-napi"),
    limit: 2,
  },
  {
    what: "64 B, µs a call",
    applies: ({ parameters }) => parameters.size === 64,
    value: (cell) => cell.by[OURS].median,
    limit: 0.3,
    lowIsGood: true,
  },
]

/** A line for each target: the worst cell decides. @param {readonly Cell[]} cells */
export function targetLines(cells) {
  return TARGETS.flatMap(({ what, applies, value, limit, lowIsGood = false }) => {
    const measured = cells.filter(applies).map((cell) => ({ cell, reached: value(cell) }))
    if (measured.length === 0) return []
    const isWorse = (/** @type {number} */ a, /** @type {number} */ b) =>
      lowIsGood ? a > b : a < b
    const missed = measured.filter(({ reached }) => isWorse(reached, limit))
    const worst = measured.reduce((a, b) => (isWorse(b.reached, a.reached) ? b : a))
    const where = `at worst (${worst.cell.name}); missed in ${missed.length} of ${measured.length}`
    const goal = `${lowIsGood ? "<" : "≥"} ${limit}`
    return [targetLine(what, goal, `${worst.reached.toFixed(2)} ${where}`, missed.length === 0)]
  })
}

/** @param {number} medianMs */
export const firstLoadLine = (medianMs) =>
  targetLine(
    "first load, ms",
    "< 10",
    `${medianMs.toFixed(2)} (import and Codec.create)`,
    medianMs < 10,
  )
