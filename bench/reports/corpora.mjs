/** The report of the corpora benchmark. */
import { corpora as all } from "../corpora/corpora.mjs"
import {
  ARENAS,
  AUTO_DICTIONARY,
  DICTIONARY,
  NO_DICTIONARY,
  ZSTD_AUTO_DICTIONARY,
} from "../corpora/modes.mjs"
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { barChart } from "../lib/svg.mjs"
import { runsOfEach } from "./tables.mjs"

/** The contestants in the plot; the tables have more. */
const PLOTTED = [
  "tcp://",
  NO_DICTIONARY,
  DICTIONARY,
  AUTO_DICTIONARY,
  ZSTD_AUTO_DICTIONARY,
  ARENAS,
  "arenas, dictionary of 2 KiB",
  "level 9, dictionary of 2 KiB",
  "pyomq",
  "pyomq, trains a dictionary",
  "zstd 3",
  "zstd 3, dictionary of 2 KiB",
]

const HEADINGS = ["", "% on the wire", "ratio", "encode MB/s", "decode MB/s", "msg/s"]

/** @type {import("./tables.mjs").Report} */
export const corpora = {
  introduction: (measurements) =>
    `Medians of ${runsOfEach(measurements)} runs. Bytes and messages per second are those between two processes on the ` +
    "loopback interface; MB/s are those of the codec. Zstandard at other levels, in Python, is for comparison.",

  tables(measurements) {
    const run = new Run(measurements)
    return all
      .filter(({ name }) => run.cells.includes(name))
      .map(({ name, what }) => ({
        title: `${name}: ${what}`,
        names: 1,
        rows: [
          HEADINGS,
          ...run.implementations.flatMap((mode) => {
            const wire = run.get(`${name}: wire`, mode)
            if (!wire) return []
            const others = ["encode", "decode", "link"].map((quantity) => {
              const measurement = run.get(`${name}: ${quantity}`, mode)
              return measurement ? digits(measurement.median) : "—"
            })
            return [[mode, wire.median.toFixed(1), digits(100 / wire.median), ...others]]
          }),
        ],
      }))
  },

  plots(measurements) {
    const run = new Run(measurements)
    /** @param {string} mode */
    const colour = (mode) => (mode.startsWith("zstd") ? 1 : mode.startsWith("pyomq") ? 4 : 0)
    const groups = all
      .filter(({ name }) => run.cells.includes(name))
      .map(({ name, what }) => ({
        name: `${name}: ${what}`,
        bars: PLOTTED.flatMap((mode) => {
          const wire = run.get(`${name}: wire`, mode)
          return wire ? [{ name: mode, colour: colour(mode), value: wire.median }] : []
        }),
      }))
    return [
      {
        name: "corpora",
        ...barChart({ title: "Small messages: bytes on the wire", unit: "%", groups }),
      },
    ]
  },
}
