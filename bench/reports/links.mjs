/** How the benchmark of links is shown. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { barChart, shortNumber } from "../lib/svg.mjs"
import { OURS, TCP } from "../peers/ends.mjs"
import { colourOf, runsOfEach } from "./tables.mjs"

const HEADINGS = ["", "msg/s", "MB/s", "× tcp", "% on the wire", "CPU s/GB, sender / receiver"]

/** @param {Run} run @param {string} cell @param {string} name */
function row(run, cell, name) {
  const get = (/** @type {string} */ quantity) => run.get(`${cell}: ${quantity}`, name)
  const [messages, wire] = [get("messages"), get("wire")]
  const [sender, receiver] = [get("CPU of the sender"), get("CPU of the receiver")]
  if (!messages || !sender || !receiver) return []
  const ratio = run.ratio(`${cell}: messages`, name, TCP)
  return [
    [
      name,
      withSpread(messages, shortNumber),
      digits((messages.median * Number(messages.parameters.size)) / 1e6),
      ratio === undefined ? "—" : digits(ratio),
      wire ? digits(wire.median) : "—",
      `${digits(sender.median)} / ${digits(receiver.median)}`,
    ],
  ]
}

/** @type {import("./tables.mjs").Report} */
export const links = {
  introduction: (measurements) =>
    `PUSH to PULL between two network namespaces, the link between them shaped by \`tc\`; medians of ${runsOfEach(measurements)} ` +
    "runs. Both ends are alike. “× tcp” is the rate of messages over that of tcp:// of zeromq.js; dictionaries have 2 KiB.",

  tables(measurements) {
    const run = new Run(measurements)
    return run.cells.map((cell) => ({
      title: cell,
      names: 1,
      rows: [HEADINGS, ...run.implementations.flatMap((name) => row(run, cell, name))],
    }))
  },

  plots(measurements) {
    const run = new Run(measurements)
    const kinds = [...new Set(run.cells.map((cell) => cell.split(", ")[1]))]
    return kinds.map((kind) => ({
      name: `links-${kind.replaceAll(" ", "-").toLowerCase()}`,
      ...barChart({
        title: `${kind} over a link: messages per second, × tcp:// of zeromq.js`,
        unit: "×",
        groups: run.cells
          .filter((cell) => cell.endsWith(`, ${kind}`))
          .map((cell) => ({
            name: cell.split(", ")[0],
            bars: run.implementations.flatMap((name, i) => {
              const value = run.ratio(`${cell}: messages`, name, TCP)
              return value === undefined
                ? []
                : [{ name, colour: name.startsWith(OURS) ? 0 : colourOf(name, i), value }]
            }),
          })),
      }),
    }))
  },
}
