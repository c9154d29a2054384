/** Runs one suite of the gate: a command whose output goes to a file, and counts its tests. */
import { spawn } from "node:child_process"
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { setPriority } from "node:os"
import { join } from "node:path"
import { build, root, shown } from "./paths.mjs"
import { nodeVersion } from "./runtimes.mjs"
import { readSummary } from "./tally.mjs"

/** @typedef {import("./tally.mjs").Counts} Counts */
/** @typedef {{ status: number | string | null, output: string }} Ended */
/** @typedef {{ counts: Counts, failures: string[] }} Result */
/**
 * @typedef {object} Suite
 * @property {string[]} command
 * @property {(ended: Ended) => Result} count
 */

/** Maximum number of characters of a failure that the gate repeats at its end. */
const EXCERPT = 1500

/** The directory of logs and reports. */
export const directory = join(build, "gate")

/** @param {string} why @returns {Result} */
const failed = (why) => ({ counts: { passed: 0, failed: 1, skipped: 0 }, failures: [why] })

/** @param {Ended} ended */
const ending = ({ status, output }) => `ended with ${status}\n${output.slice(-EXCERPT)}`

/** Describes a command that counts as one test. @param {string[]} command @returns {Suite} */
export const succeeds = (command) => ({
  command,
  count: (ended) =>
    ended.status === 0
      ? { counts: { passed: 1, failed: 0, skipped: 0 }, failures: [] }
      : failed(ending(ended)),
})

/** Describes a command that prints its counts at the end (tally.mjs). @param {string[]} command @returns {Suite} */
export const counts = (command) => ({
  command,
  count: (ended) => {
    const counts = readSummary(ended.output)
    if (!counts || !(counts.passed + counts.failed)) return failed(ending(ended))
    if (ended.status !== 0 && !counts.failed) return failed(ending(ended))
    return { counts, failures: counts.failed ? [ended.output.slice(-EXCERPT)] : [] }
  },
})

/**
 * Describes projects of vitest.config.ts, which one process runs.
 * @param {string} projects their names, with a `*` for any end of a name
 * @param {"22" | "24"} [node] the version of Node, if not the current one
 * @returns {Suite}
 */
export function vitest(projects, node) {
  const file = join(directory, `${projects.replaceAll("*", "")}${node ?? ""}.json`)
  const program = node ? nodeVersion(node) : process.execPath
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const main = join(root, "node_modules/vitest/vitest.mjs")
  return {
    command: [program, main, "run", "--project", projects, "--retry=0", ...reporters],
    count: (ended) => (existsSync(file) ? countReport(file, ended) : failed(ending(ended))),
  }
}

/** @param {string} file @param {Ended} ended @returns {Result} */
function countReport(file, ended) {
  const report = JSON.parse(readFileSync(file, "utf8"))
  /** @type {{ name: string, status: string, message: string, assertionResults: any[] }[]} */
  const files = report.testResults
  const failures = files
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status !== "passed")
    .map((test) => `${test.fullName}\n${test.failureMessages.join("\n").slice(0, EXCERPT)}\n`)
  // A file that could not be loaded has a message, but no tests.
  const broken = files.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  )
  for (const { name, message } of broken) failures.push(`${shown(name)}: ${message}`)
  const counts = {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
  // An error outside of tests, or no tests at all.
  if (!counts.failed && (ended.status !== 0 || !counts.passed)) {
    counts.failed = 1
    failures.push(ending(ended))
  }
  return { counts, failures }
}

/**
 * Runs a suite until it ends or `stop` is aborted.
 * @param {Suite} suite
 * @param {string} file for its output
 * @param {AbortSignal} stop
 * @param {boolean} [isBackground]  whether it gets the lowest priority
 * @returns {Promise<Result & { output: string }>}
 */
export async function runSuite({ command, count }, file, stop, isBackground = false) {
  const log = openSync(file, "w")
  const status = await runCommand(command, log, stop, isBackground).catch(String)
  closeSync(log)
  const output = readFileSync(file, "utf8")
  if (stop.aborted) return { ...failed(ending({ status, output })), output }
  try {
    return { ...count({ status, output }), output }
  } catch (error) {
    return { ...failed(String(error)), output }
  }
}

/**
 * Runs a command in a process group, which is killed as a whole at `stop`. The output goes to a
 * file, because a process that outlives the command would keep a pipe open.
 * @param {string[]} command
 * @param {number} log
 * @param {AbortSignal} stop
 * @param {boolean} isBackground
 * @returns {Promise<number | string | null>} the exit code, or the reason why it ended
 */
function runCommand([program = "", ...args], log, stop, isBackground) {
  return new Promise((resolve, reject) => {
    stop.throwIfAborted()
    const stdio = /** @type {const} */ (["ignore", log, log])
    const child = spawn(program, args, { cwd: root, stdio: [...stdio], detached: true })
    if (isBackground && child.pid) lowerPriority(child.pid)
    const kill = () => {
      try {
        process.kill(-Number(child.pid), "SIGKILL")
      } catch {
        // It has already ended.
      }
    }
    stop.addEventListener("abort", kill)
    child.on("error", reject)
    child.on("exit", (status, signal) => {
      stop.removeEventListener("abort", kill)
      resolve(stop.aborted ? String(stop.reason) : (status ?? signal))
    })
  })
}

const LOWEST_PRIORITY = 19

/** Gives a new process and its session the lowest priority. @param {number} pid */
function lowerPriority(pid) {
  setPriority(pid, LOWEST_PRIORITY)
  // Linux may share the processor among sessions first.
  const session = `/proc/${pid}/autogroup`
  if (existsSync(session)) writeFileSync(session, String(LOWEST_PRIORITY))
}
