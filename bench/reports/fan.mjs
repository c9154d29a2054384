/** The report of the fan benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart, shortNumber } from "../lib/svg.mjs"
import { OURS } from "../peers/ends.mjs"
import { byImplementation, colourOf, runsOfEach } from "./tables.mjs"

export const COMPRESSING_ONCE = "compressing it once"

/** CPU time for each message that the hub sends, whatever the number of receivers, or receives. */
export const HUB_CPU = "CPU of the hub"
/** CPU time for each message that a spoke sends or receives. */
export const SPOKES_CPU = "CPU of the spokes"

/** @type {import("./tables.mjs").Report} */
export const fan = {
  introduction: (measurements) =>
    `One socket, the hub, and the given number of others in another process, on the loopback interface; JSON; ` +
    `medians of ${runsOfEach(measurements)} runs. If pyomq or omq-tokio is the hub, the others are ${OURS}. A published ` +
    "message counts once for the hub, and once for each subscriber.",

  tables(measurements) {
    const run = new Run(measurements)
    const table = (
      /** @type {string} */ title,
      /** @type {string} */ quantity,
      /** @type {(value: number) => string} */ format,
    ) =>
      byImplementation(run, title, (cell, who) => {
        const measurement = run.get(`${cell}: ${quantity}`, who)
        return measurement && format(measurement.median)
      })
    return [
      table("Messages delivered per second", "messages", shortNumber),
      table("CPU of the hub, µs per message", HUB_CPU, digits),
      table("CPU of the others, µs per message", SPOKES_CPU, digits),
    ]
  },

  plots(measurements) {
    const run = new Run(measurements)
    const shapes = [...new Set(run.cells.map((cell) => cell.split(", ")[0]))]
    return shapes.map((shape) => {
      const series = run.implementations.flatMap((name, i) => {
        const points = run.cells
          .filter((cell) => cell.startsWith(`${shape}, `))
          .flatMap((cell) => {
            const measurement = run.get(`${cell}: messages`, name)
            return measurement
              ? [/** @type {const} */ ([Number(measurement.parameters.spokes), measurement.median])]
              : []
          })
        return points.length > 0 ? [{ name, colour: colourOf(name, i), points }] : []
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
