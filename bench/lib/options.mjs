/** Reads the options that all benchmarks have. */
import { readArgs } from "../../scripts/lib/args.mjs"
import { fail } from "../../scripts/lib/run.mjs"

/** @typedef {{ quick: boolean, only: string, runs: number, stored: boolean }} Options */

const QUICK_RUNS = 2
/** Minimum number of runs for results to be stored. */
const STORED_RUNS = 5

/**
 * @param {string} name  of the benchmark
 * @param {string} what  a description for --help
 * @param {number} [usualRuns]
 * @returns {Options}
 */
export function readOptions(name, what, usualRuns = STORED_RUNS) {
  const { quick, only, runs } = readArgs(
    `usage: npm run bench:${name} -- [options]

${what}

All contestants take turns in every run. A full benchmark replaces its measurements in
bench/results.jsonl; npm run bench:report writes them into bench/RESULTS.md.

  --quick       a short, rough run; nothing is stored
  --only TEXT   only cells with TEXT in their names; nothing is stored
  --runs N      the number of runs (default ${usualRuns}, with --quick ${QUICK_RUNS}); fewer than
                ${STORED_RUNS} are not stored
  --help`,
    {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      runs: { type: "string" },
    },
  )
  const number = Number(runs ?? (quick ? QUICK_RUNS : usualRuns))
  if (!Number.isInteger(number) || number < 1)
    fail(`--runs ${runs}: must be a whole number of at least 1`)
  return { quick, only, runs: number, stored: !quick && !only && number >= STORED_RUNS }
}
