/** The results in README.md: where compression pays, and what it costs. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"

/** @typedef {import("../lib/results.mjs").Bench} Bench */
/** @typedef {import("../lib/results.mjs").Line} Line */

const NETWORKS = ["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]
/** Processor time of a message, at both ends. */
const BOTH_ENDS = ["CPU of the sender", "CPU of the receiver"]

/**
 * Returns a table that compares this package with zeromq.js, and the lines that it comes from.
 * @param {Partial<Record<Bench, readonly Line[]>>} newest
 */
export function summaryOf({ links = [] }) {
  const run = new Run(links)
  const rows = [["", TCP, OURS, "×", "CPU, ×"]]
  /** @type {Line[]} */
  const lines = []
  for (const network of NETWORKS) {
    const cell = `${network}, json 128 KiB`
    const [theirs, ours] = [TCP, OURS].map((who) => run.get(`${cell}: messages`, who))
    const ratio = run.ratio(`${cell}: messages`, OURS, TCP)
    if (!theirs || !ours || ratio === undefined) continue
    const [theirCpu, ourCpu] = [TCP, OURS].map((who) =>
      BOTH_ENDS.reduce(
        (sum, end) => sum + (run.get(`${cell}: ${end}`, who)?.median ?? Number.NaN),
        0,
      ),
    )
    const rates = [theirs, ours].map(({ median, unit }) => `${shortNumber(median)} ${unit}`)
    rows.push([network, ...rates, digits(ratio), digits(ourCpu / theirCpu)])
    lines.push(/** @type {Line} */ (ours))
  }
  return { rows, lines }
}
