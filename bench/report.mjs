/** Writes the table of the newest benchmark run into README.md: `node bench/report.mjs`. */
import { readFileSync, writeFileSync } from "node:fs"

import { NATIVE, OURS, PEERS } from "./implementations.mjs"
import { newestRun } from "./results.mjs"
import { cellsOf, HEADINGS, markdown, row } from "./table.mjs"

const MARKED = /(<!-- bench:codec -->\n)[\s\S]*?(<!-- \/bench:codec -->)/

/** @param {any[]} measurements */
function report(measurements) {
  const { date, commit, machine, versions, parameters } = measurements[0]
  const cells = cellsOf(measurements)
  const table = (/** @type {string} */ operation) => {
    const rows = cells.filter((cell) => cell.parameters.operation === operation).map(row)
    return `**${operation}**\n\n${markdown([HEADINGS, ...rows])}`
  }
  const load = measurements.find(({ name }) => name === "first load")
  return [
    `Microseconds per call, median (minimum–maximum) of ${measurements[0].runs} rounds of ${parameters.milliseconds} ms; ` +
      `MB/s of plaintext. “× native” is the speed of ${OURS} over that of ${NATIVE} (gcc -O3, the same copies); ` +
      `behind each of ${PEERS.join(", ")} stands how many times as fast ${OURS} is. Below the compression ` +
      `threshold ${OURS} and native pass the part through; the others always compress.`,
    table("encode"),
    table("decode"),
    `First load (import and \`Codec.create\`): ${load.median.toFixed(1)} ms ` +
      `(${load.minimum.toFixed(1)}–${load.maximum.toFixed(1)}).`,
    `${date.slice(0, 10)}, ${machine.cpu} (${machine.cores} cores), ${machine.os}, ` +
      `${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")}` +
      `${commit ? `, commit ${commit.slice(0, 10)}` : ""}.`,
  ].join("\n\n")
}

const readme = new URL("../README.md", import.meta.url)
const text = readFileSync(readme, "utf8")
if (!MARKED.test(text)) {
  console.error("README.md has no <!-- bench:codec --> … <!-- /bench:codec --> to fill.")
  process.exit(1)
}
const filled = report(newestRun())
writeFileSync(
  readme,
  text.replace(MARKED, (_, open, close) => `${open}\n${filled}\n\n${close}`),
)
