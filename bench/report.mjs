/** Writes the tables of the newest benchmark runs into README.md: `node bench/report.mjs`. */
import { readFileSync, writeFileSync } from "node:fs"

import { markdown } from "./format.mjs"
import { NATIVE, OURS, PEERS } from "./implementations.mjs"
import { newestRun } from "./results.mjs"
import * as codec from "./table.mjs"
import * as transport from "./transport/table.mjs"

/** Where and when it was. @param {any} measurement */
const circumstances = ({ date, commit, machine, versions }) =>
  `${date.slice(0, 10)}, ${machine.cpu} (${machine.cores} cores), ${machine.os}, ` +
  `${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")}` +
  `${commit ? `, commit ${commit.slice(0, 10)}` : ""}.`

/** @param {any[]} measurements */
function codecReport(measurements) {
  const { parameters, runs } = measurements[0]
  const cells = codec.cellsOf(measurements)
  const table = (/** @type {string} */ operation) => {
    const rows = cells.filter((cell) => cell.parameters.operation === operation).map(codec.row)
    return `**${operation}**\n\n${markdown([codec.HEADINGS, ...rows])}`
  }
  const load = measurements.find(({ name }) => name === "first load")
  return [
    `Microseconds per call, median (minimum–maximum) of ${runs} rounds of ${parameters.milliseconds} ms; ` +
      `MB/s of plaintext. “× native” is the speed of ${OURS} over that of ${NATIVE} (gcc -O3, the same copies); ` +
      `behind each of ${PEERS.join(", ")} stands how many times as fast ${OURS} is. Below the compression ` +
      `threshold ${OURS} and native pass the part through; the others always compress.`,
    table("encode"),
    table("decode"),
    `First load (import and \`Codec.create\`): ${load.median.toFixed(1)} ms ` +
      `(${load.minimum.toFixed(1)}–${load.maximum.toFixed(1)}).`,
    circumstances(measurements[0]),
  ].join("\n\n")
}

/** @param {any[]} measurements */
function transportReport(measurements) {
  return [
    `Two processes on the loopback interface; median (minimum–maximum) of ${measurements[0].runs} runs. ` +
      "Messages are Lorem ipsum with UUIDs in it. “× tcp” is what it is as a multiple of tcp:// of " +
      "zeromq.js; “same thread” is `{ thread: false }`. Loopback is the one network that " +
      "compression cannot make faster.",
    markdown(transport.rows(transport.cellsOf(measurements))),
    circumstances(measurements[0]),
  ].join("\n\n")
}

const readme = new URL("../README.md", import.meta.url)
let text = readFileSync(readme, "utf8")
for (const [bench, report] of /** @type {const} */ ([
  ["codec", codecReport],
  ["transport", transportReport],
])) {
  const marked = new RegExp(`(<!-- bench:${bench} -->\n)[\\s\\S]*?(<!-- /bench:${bench} -->)`)
  if (!marked.test(text)) {
    console.error(`README.md has no <!-- bench:${bench} --> … <!-- /bench:${bench} --> to fill.`)
    process.exit(1)
  }
  const measurements = newestRun(bench)
  if (measurements.length === 0) continue // not run yet
  const filled = report(measurements)
  text = text.replace(marked, (_, open, close) => `${open}\n${filled}\n\n${close}`)
}
writeFileSync(readme, text)
