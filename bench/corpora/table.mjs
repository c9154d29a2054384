/** Measurements of the corpora as tables, and whether they reach what is meant to be reached. */
import { digits, targetLine } from "../format.mjs"
import { median } from "../measure.mjs"
import { ARENAS, AUTO_DICTIONARY, DICTIONARY, NO_DICTIONARY } from "./modes.mjs"

/** @typedef {import("../results.mjs").Measurement} Measurement */

/** What was measured, by quantity, of one way to send a corpus. */
/** @typedef {{ corpus: string, mode: string, by: Record<string, Measurement> }} Cell */

/** @param {readonly Measurement[]} measurements @returns {Cell[]} */
export function cellsOf(measurements) {
  /** @type {Map<string, Cell>} */
  const cells = new Map()
  for (const measurement of measurements) {
    const { implementation: mode, parameters } = measurement
    const key = `${parameters.corpus} ${mode}`
    const cell = cells.get(key) ?? { corpus: String(parameters.corpus), mode, by: {} }
    cell.by[parameters.quantity] = measurement
    cells.set(key, cell)
  }
  return [...cells.values()]
}

const HEADINGS = ["", "% on the wire", "ratio", "encode MB/s", "decode MB/s", "msg/s"]

/** @param {readonly Cell[]} cells @param {string} corpus */
export const rows = (cells, corpus) => [
  HEADINGS,
  ...cells
    .filter((cell) => cell.corpus === corpus)
    .map(({ mode, by }) => [
      mode,
      by.wire.median.toFixed(1),
      digits(100 / by.wire.median),
      ...["encode", "decode", "link"].map((quantity) =>
        by[quantity] ? digits(by[quantity].median) : "—",
      ),
    ]),
]

/** A line for each target. @param {readonly Cell[]} cells */
export function targetLines(cells) {
  const find = (/** @type {string} */ corpus, /** @type {string} */ mode) =>
    /** @type {Cell} */ (cells.find((cell) => cell.corpus === corpus && cell.mode === mode))
  const measured = (/** @type {string} */ corpus) => cells.some((cell) => cell.corpus === corpus)

  const size = (
    /** @type {string} */ corpus,
    /** @type {string} */ mode,
    /** @type {number} */ most,
  ) => {
    if (!measured(corpus)) return []
    const { wire } = find(corpus, mode).by
    const what = `${corpus}, ${mode}, % on the wire`
    return [targetLine(what, `≤ ${most}`, digits(wire.median), wire.median <= most)]
  }
  const speed = (
    /** @type {string} */ corpus,
    /** @type {string} */ mode,
    /** @type {number} */ least,
  ) => {
    if (!measured(corpus)) return []
    const usual = find(corpus, NO_DICTIONARY).by.link.values
    const ratio = median(
      find(corpus, mode).by.link.values.map((rate, round) => rate / usual[round]),
    )
    const what = `${corpus}, ${mode}, × msg/s of ${NO_DICTIONARY}`
    return [targetLine(what, `≥ ${least}`, digits(ratio), ratio >= least)]
  }
  const training = cells.flatMap(({ corpus, mode, by }) => {
    const measurement = by["× zstd's trainer"]
    if (!measurement) return []
    const what = `${corpus}, ${mode}, × the wire bytes with zstd's trainer`
    return [targetLine(what, "≤ 1.03", measurement.median.toFixed(3), measurement.median <= 1.03)]
  })
  return [
    ...size("tiny", AUTO_DICTIONARY, 45),
    ...size("tiny", ARENAS, 40),
    ...speed("tiny", AUTO_DICTIONARY, 0.9),
    ...speed("tiny", ARENAS, 0.9),
    ...size("small", NO_DICTIONARY, 70),
    ...size("small", DICTIONARY, 40),
    ...training,
  ]
}
