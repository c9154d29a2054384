/** The results in README.md: where compression pays, and what it costs. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"

/** @typedef {import("../lib/results.mjs").Bench} Bench */
/** @typedef {import("../lib/results.mjs").Line} Line */

/** What the rows are about. @type {readonly { bench: Bench, cell: string, what: string }[]} */
const ROWS = [
  ...["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"].map((network) => ({
    bench: /** @type {const} */ ("links"),
    cell: `${network}, json 128 KiB`,
    what: network,
  })),
  { bench: "curve", cell: "json 1 KiB", what: "CURVE, 1 KiB, loopback" },
]

/** Adds the processor time of both ends. @param {Run} run @param {string} cell @param {string} name */
function cpuOf(run, cell, name) {
  const ends = ["sender", "receiver"].map((end) => run.get(`${cell}: CPU of the ${end}`, name))
  return ends.reduce((sum, end) => sum + (end?.median ?? Number.NaN), 0)
}

/**
 * Returns a table that compares this package with zeromq.js, and the lines that it comes from.
 * @param {Partial<Record<Bench, readonly Line[]>>} newest
 */
export function summaryOf(newest) {
  const rows = [["", TCP, OURS, "×", "CPU, ×"]]
  /** @type {Line[]} */
  const lines = []
  for (const { bench, cell, what } of ROWS) {
    const run = new Run(newest[bench] ?? [])
    const name = `${cell}: messages`
    const [theirs, ours] = [run.get(name, TCP), run.get(name, OURS)]
    const ratio = run.ratio(name, OURS, TCP)
    if (!theirs || !ours || ratio === undefined) continue
    lines.push(/** @type {Line} */ (ours))
    const cpu = cpuOf(run, cell, OURS) / cpuOf(run, cell, TCP)
    const rates = [theirs, ours].map(({ median, unit }) => `${shortNumber(median)} ${unit}`)
    rows.push([what, ...rates, digits(ratio), digits(cpu)])
  }
  return { rows, lines }
}
