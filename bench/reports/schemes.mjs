/** The report of the schemes benchmark. */
import { digits, withSpread } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { barChart, shortNumber } from "../lib/svg.mjs"
import { FIXED_ZSTD, OURS, PYOMQ_ZSTD, PYOMQ_ZSTD_1, TCP, ZSTD } from "../peers/ends.mjs"
import { byName, runsOfEach } from "./tables.mjs"

/** Returns the contestant with the highest rate. @param {Run} run @param {string} cell @param {readonly string[]} names */
export function fastest(run, cell, names) {
  const rate = (/** @type {string} */ name) => run.get(`${cell}: messages`, name)?.median ?? 0
  const best = names.reduce((a, b) => (rate(b) > rate(a) ? b : a))
  return rate(best) > 0 ? best : undefined
}

/** Divides our rate over zstd+tcp:// by that of the fastest of some contestants. @param {Run} run @param {string} cell @param {readonly string[]} names @param {string} [who] */
export function overFastest(run, cell, names, who = ZSTD) {
  const best = fastest(run, cell, names)
  return best === undefined ? undefined : run.ratio(`${cell}: messages`, who, best)
}

/** The cells without a link: round trips of compressed messages, and idle connections. */
export const ONE_AT_A_TIME = "json 1 KiB, there and back"
export const QUIET = "an idle connection of 1000"

export const PYOMQS = [PYOMQ_ZSTD, PYOMQ_ZSTD_1]

const shown = (/** @type {number | undefined} */ ratio) =>
  ratio === undefined ? "—" : digits(ratio)

/** The picture of README.md: contestants, and networks. */
const SHOWN_SCHEMES = [
  { who: TCP, name: "tcp://", colour: 1 },
  { who: OURS, name: "lz4+tcp://", colour: 0 },
  { who: ZSTD, name: "zstd+tcp://", colour: 2 },
]
const SHOWN_LINKS = ["100 Mbit/s", "1 Gbit/s"]

/** @type {import("./tables.mjs").Report} */
export const schemes = {
  introduction: (measurements) =>
    "PUSH to PULL between two network namespaces, the link between them shaped by `tc`; medians of " +
    `${runsOfEach(measurements)} runs. Both ends have the same options. Round trips, on one machine, are compressed at ` +
    "level 0 of LZ4 and 1 of Zstandard.",

  tables(measurements) {
    const isOverLink = (/** @type {{ name: string }} */ { name }) =>
      ![ONE_AT_A_TIME, QUIET].some((cell) => name.startsWith(`${cell}: `))
    const run = new Run(measurements.filter(isOverLink))
    const others = new Run(measurements.filter((one) => !isOverLink(one)))
    const rate = (
      /** @type {string} */ cell,
      /** @type {string} */ who,
      /** @type {string} */ other,
    ) => shown(run.ratio(`${cell}: messages`, who, other))
    return [
      {
        title: "Messages per second over zstd+tcp://, by default",
        names: 2,
        rows: [
          [
            "",
            "best fixed level",
            "default ÷ best fixed level",
            `÷ ${TCP}`,
            `÷ ${OURS}`,
            "÷ pyomq's",
          ],
          ...run.cells.map((cell) => [
            cell,
            fastest(run, cell, Object.keys(FIXED_ZSTD))?.slice(`${ZSTD}, `.length) ?? "—",
            shown(overFastest(run, cell, Object.keys(FIXED_ZSTD))),
            rate(cell, ZSTD, TCP),
            rate(cell, ZSTD, OURS),
            shown(overFastest(run, cell, PYOMQS)),
          ]),
        ],
      },
      ...run.cells.map((cell) => ({
        title: cell,
        names: 1,
        rows: [
          ["", "msg/s", `× ${OURS}`, "% on the wire", "CPU s/GB, sender / receiver"],
          ...run.implementations.flatMap((name) => {
            const get = (/** @type {string} */ what) => run.get(`${cell}: ${what}`, name)
            const [messages, wire] = [get("messages"), get("wire")]
            const [sender, receiver] = [get("CPU of the sender"), get("CPU of the receiver")]
            if (!messages || !sender || !receiver) return []
            return [
              [
                name,
                withSpread(messages, shortNumber),
                rate(cell, name, OURS),
                wire ? digits(wire.median) : "—",
                `${digits(sender.median)} / ${digits(receiver.median)}`,
              ],
            ]
          }),
        ],
      })),
      ...(others.names.length > 0 ? [byName(others, "Without a link")] : []),
    ]
  },

  plots(measurements) {
    const run = new Run(measurements)
    const bars = (/** @type {string} */ link) =>
      SHOWN_SCHEMES.flatMap(({ who, name, colour }) => {
        const messages = run.get(`${link}, json 128 KiB: messages`, who)
        return messages ? [{ name, colour, value: messages.median }] : []
      })
    const groups = SHOWN_LINKS.map((name) => ({ name, bars: bars(name) })).filter(
      (group) => group.bars.length > 0,
    )
    if (groups.length === 0) return []
    const title = "JSON of 128 KiB over a network: messages a second"
    return [{ name: "schemes", ...barChart({ title, unit: "msg/s", groups }) }]
  },
}
