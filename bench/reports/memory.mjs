/** The report of the memory benchmark. */
import { Run } from "../lib/run.mjs"
import { lineChart } from "../lib/svg.mjs"
import { byName, runsOfEach } from "./tables.mjs"

/** @type {import("./tables.mjs").Report} */
export const memory = {
  introduction: (measurements) =>
    `Memory of one more connection, as resident memory of the process and as part of JavaScript's heap: median ` +
    `(minimum–maximum) of ${runsOfEach(measurements)} runs, in new processes each time. The first connection, “idle, 1”, includes the ` +
    "module and the code. A busy connection is measured at its peak. Growth of the WebAssembly module's memory, “wasm”, " +
    "is part of the resident memory. So are the heaps of worker threads, which are not part of the heap.",

  tables: (measurements) => [byName(new Run(measurements), "Memory per connection")],

  plots(measurements) {
    const run = new Run(measurements)
    const sides = run.implementations.flatMap((name, i) =>
      ["bound side", "connecting side"].map((side) => ({
        name: `${name}, ${side.split(" ")[0]}`,
        colour: 2 * i + (side === "bound side" ? 0 : 1),
        points: run.cells.flatMap((cell) => {
          const measurement = run.get(`${cell}: ${side}`, name)
          const count = Number(measurement?.parameters.connections)
          return cell.startsWith("idle") && measurement && count > 1 && measurement.median > 0
            ? [/** @type {const} */ ([count, measurement.median])]
            : []
        }),
      })),
    )
    return [
      {
        name: "memory",
        ...lineChart({
          title: "An idle connection: KiB of resident memory",
          x: "connections",
          y: "KiB",
          xName: (count) => count.toLocaleString("en"),
          series: sides.filter(({ points }) => points.length > 0),
        }),
      },
    ]
  },
}
