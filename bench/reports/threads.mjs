/** The report of the threads benchmark. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { shortNumber } from "../lib/svg.mjs"
import { byImplementation, runsOfEach } from "./tables.mjs"

export const ONE_THREAD = "one thread"
export const TWO_THREADS = "two threads"

export const LONGEST = "longest delay"
export const PERCENTILE = "99th percentile"

/** @type {import("./tables.mjs").Report} */
export const threads = {
  introduction: (measurements) =>
    `PUSH at level 9, on the loopback interface: median (minimum–maximum) of ${runsOfEach(measurements)} runs. Delays are those of ` +
    "the sender's event loop while it sends a steady stream to a PULL in another process, half as many messages as a core " +
    "can compress. They are measured from one run of a timer to the next, and so include its resolution of about 1 ms. " +
    `“To two peers” is JSON of 16 KiB sent as fast as possible: “${ONE_THREAD}” and “${TWO_THREADS}” are \`thread: true\` ` +
    "with `ioThreads` of 1 and 2. The peers read but do not decompress.",

  tables(measurements) {
    const table = (
      /** @type {string} */ title,
      /** @type {string} */ quantity,
      /** @type {(value: number) => string} */ format,
    ) => {
      const run = new Run(measurements.filter(({ name }) => name.endsWith(`: ${quantity}`)))
      if (run.cells.length === 0) return []
      return [
        byImplementation(run, title, (cell, who) => {
          const measurement = run.get(`${cell}: ${quantity}`, who)
          return measurement && withSpread(measurement, format)
        }),
      ]
    }
    return [
      ...table("Longest delay of the event loop, ms", LONGEST, digits),
      ...table("99th percentile of its delays, ms", PERCENTILE, digits),
      ...table("Messages per second", "messages", shortNumber),
    ]
  },

  plots: () => [],
}
