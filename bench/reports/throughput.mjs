/** The report of the throughput benchmark. */
import { digits, sizeName } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { lineChart, shortNumber } from "../lib/svg.mjs"
import { byImplementation, runsOfEach, seriesOf } from "./tables.mjs"

/** @typedef {import("./tables.mjs").Report} Report */

const PAYLOADS = { lorem: "Lorem ipsum with UUIDs", json: "JSON log lines", random: "random bytes" }

/** Returns the MB/s of plaintext. @param {Run} run @param {string} cell @param {string} implementation */
function plainRate(run, cell, implementation) {
  const messages = run.get(`${cell}: messages`, implementation)
  return messages && (messages.median * Number(messages.parameters.size)) / 1e6
}

/** @type {Report} */
export const throughput = {
  introduction: (measurements) =>
    `PUSH to PULL, two processes on the loopback interface; medians of ${runsOfEach(measurements)} runs. Loopback ` +
    "is the one network that compression cannot make faster. “Nothing compressed” is the same format with " +
    "all parts sent plain. A contestant with one name is at both ends.",

  tables(measurements) {
    const run = new Run(measurements)
    const of = (/** @type {string} */ cell, /** @type {string} */ who) => ({
      plain: plainRate(run, cell, who),
      get: (/** @type {string} */ quantity) => run.get(`${cell}: ${quantity}`, who)?.median,
    })
    const pair =
      (/** @type {string} */ what) => (/** @type {string} */ cell, /** @type {string} */ who) => {
        const { get } = of(cell, who)
        const [sender, receiver] = [get(`${what} of the sender`), get(`${what} of the receiver`)]
        return sender === undefined || receiver === undefined
          ? undefined
          : `${digits(sender)} / ${digits(receiver)}`
      }
    return [
      byImplementation(run, "Messages per second", (cell, who) => {
        const messages = of(cell, who).get("messages")
        return messages === undefined ? undefined : shortNumber(messages)
      }),
      byImplementation(run, "MB/s of plaintext", (cell, who) => {
        const { plain } = of(cell, who)
        return plain === undefined ? undefined : digits(plain)
      }),
      byImplementation(run, "MB/s on the wire", (cell, who) => {
        const { plain, get } = of(cell, who)
        return plain === undefined ? undefined : digits((plain * (get("wire") ?? 100)) / 100)
      }),
      byImplementation(run, "CPU seconds per GB: sender / receiver", pair("CPU")),
      byImplementation(run, "Peak memory in MB: sender / receiver", pair("memory")),
    ]
  },

  plots(measurements) {
    const run = new Run(measurements)
    return Object.entries(PAYLOADS).flatMap(([payload, what]) => {
      const cells = run.cells.filter((cell) => cell.startsWith(`${payload} `))
      if (cells.length === 0) return []
      const series = seriesOf(run, cells, (cell, name) => {
        const rate = plainRate(run, cell, name)
        return rate ? [Number(run.parameters(`${cell}: messages`).size), rate] : undefined
      })
      return [
        {
          name: `throughput-${payload}`,
          ...lineChart({
            title: `Loopback, ${what}: MB/s of plaintext`,
            x: "size of a message",
            y: "MB/s",
            xName: sizeName,
            series,
          }),
        },
      ]
    })
  },
}
