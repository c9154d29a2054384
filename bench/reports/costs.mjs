/** The report of what a byte of a stranger's can cost. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { ACCEPTING_PLAIN, ON_THREADS, OURS, TCP } from "../peers/ends.mjs"
import { BYTE_CPU, BYTE_MEMORY } from "./quantities.mjs"
import { quantityTables, runsOfEach } from "./tables.mjs"

/** @typedef {import("../lib/results.mjs").Measurement} Measurement */

/** @type {import("./tables.mjs").Report} */
export const costs = {
  introduction: (measurements) =>
    "What a stranger sends, again and again, in as few bytes as possible: the CPU time of a PULL or XPUB that receives all, " +
    "and the peak memory of one that receives nothing and holds what its limits allow, for each byte on the wire, those of " +
    `the handshake included. Median (minimum–maximum) of ${runsOfEach(measurements)} runs, memory in new processes each time.`,

  tables: (measurements) =>
    quantityTables(
      measurements,
      [
        ["CPU, µs for a byte", BYTE_CPU, digits],
        ["Memory, bytes for a byte", BYTE_MEMORY, digits],
      ],
      withSpread,
    ),
}

/** The columns of SECURITY.md's table: quantity and contestant. */
const COLUMNS = /** @type {const} */ ([
  ["CPU, µs", BYTE_CPU, OURS],
  ["with `thread: true`", BYTE_CPU, ON_THREADS],
  ["from `tcp://`", BYTE_CPU, ACCEPTING_PLAIN],
  ["libzmq", BYTE_CPU, TCP],
  ["memory, bytes", BYTE_MEMORY, OURS],
  ["with `thread: true`", BYTE_MEMORY, ON_THREADS],
  ["from `tcp://`", BYTE_MEMORY, ACCEPTING_PLAIN],
  ["libzmq", BYTE_MEMORY, TCP],
])

/** Returns the rows of SECURITY.md's table, with medians. @param {readonly Measurement[]} measurements */
export function costRows(measurements) {
  const run = new Run(measurements)
  const shown = (/** @type {Measurement | undefined} */ one) => (one ? digits(one.median) : "—")
  return [
    ["", ...COLUMNS.map(([title]) => title)],
    ...run.cells.map((cell) => [
      cell,
      ...COLUMNS.map(([, quantity, who]) => shown(run.get(`${cell}: ${quantity}`, who))),
    ]),
  ]
}
