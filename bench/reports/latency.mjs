/** The report of the latency benchmark. */
import { digits, sizeName, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart } from "../lib/svg.mjs"
import { byImplementation, colourOf, runsOfEach } from "./tables.mjs"

export const RAW_TCP = "TCP of Node, no ZeroMQ"
export const INPROC = "zeromq.js inproc://"

export const QUANTITIES = ["median", "99th percentile", "99.9th percentile"]

/** @type {import("./tables.mjs").Report} */
export const latency = {
  introduction: (measurements) =>
    `Round trips of REQ and REP with Lorem ipsum, in µs: median (minimum–maximum) of ${runsOfEach(measurements)} ` +
    "runs. Two processes on the loopback interface; one process for inproc://.",

  tables(measurements) {
    const run = new Run(measurements)
    return QUANTITIES.map((quantity) =>
      byImplementation(run, `${quantity}, µs`, (cell, who) => {
        const measurement = run.get(`${cell}: ${quantity}`, who)
        return measurement && withSpread(measurement, digits)
      }),
    )
  },

  plots(measurements) {
    const run = new Run(measurements)
    const series = run.implementations.map((name, i) => ({
      name,
      colour: colourOf(name, i),
      points: run.cells.flatMap((cell) => {
        const measurement = run.get(`${cell}: median`, name)
        return measurement
          ? [/** @type {const} */ ([Number(measurement.parameters.size), measurement.median])]
          : []
      }),
    }))
    const title = "Round trip of REQ and REP: median in µs"
    return [
      {
        name: "latency",
        ...lineChart({ title, x: "size of a message", y: "µs", xName: sizeName, series }),
      },
    ]
  },
}
