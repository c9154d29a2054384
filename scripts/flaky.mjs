/** Runs suites of the gate again and again on a busy machine, and lists the tests that ever failed. */
import { spawn } from "node:child_process"
import { availableParallelism } from "node:os"
import { readArgs } from "./lib/args.mjs"
import { fail } from "./lib/run.mjs"
import { describe, runSuites } from "./lib/run-suites.mjs"
import { suites } from "./lib/suites.mjs"

const usage = `usage: npm run flaky -- [--runs N] [--only SUITE]...

Runs the suites of the gate, with as many busy processes beside them as there are cores, and lists
every test that failed, with its first error. The last line has the number of suites that passed
and failed.
  --runs N       how often; 5 by default
  --only SUITE   only this suite, and those that it needs; may be repeated. The suites are:
                 ${suites.map(({ name }) => `"${name}"`).join(", ")}`

const { runs: given = "5", only } = readArgs(usage, {
  runs: { type: "string" },
  only: { type: "string", multiple: true },
})
const runs = Number(given)
if (!Number.isInteger(runs) || runs < 1)
  fail(`--runs ${given}: must be a whole number from 1\n\n${usage}`)
const names = suites.map(({ name }) => name)
for (const name of only ?? [])
  if (!names.includes(name)) fail(`--only ${name}: there is no such suite\n\n${usage}`)

/** Returns the names of a suite and all that it comes after. @param {string} name @returns {string[]} */
const withNeeds = (name) => [
  ...(suites.find((suite) => suite.name === name)?.after ?? []).flatMap(withNeeds),
  name,
]
const wanted = (only ?? names).flatMap(withNeeds)
// What uses only the time that others leave would never end beside busy processes.
const chosen = suites
  .filter(({ name }) => wanted.includes(name))
  .map((suite) => ({ ...suite, cores: suite.cores === 0 ? 1 : suite.cores }))

for (let core = 0; core < availableParallelism(); core++) {
  const busy = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" })
  busy.unref()
  process.on("exit", () => busy.kill("SIGKILL"))
}

/** @type {Map<string, { times: number, first: import("./lib/run-suites.mjs").Failure }>} */
const found = new Map()
const counts = { passed: 0, failed: 0 }
let run = 0
let isInterrupted = false
while (run < runs && !isInterrupted) {
  run++
  const { failures, table, interrupted } = await runSuites(chosen)
  isInterrupted = interrupted
  for (const failure of failures) {
    const key = [failure.suite, failure.file, failure.test].join("\n")
    const known = found.get(key)
    if (known) known.times++
    else found.set(key, { times: 1, first: failure })
  }
  for (const { failed } of table) counts[failed ? "failed" : "passed"]++
  console.table(table)
  console.log(`run ${run} of ${runs}: ${failures.length} failures`)
}

for (const { times, first } of found.values())
  console.log(`\nfailed ${times} of ${run} times: ${describe(first)}`)
console.log(`\n${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed ? 1 : 0
