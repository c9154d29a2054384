/** The report of the codec benchmark. */
import { NATIVE, NODE_ZSTD, OURS, OURS_INTO, OURS_ZSTD, PEERS } from "../codec/implementations.mjs"
import { digits, sizeName, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart } from "../lib/svg.mjs"
import { runsOfEach, seriesOf } from "./tables.mjs"

/** @typedef {import("../lib/results.mjs").Measurement} Measurement */

/** @param {Run} run @param {string} cell @param {string} name */
function peer(run, cell, name) {
  const measurement = run.get(cell, name)
  if (!measurement) return "—"
  return `${digits(measurement.median)} (${digits(speedRatio(run, cell, name))} ×)`
}

/** Divides our speed by another implementation's. @param {Run} run @param {string} cell @param {string} other */
export const speedRatio = (run, cell, other) => run.ratio(cell, other, OURS) ?? Number.NaN

const HEADINGS = [
  "payload",
  "dictionary",
  `${OURS} µs`,
  "MB/s",
  `${NATIVE} µs`,
  "× native",
  `${OURS_INTO} µs`,
  "× native",
  ...PEERS.map((name) => `${name} µs`),
  `${OURS_ZSTD} µs`,
  `${NODE_ZSTD} µs`,
]

/** Returns the cells of the row for encoding and decoding into the caller's array. @param {Run} run @param {string} cell */
function intoOf(run, cell) {
  const into = run.get(cell, OURS_INTO)
  return into
    ? [withSpread(into), digits(run.ratio(cell, NATIVE, OURS_INTO) ?? Number.NaN)]
    : ["—", "—"]
}

/** Returns the cells of the row for Zstandard. @param {Run} run @param {string} cell */
function zstdOf(run, cell) {
  const [ours, theirs] = [OURS_ZSTD, NODE_ZSTD].map((name) => run.get(cell, name))
  const factor = run.ratio(cell, NODE_ZSTD, OURS_ZSTD)
  return [
    ours ? withSpread(ours) : "—",
    theirs && factor ? `${digits(theirs.median)} (${digits(factor)} ×)` : "—",
  ]
}

/** @param {Run} run @param {string} cell @returns {string[]} */
function row(run, cell) {
  const { payload, size, dictionary } = run.parameters(cell)
  const [ours, native] = [OURS, NATIVE].map((name) => run.get(cell, name))
  if (!ours || !native) return []
  return [
    `${payload} ${sizeName(Number(size))}`,
    dictionary ? sizeName(Number(dictionary)) : "—",
    withSpread(ours),
    digits(Number(size) / ours.median),
    withSpread(native),
    digits(speedRatio(run, cell, NATIVE)),
    ...intoOf(run, cell),
    ...PEERS.map((name) => peer(run, cell, name)),
    ...zstdOf(run, cell),
  ]
}

/** Returns the cells of one operation. @param {Run} run @param {string} operation */
const cellsOf = (run, operation) =>
  run.cells.filter((cell) => run.parameters(cell).operation === operation)

/** @type {import("./tables.mjs").Report} */
export const codec = {
  introduction: (measurements) =>
    `Microseconds per call, median (minimum–maximum) of ${runsOfEach(measurements)} runs of ` +
    `${measurements[0].parameters.milliseconds} ms; MB/s of plaintext. “× native” is the speed of ${OURS} divided by ` +
    `that of ${NATIVE} (gcc -O3, with the same copies). “${OURS_INTO}” writes into one array of the caller. After ${PEERS.join(", ")}, the factor is how many times as ` +
    `fast ${OURS} is. Below the compression threshold ${OURS} and native do not compress; the others ` +
    "always do.",

  tables(measurements) {
    const run = new Run(measurements)
    return ["encode", "decode"].flatMap((operation) => {
      const rows = cellsOf(run, operation).map((cell) => row(run, cell))
      return rows.length > 0 ? [{ title: operation, names: 2, rows: [HEADINGS, ...rows] }] : []
    })
  },

  plots(measurements) {
    const run = new Run(measurements)
    return ["encode", "decode"].flatMap((operation) => {
      const cells = cellsOf(run, operation).filter((cell) => {
        const { payload, dictionary } = run.parameters(cell)
        return payload === "json" && dictionary === 0
      })
      if (cells.length === 0) return []
      const plot = {
        name: `codec-${operation}`,
        ...lineChart({
          title: `${operation}, JSON log lines, no dictionary: MB/s of plaintext`,
          x: "size of a part",
          y: "MB/s",
          xName: sizeName,
          series: seriesOf(run, cells, (cell, name) => {
            const measurement = run.get(cell, name)
            const size = Number(run.parameters(cell).size)
            return measurement && [size, size / measurement.median]
          }),
        }),
      }
      return [plot]
    })
  },
}
