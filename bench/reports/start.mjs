/** The report of the start benchmark. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { runsOfEach } from "./tables.mjs"

/** @type {import("./tables.mjs").Report} */
export const start = {
  introduction: (measurements) =>
    `Median (minimum–maximum) of ${runsOfEach(measurements)} new processes. “First message” is the time from connecting to ` +
    "receiving it, in one process; “first load” is that of importing the codec and of `Codec.create`. The size “in a page” is " +
    "minified and includes the WebAssembly module.",

  tables(measurements) {
    const run = new Run(measurements)
    const rows = run.names.map((name) => {
      const of = run.implementations.map((who) => run.get(name, who))
      const unit = of.find(Boolean)?.unit ?? ""
      const shown = of.map((measurement) => {
        if (!measurement) return "—"
        return unit === "KB" ? digits(measurement.median) : withSpread(measurement, digits)
      })
      return [name, unit, ...shown]
    })
    return [
      { title: "Start and size", names: 1, rows: [["", "unit", ...run.implementations], ...rows] },
    ]
  },

  plots: () => [],
}
