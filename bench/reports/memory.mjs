/** The report of the benchmark of memory. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart } from "../lib/svg.mjs"
import { runsOfEach } from "./tables.mjs"

/** @type {import("./tables.mjs").Report} */
export const memory = {
  introduction: (measurements) =>
    `What one more connection takes, as resident memory of the process and as part of JavaScript's heap: median ` +
    `(minimum–maximum) of ${runsOfEach(measurements)} runs, in new processes each time. The first connection, “idle, 1”, brings the ` +
    "module and the code with it. A busy one is measured at its peak. What the memory of the WebAssembly module, “wasm”, " +
    "grows by is part of the resident memory; the heaps of worker threads are, too, but not of the heap.",

  tables(measurements) {
    const run = new Run(measurements)
    return [
      {
        title: "Memory per connection",
        names: 1,
        rows: [
          ["", "unit", ...run.implementations],
          ...run.names.map((name) => {
            const of = run.implementations.map((who) => run.get(name, who))
            return [
              name,
              of.find(Boolean)?.unit ?? "",
              ...of.map((measurement) => (measurement ? withSpread(measurement, digits) : "—")),
            ]
          }),
        ],
      },
    ]
  },

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
