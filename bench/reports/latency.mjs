/** The report of the latency benchmark. */
import { digits, sizeName, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart } from "../lib/svg.mjs"
import { MEDIAN, PERCENTILE } from "./quantities.mjs"
import { quantityTables, runsOfEach, seriesOf } from "./tables.mjs"

export const RAW_TCP = "TCP of Node, no ZeroMQ"
export const INPROC = "zeromq.js inproc://"

const QUANTITIES = [MEDIAN, PERCENTILE, "99.9th percentile"]

/** @type {import("./tables.mjs").Report} */
export const latency = {
  introduction: (measurements) =>
    `Round trips of REQ and REP with Lorem ipsum, in µs: median (minimum–maximum) of ${runsOfEach(measurements)} ` +
    "runs. Two processes on the loopback interface; one process for inproc://.",

  tables: (measurements) =>
    quantityTables(
      measurements,
      QUANTITIES.map((quantity) => /** @type {const} */ ([`${quantity}, µs`, quantity, digits])),
      withSpread,
    ),

  plots(measurements) {
    const run = new Run(measurements)
    const series = seriesOf(run, run.cells, (cell, name) => {
      const measurement = run.get(`${cell}: ${MEDIAN}`, name)
      return measurement && [Number(measurement.parameters.size), measurement.median]
    })
    const title = "Round trip of REQ and REP: median in µs"
    return [
      {
        name: "latency",
        ...lineChart({ title, x: "size of a message", y: "µs", xName: sizeName, series }),
      },
    ]
  },
}
