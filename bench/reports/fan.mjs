/** The report of the fan benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart, shortNumber } from "../lib/svg.mjs"
import { OURS } from "../peers/ends.mjs"
import { HUB_CPU, SPOKES_CPU } from "./quantities.mjs"
import { quantityTables, runsOfEach, seriesOf } from "./tables.mjs"

export const COMPRESSING_ONCE = "compressing it once"

/** @type {import("./tables.mjs").Report} */
export const fan = {
  introduction: (measurements) =>
    `One socket, the hub, and the given number of others in another process, on the loopback interface; JSON; ` +
    `medians of ${runsOfEach(measurements)} runs. If pyomq or omq-tokio is the hub, the others are ${OURS}. A published ` +
    "message counts once for the hub, and once for each subscriber.",

  tables: (measurements) =>
    quantityTables(measurements, [
      ["Messages delivered per second", "messages", shortNumber],
      ["CPU of the hub, µs per message", HUB_CPU, digits],
      ["CPU of the others, µs per message", SPOKES_CPU, digits],
    ]),

  plots(measurements) {
    const run = new Run(measurements)
    const shapes = [...new Set(run.cells.map((cell) => cell.split(", ")[0]))]
    return shapes.map((shape) => {
      const cells = run.cells.filter((cell) => cell.startsWith(`${shape}, `))
      const series = seriesOf(run, cells, (cell, name) => {
        const measurement = run.get(`${cell}: messages`, name)
        return measurement && [Number(measurement.parameters.spokes), measurement.median]
      })
      return {
        name: `fan-${shape.replace(" → ", "-").replaceAll(" ", "-").toLowerCase()}`,
        ...lineChart({
          title: `${shape}: messages delivered per second`,
          x: shape.startsWith("PUB") ? "subscribers" : "PUSH sockets",
          y: "msg/s",
          xName: String,
          series,
        }),
      }
    })
  },
}
