/** The results in README.md: where compression pays, and what it costs. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { OURS, TCP, ZSTD } from "../peers/ends.mjs"
import { BROKER_CPU, MEDIAN, ROUTER } from "./quantities.mjs"
import { ONE_AT_A_TIME, QUIET } from "./schemes.mjs"

/** @typedef {import("../lib/results.mjs").Bench} Bench */
/** @typedef {import("../lib/results.mjs").Line} Line */
/** @typedef {Partial<Record<Bench, readonly Line[]>>} Newest */
/** @typedef {{ bench: Bench, cell: string, what: string, quantity: string }} Row */

const SCHEMES = [TCP, OURS, ZSTD]
const NAMES = ["`tcp://`", "`lz4+tcp://`", "`zstd+tcp://`"]

/** @type {readonly Row[]} */
const MORE_IS_BETTER = [
  ...["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"].map((network) => ({
    bench: /** @type {const} */ ("schemes"),
    cell: `${network}, json 128 KiB`,
    what: `${network}, 128 KiB`,
    quantity: "messages",
  })),
  { bench: "curve", cell: "json 1 KiB", what: "CURVE, 1 KiB", quantity: "messages" },
  { bench: "services", cell: "64 clients, 4 KiB", what: "64 clients, 4 KiB", quantity: "answers" },
]

/** @type {readonly Row[]} */
const LESS_IS_BETTER = [
  { bench: "schemes", cell: ONE_AT_A_TIME, what: "1 KiB, there and back", quantity: MEDIAN },
  {
    bench: "services",
    cell: "8 × 1 KiB",
    what: "an answer beside a flood",
    quantity: `${ROUTER}, ${MEDIAN}`,
  },
  { bench: "schemes", cell: QUIET, what: "an idle connection", quantity: "bound side" },
]

/** The message whose processor time is told, and where a broker passes it on. */
const KIB = 128
const SENT = `1 Gbit/s, json ${KIB} KiB`
const PASSED_ON = `PUSH to PULL, ${KIB} KiB`
/** How a broker that compresses has to be set. */
const BROKERS = [TCP, `${OURS}, level 0`, `${ZSTD}, level 1`]

/** Returns the tables of README.md, a sentence about costs, and the lines of results that they come from. @param {Newest} newest */
export function summaryOf(newest) {
  /** @type {Line[]} */
  const lines = []
  const table = (/** @type {string} */ title, /** @type {readonly Row[]} */ rows) => [
    [title, ...NAMES],
    ...rows.flatMap(({ bench, cell, what, quantity }) => {
      const run = new Run(newest[bench] ?? [])
      const found = SCHEMES.map((name) => run.get(`${cell}: ${quantity}`, name))
      if (!found[0] || !found[1]) return []
      lines.push(/** @type {Line} */ (found[1]))
      return [[what, ...found.map((one) => (one ? `${shortNumber(one.median)} ${one.unit}` : ""))]]
    }),
  ]
  const more = table("more is better", MORE_IS_BETTER)
  const less = table("less is better", LESS_IS_BETTER)
  return { more, less, costs: costsOf(newest), lines }
}

/** Says what processor time a message takes at each place. @param {Newest} newest */
function costsOf({ schemes = [], brokers = [] }) {
  const run = new Run(schemes)
  const broker = new Run(brokers)
  const costs = SCHEMES.flatMap((name, i) => {
    const ends = ["sender", "receiver"].map((end) => run.get(`${SENT}: CPU of the ${end}`, name))
    const between = broker.get(`${PASSED_ON}: ${BROKER_CPU}`, BROKERS[i])
    const [sender, receiver] = ends
    if (!sender || !receiver || !between) return []
    // Of s/GB.
    const us = (/** @type {number} */ value) => digits((value * KIB * 1024) / 1000)
    const all = `${us(sender.median)}, ${digits(between.median)} and ${us(receiver.median)} µs`
    return [`${all} over ${NAMES[i]}`]
  })
  if (costs.length < SCHEMES.length) return undefined
  return `Processor time of a message of ${KIB} KiB at 1 Gbit/s, at its sender, a broker and its receiver: ${costs.join(", ")}.`
}
