/** The report of the links benchmark. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { barChart, shortNumber } from "../lib/svg.mjs"
import { FIXED, OMQ_TOKIO, OURS, PYOMQ, TCP } from "../peers/ends.mjs"
import { colourOf, runsOfEach } from "./tables.mjs"

const HEADINGS = ["", "msg/s", "MB/s", "× tcp", "% on the wire", "CPU s/GB, sender / receiver"]

/** Returns the fixed option with the highest rate. @param {Run} run @param {string} cell */
export function bestFixed(run, cell) {
  const rate = (/** @type {string} */ name) => run.get(`${cell}: messages`, name)?.median ?? 0
  const [first, ...rest] = Object.keys(FIXED)
  const best = rest.reduce((a, b) => (rate(b) > rate(a) ? b : a), first)
  return rate(best) > 0 ? best : undefined
}

/** Divides the rate of the default by that of the best fixed option. @param {Run} run @param {string} cell */
export function overBestFixed(run, cell) {
  const best = bestFixed(run, cell)
  return best === undefined ? undefined : run.ratio(`${cell}: messages`, OURS, best)
}

/**
 * Compares the default with the alternatives.
 * @param {Run} run @param {string | undefined} pyomq  its version, of which there are two
 * @returns {import("../lib/format.mjs").Table}
 */
function defaults(run, pyomq) {
  const shown = (/** @type {number | undefined} */ ratio) =>
    ratio === undefined ? "—" : digits(ratio)
  const rows = run.cells.map((cell) => [
    cell,
    bestFixed(run, cell)?.slice(`${OURS}, `.length) ?? "—",
    shown(overBestFixed(run, cell)),
    ...[TCP, PYOMQ, OMQ_TOKIO].map((other) => shown(run.ratio(`${cell}: messages`, OURS, other))),
  ])
  const named = (/** @type {string} */ other) =>
    pyomq && other === PYOMQ ? other.replace("pyomq", `pyomq ${pyomq}`) : other
  const heads = ["", "best fixed option", "default ÷ best fixed option"]
  return {
    title: "Messages per second of the default",
    names: 2,
    rows: [[...heads, ...[TCP, PYOMQ, OMQ_TOKIO].map((other) => `÷ ${named(other)}`)], ...rows],
  }
}

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
    "runs. Both ends have the same options. “× tcp” is the message rate divided by that of tcp:// of zeromq.js; dictionaries have 2 KiB. Parts of 128 KiB are not put into arenas. " +
    'The fixed options are levels 0, 3, 9 and "none", with and without arenas.',

  tables(measurements) {
    const run = new Run(measurements)
    return [
      defaults(run, measurements[0]?.versions?.pyomq),
      ...run.cells.map((cell) => ({
        title: cell,
        names: 1,
        rows: [HEADINGS, ...run.implementations.flatMap((name) => row(run, cell, name))],
      })),
    ]
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
