/** Runs suites of the gate side by side, because most of them wait more than they compute. */
import { mkdirSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { endWindows } from "./runtimes.mjs"
import { runSideBySide } from "./side-by-side.mjs"
import { directory, runSuite } from "./suite.mjs"

/** @typedef {import("./suites.mjs").GateSuite} GateSuite */
/** @typedef {import("./tally.mjs").Failure & { suite: string }} Failure */
/**
 * @typedef {object} Results
 * @property {number} passed
 * @property {number} failed
 * @property {Failure[]} failures
 * @property {{ suite: string, passed: number, failed: number, seconds: number, cpuSeconds: number | undefined }[]} table
 * @property {boolean} interrupted  whether a signal ended them
 */

/** Time limit for a suite. */
const LIMIT_MINUTES = 50
/** Cores by which suites may need more than there are, because they do not need them all the time. */
const WAITING_CORES = 0.75

/** Maximum number of characters of an error at the end of the gate: some compare megabytes. */
const ERROR_CHARS = 3000

/**
 * Runs suites to their end, each without a second try, and prints the output of each as it ends.
 * @param {GateSuite[]} suites
 * @returns {Promise<Results>}
 */
export async function runSuites(suites) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  /** @type {Results} */
  const results = { passed: 0, failed: 0, failures: [], table: [], interrupted: false }

  const interrupted = new AbortController()
  const interrupt = (/** @type {unknown} */ reason) => interrupted.abort(String(reason))
  const signals = /** @type {const} */ (["SIGINT", "SIGTERM"])
  for (const signal of signals) process.once(signal, interrupt)

  const loud = suites.filter(({ quiet, cores }) => !quiet && cores !== 0).map(({ name }) => name)
  await runSideBySide(
    suites.map(({ name, suite, after = [], quiet, cores = quiet ? Infinity : 1 }) => ({
      name,
      cores,
      after: quiet ? [...after, ...loud] : after,
      run: () => run(name, suite, cores === 0),
    })),
    availableParallelism() + WAITING_CORES,
  )
  for (const signal of signals) process.off(signal, interrupt)
  results.interrupted = interrupted.signal.aborted
  return results

  /** @param {string} name @param {import("./suite.mjs").Suite} suite @param {boolean} isBackground */
  async function run(name, suite, isBackground) {
    const start = Date.now()
    const limit = new AbortController()
    const timer = setTimeout(
      () => limit.abort(`not finished after ${LIMIT_MINUTES} minutes`),
      LIMIT_MINUTES * 60_000,
    )
    const stop = AbortSignal.any([limit.signal, interrupted.signal])
    console.log(`started: ${name}`)
    const log = join(directory, `${name.replaceAll(/\W+/g, "-")}.log`)
    const { counts, failures, cpuSeconds, output } = await runSuite(suite, log, stop, isBackground)
    clearTimeout(timer)
    if (stop.aborted && name.endsWith("Windows")) endWindows()
    console.log(`\n== ${name} ==\n${output}`)
    results.passed += counts.passed
    results.failed += counts.failed
    results.failures.push(...failures.map((failure) => ({ suite: name, ...failure })))
    const seconds = Math.round((Date.now() - start) / 1000)
    results.table.push({ suite: name, ...counts, seconds, cpuSeconds })
  }
}

/** Describes a failed test and how to run it alone. @param {Failure} failure */
export function describe({ suite, test, file, seed, alone, error }) {
  const lines = [`${suite}: ${test}`]
  if (file) lines.push(`  file:  ${file}`)
  if (seed !== undefined) lines.push(`  seed:  ${seed}`)
  lines.push(`  alone: ${alone}`, error.slice(0, ERROR_CHARS).trim().replaceAll(/^/gm, "    "))
  return lines.join("\n")
}
