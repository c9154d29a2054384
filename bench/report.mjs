/** Prints the newest run of every benchmark, and puts them into bench/README.md. `--help` says more. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"

import { readArgs } from "../scripts/lib/args.mjs"
import { fail } from "../scripts/lib/run.mjs"
import { compareRuns, earlierRun } from "./lib/comparison.mjs"
import { aligned, digits, terminalTables, withSpread } from "./lib/format.mjs"
import { overview, readme } from "./lib/readme.mjs"
import { readResults, runsOf } from "./lib/results.mjs"
import { reports } from "./reports/reports.mjs"
import { targetLines } from "./targets.mjs"

/** @typedef {import("./lib/results.mjs").Bench} Bench */
/** @typedef {import("./lib/results.mjs").Line} Line */

const { against, only } = readArgs(
  `usage: npm run bench:report -- [options]

Prints the newest run of each benchmark in bench/results.jsonl, what has changed beyond the spread
since the run before, and whether the targets are met; then writes the tables of bench/README.md, the
one of README.md, and the plots in bench/plots.

  --against WHICH  compare with the newest earlier run of a commit or of a date, or before that date
                   (2026-11-21, or as much of it as matters)
  --only BENCH     print one benchmark: ${Object.keys(reports).join(", ")}
  --help`,
  { against: { type: "string" }, only: { type: "string" } },
)
if (only !== undefined && !(only in reports))
  fail(`--only ${only}: there are ${Object.keys(reports).join(", ")}`)

const results = readResults()
/** @type {Partial<Record<Bench, Line[]>>} */
const newest = {}

/** @param {Bench} bench @param {readonly Line[][]} runs */
function print(bench, runs) {
  const latest = /** @type {Line[]} */ (runs.at(-1))
  const [{ date, commit, dirty }] = latest
  const of = `${commit?.slice(0, 10) ?? "no commit"}${dirty ? " and changes" : ""}`
  console.log(`== ${bench}: ${date}, ${of} ==\n`)
  console.log(`${terminalTables(reports[bench].tables(latest))}\n`)
  printChanges(latest, earlierRun(runs, against))
}

/** @param {readonly Line[]} latest @param {readonly Line[]} [earlier] */
function printChanges(latest, earlier) {
  if (!earlier) {
    console.log(`No earlier run${against ? ` of ${against}` : ""} to compare with.\n`)
    return
  }
  const [{ date, commit }] = earlier
  const changes = compareRuns(earlier, latest)
  const told = changes.filter(({ verdict }) => verdict !== "same")
  const regressions = told.filter(({ verdict }) => verdict === "regression").length
  console.log(
    `Since ${date}, ${commit?.slice(0, 10) ?? "no commit"}: of ${changes.length} measurements ` +
      `${regressions} are worse, ${told.length - regressions} better, beyond the spread of both.`,
  )
  const rows = told.map(({ name, implementation, before, after, verdict }) => [
    verdict === "regression" ? "REGRESSION" : "better",
    `${name}, ${implementation}`,
    withSpread(before),
    withSpread(after),
    after.unit,
    `× ${digits(after.median / before.median)}`,
  ])
  if (rows.length > 0) console.log(aligned([["", "", "before", "now", "", ""], ...rows]))
  console.log()
}

for (const bench of /** @type {Bench[]} */ (Object.keys(reports))) {
  const runs = runsOf(results, bench)
  if (runs.length === 0) {
    if (!only || only === bench) console.log(`== ${bench}: not measured yet ==\n`)
    continue
  }
  newest[bench] = runs.at(-1)
  if (!only || only === bench) print(bench, runs)
}
console.log(targetLines(only ? { [only]: newest[/** @type {Bench} */ (only)] } : newest).join("\n"))

const benchReadme = new URL("README.md", import.meta.url)
const { text, plots } = readme(readFileSync(benchReadme, "utf8"), newest)
writeFileSync(benchReadme, text)
const mainReadme = new URL("../README.md", import.meta.url)
writeFileSync(mainReadme, overview(readFileSync(mainReadme, "utf8"), newest))
const directory = new URL("plots/", import.meta.url)
mkdirSync(directory, { recursive: true })
for (const { name, svg } of plots) writeFileSync(new URL(`${name}.svg`, directory), svg)
