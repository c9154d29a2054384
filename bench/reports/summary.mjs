/** The results in README.md. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"

/** @typedef {import("../lib/results.mjs").Bench} Bench */
/** @typedef {import("../lib/results.mjs").Line} Line */

/** @type {readonly { bench: Bench, name: string, what: string }[]} */
const ROWS = [
  {
    bench: "links",
    name: "100 Mbit/s, json 128 KiB: messages",
    what: "100 Mbit/s, JSON of 128 KiB",
  },
  { bench: "links", name: "1 Gbit/s, json 128 KiB: messages", what: "1 Gbit/s, JSON of 128 KiB" },
  { bench: "throughput", name: "lorem 64 B: messages", what: "Loopback, text of 64 B" },
  { bench: "throughput", name: "json 1 KiB: messages", what: "Loopback, JSON of 1 KiB" },
  { bench: "throughput", name: "json 128 KiB: messages", what: "Loopback, JSON of 128 KiB" },
  {
    bench: "fan",
    name: "PUB → SUB 64 B, 64: messages",
    what: "PUB to 64 SUB, 64 B, all deliveries",
  },
  { bench: "latency", name: "64 B: median", what: "REQ/REP round trip, 64 B" },
]

/**
 * Returns a table that compares this package with zeromq.js, and the lines that it comes from.
 * @param {Partial<Record<Bench, readonly Line[]>>} newest
 */
export function summaryOf(newest) {
  const rows = [["", TCP, OURS, "×"]]
  /** @type {Line[]} */
  const lines = []
  for (const { bench, name, what } of ROWS) {
    const run = new Run(newest[bench] ?? [])
    const [theirs, ours] = [run.get(name, TCP), run.get(name, OURS)]
    const ratio = run.ratio(name, OURS, TCP)
    if (!theirs || !ours || ratio === undefined) continue
    lines.push(/** @type {Line} */ (ours))
    const cell = (/** @type {{ median: number, unit: string }} */ { median, unit }) =>
      `${unit === "msg/s" ? shortNumber(median) : digits(median)} ${unit}`
    rows.push([what, cell(theirs), cell(ours), digits(ratio)])
  }
  return { rows, lines }
}
