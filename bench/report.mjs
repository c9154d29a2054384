/** Prints the newest run of every benchmark, and writes it into bench/RESULTS.md. See `--help`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"

import { readArgs } from "../scripts/lib/args.mjs"
import { fail } from "../scripts/lib/run.mjs"
import { compareRuns } from "./lib/comparison.mjs"
import { aligned, digits, terminalTables, withSpread } from "./lib/format.mjs"
import { overview, readme, security } from "./lib/readme.mjs"
import { readResults, resultsOf } from "./lib/results.mjs"
import { reports } from "./reports/reports.mjs"
import { targetLines } from "./targets.mjs"

/** @typedef {import("./lib/results.mjs").Bench} Bench */
/** @typedef {import("./lib/results.mjs").Line} Line */

const { against = "HEAD", only } = readArgs(
  `usage: npm run bench:report -- [options]

Prints the run of each benchmark in bench/results.jsonl, the changes beyond the spread since the run in
an earlier commit, and whether the targets are met. Then writes the tables of bench/RESULTS.md, the table
of README.md and SECURITY.md, and the plots in bench/plots.

  --against COMMIT compare with the results in COMMIT; HEAD by default
  --only BENCH     print only one benchmark: ${Object.keys(reports).join(", ")}
  --help`,
  { against: { type: "string" }, only: { type: "string" } },
)
if (only !== undefined && !(only in reports))
  fail(`--only ${only}: there are ${Object.keys(reports).join(", ")}`)

const results = readResults()
const earlierResults = resultsOf(against)
/** @type {Partial<Record<Bench, Line[]>>} */
const newest = {}

/** @param {Bench} bench @param {readonly Line[]} latest @param {readonly Line[]} earlier */
function print(bench, latest, earlier) {
  const [{ date, commit, dirty }] = latest
  const of = `${commit?.slice(0, 10) ?? "no commit"}${dirty ? " and changes" : ""}`
  console.log(`== ${bench}: ${date}, ${of} ==\n`)
  console.log(`${terminalTables(reports[bench].tables(latest))}\n`)
  printChanges(latest, earlier)
}

/** @param {readonly Line[]} latest @param {readonly Line[]} earlier */
function printChanges(latest, earlier) {
  if (earlier.length === 0 || earlier[0]?.date === latest[0]?.date) {
    console.log(`No other run in ${against} to compare with.\n`)
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
  const latest = results.filter((line) => line.bench === bench)
  if (latest.length === 0) {
    if (!only || only === bench) console.log(`== ${bench}: not measured yet ==\n`)
    continue
  }
  newest[bench] = latest
  if (!only || only === bench)
    print(
      bench,
      latest,
      earlierResults.filter((line) => line.bench === bench),
    )
}
console.log(targetLines(only ? { [only]: newest[/** @type {Bench} */ (only)] } : newest).join("\n"))

const benchReadme = new URL("RESULTS.md", import.meta.url)
const { text, plots } = readme(readFileSync(benchReadme, "utf8"), newest)
writeFileSync(benchReadme, text)
const mainReadme = new URL("../README.md", import.meta.url)
writeFileSync(mainReadme, overview(readFileSync(mainReadme, "utf8"), newest))
const policy = new URL("../SECURITY.md", import.meta.url)
writeFileSync(policy, security(readFileSync(policy, "utf8"), newest))
const directory = new URL("plots/", import.meta.url)
mkdirSync(directory, { recursive: true })
for (const { name, svg } of plots) writeFileSync(new URL(`${name}.svg`, directory), svg)
