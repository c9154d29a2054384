/** The results in README.md: where compression pays, and what it costs. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"
import { MEDIAN, ROUTER, SERVICE_CPU } from "./quantities.mjs"

/** @typedef {import("../lib/results.mjs").Bench} Bench */
/** @typedef {import("../lib/results.mjs").Line} Line */

/** Processor time of a message, at both ends. */
const BOTH_ENDS = ["CPU of the sender", "CPU of the receiver"]

/**
 * What the rows are about: the quantity that they compare, and those that add up to the processor time.
 * @type {readonly { bench: Bench, cell: string, what: string, quantity?: string, cpu?: readonly string[] }[]}
 */
const ROWS = [
  ...["100 Mbit/s", "1 Gbit/s"].map((network) => ({
    bench: /** @type {const} */ ("links"),
    cell: `${network}, json 128 KiB`,
    what: network,
  })),
  { bench: "curve", cell: "json 1 KiB", what: "CURVE, 1 KiB" },
  {
    bench: "services",
    cell: "64 clients, 4 KiB",
    what: "64 clients, 4 KiB",
    quantity: "answers",
    cpu: [SERVICE_CPU],
  },
  {
    bench: "services",
    cell: "8 × 1 KiB",
    what: "an answer beside a flood",
    quantity: `${ROUTER}, ${MEDIAN}`,
    cpu: [],
  },
]

/** Adds processor times. @param {Run} run @param {readonly string[]} quantities @param {string} name */
const cpuOf = (run, quantities, name) =>
  quantities.reduce((sum, quantity) => sum + (run.get(quantity, name)?.median ?? Number.NaN), 0)

/**
 * Returns a table that compares this package with zeromq.js, and the lines that it comes from.
 * @param {Partial<Record<Bench, readonly Line[]>>} newest
 */
export function summaryOf(newest) {
  const rows = [["", TCP, OURS, "×", "CPU, ×"]]
  /** @type {Line[]} */
  const lines = []
  for (const { bench, cell, what, quantity = "messages", cpu = BOTH_ENDS } of ROWS) {
    const run = new Run(newest[bench] ?? [])
    const name = `${cell}: ${quantity}`
    const [theirs, ours] = [run.get(name, TCP), run.get(name, OURS)]
    const ratio = run.ratio(name, OURS, TCP)
    if (!theirs || !ours || ratio === undefined) continue
    lines.push(/** @type {Line} */ (ours))
    const times = cpu.map((of) => `${cell}: ${of}`)
    const cost = cpuOf(run, times, OURS) / cpuOf(run, times, TCP)
    const rates = [theirs, ours].map(({ median, unit }) => `${shortNumber(median)} ${unit}`)
    rows.push([what, ...rates, digits(ratio), times.length ? digits(cost) : ""])
  }
  return { rows, lines }
}
