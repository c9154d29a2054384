/** The options that all benchmarks have. */
import { readArgs } from "../../scripts/lib/args.mjs"
import { fail } from "../../scripts/lib/run.mjs"

/** @typedef {{ quick: boolean, only: string, runs: number, stored: boolean }} Options */

const QUICK_RUNS = 2
/** Fewer are not worth keeping. */
const STORED_RUNS = 5

/**
 * @param {string} name  of the benchmark
 * @param {string} what  it measures, for --help
 * @param {number} [usualRuns]
 * @returns {Options}
 */
export function readOptions(name, what, usualRuns = STORED_RUNS) {
  const { quick, only, runs } = readArgs(
    `usage: npm run bench:${name} -- [options]

${what}

Everything takes its turn in every run. A full benchmark appends its measurements to
bench/results.jsonl; npm run bench:report puts them into bench/README.md.

  --quick       short and rough; nothing is stored
  --only TEXT   only what has TEXT in its name; nothing is stored
  --runs N      runs of everything (default ${usualRuns}, with --quick ${QUICK_RUNS}); fewer than
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
    fail(`--runs ${runs}: a whole number from 1 up is needed`)
  return { quick, only, runs: number, stored: !quick && !only && number >= STORED_RUNS }
}
