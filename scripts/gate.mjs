/**
 * Runs every suite and prints what failed, and the totals on the last line: `N passed, N failed`. A
 * suite that crashes, hangs, runs nothing or skips a test counts as failed. No test is tried twice.
 */
import { readArgs } from "./lib/args.mjs"
import { describe, runSuites } from "./lib/run-suites.mjs"
import { elsewhere, suites } from "./lib/suites.mjs"

const { platforms } = readArgs(
  `usage: .ci/run

Installs what is missing, builds, and runs all suites. (node scripts/gate.mjs runs the suites only.)
  --platforms   (gate.mjs only) runs only the suites for other versions of Node and other platforms, with
                every test of sockets, and with Node 22 too`,
  { platforms: { type: "boolean" } },
)

const { passed, failed, failures, table } = await runSuites(platforms ? elsewhere(true) : suites)
console.table(table)
for (const failure of failures) console.log(`\n${describe(failure)}`)
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0
