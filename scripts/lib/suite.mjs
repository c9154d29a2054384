/** Runs one suite of the gate: a command whose output goes to a file, and counts its tests. */
import { spawn } from "node:child_process"
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { setPriority } from "node:os"
import { join } from "node:path"
import { build, root } from "./paths.mjs"
import { nodeVersion } from "./runtimes.mjs"
import { inShell } from "./shell.mjs"
import { readFailures, readSummary } from "./tally.mjs"
import { failureOf, readReport } from "./vitest-report.mjs"

/** @typedef {import("./tally.mjs").Failure} Failure */
/** @typedef {{ status: number | string | null, output: string }} Ended */
/** What a command took: its CPU time includes that of its children which it waited for. @typedef {{ cpuSeconds: number | undefined }} Cost */
/** The result of a suite, in which a skipped test counts as failed. @typedef {{ counts: { passed: number, failed: number }, failures: Failure[] }} Result */
/**
 * @typedef {object} Suite
 * @property {string[]} command
 * @property {Record<string, string>} [environment]
 * @property {(ended: Ended) => Result} count
 */

/** Number of characters of its output that a suite which failed as a whole is described by. */
const EXCERPT = 1500

/** The directory of logs and reports. */
export const directory = join(build, "gate")

/**
 * The result of a suite that failed as a whole.
 * @param {string[]} command @param {string} error @returns {Result}
 */
const failed = (command, error) => ({
  counts: { passed: 0, failed: 1 },
  failures: [{ test: "the whole suite", alone: inShell(command), error }],
})

/** @param {Ended} ended */
const ending = ({ status, output }) => `ended with ${status}\n${output.slice(-EXCERPT)}`

/** Describes a command that counts as one test. @param {string[]} command @returns {Suite} */
export const succeeds = (command) => ({
  command,
  count: (ended) =>
    ended.status === 0
      ? { counts: { passed: 1, failed: 0 }, failures: [] }
      : failed(command, ending(ended)),
})

/** Describes a command that prints its failures and counts (tally.mjs). @param {string[]} command @returns {Suite} */
export const counts = (command) => ({
  command,
  count: (ended) => {
    const counts = readSummary(ended.output)
    const failures = readFailures(ended.output)
    // It crashed, ran nothing, skipped something or did not tell what failed.
    const isComplete = counts && counts.passed > 0 && !counts.skipped
    if (!isComplete || (failures.length === 0 && (ended.status !== 0 || counts.failed > 0)))
      failures.push(...failed(command, ending(ended)).failures)
    return {
      counts: {
        passed: counts?.passed ?? 0,
        failed: Math.max(counts?.failed ?? 0, failures.length),
      },
      failures,
    }
  },
})

/**
 * Describes projects of vitest.config.ts, which one process runs.
 * @param {string} projects their names, with a `*` for any end of a name
 * @param {import("./runtimes.mjs").NodeVersion} [node] the version of Node, if not the current one
 * @param {string} [file] the name of the only file of tests, without `.test.ts`
 * @returns {Suite}
 */
export function vitest(projects, node, file) {
  const name = `${projects.replaceAll("*", "")}${file ? `-${file}` : ""}${node ?? ""}`
  const report = join(directory, `${name}.jsonl`)
  const program = node ? nodeVersion(node) : process.execPath
  const main = join(root, "node_modules/vitest/vitest.mjs")
  const reporters = ["default", join(root, "scripts/lib/vitest-reporter.mjs")]
  const command = [program, main, "run", "--retry=0", "--project", projects]
  return {
    command: [
      ...command,
      ...reporters.map((name) => `--reporter=${name}`),
      ...(file ? [`/${file}.test.ts`] : []),
    ],
    environment: { GATE_REPORT: report },
    count: (ended) =>
      existsSync(report)
        ? countReport(readReport(report), ended, [program, main, "run"])
        : failed(command, ending(ended)),
  }
}

/** @param {ReturnType<typeof readReport>} report @param {Ended} ended @param {string[]} vitest @returns {Result} */
function countReport({ counts, failed: lines, running }, ended, vitest) {
  const failures = lines.map((line) => failureOf(line, vitest))
  // It crashed, was killed, or ran nothing.
  if (!counts || (!failures.length && (ended.status !== 0 || !counts.passed))) {
    const what = running.length ? `while running ${running.join(", ")}: ` : ""
    const whole = failed(vitest, `${what}${ending(ended)}`)
    failures.push(...whole.failures)
  }
  // A skipped test proves nothing, and a suite that failed is one failure more than its tests.
  return {
    counts: { passed: counts?.passed ?? 0, failed: failures.length },
    failures,
  }
}

/**
 * Runs a suite until it ends or `stop` is aborted.
 * @param {Suite} suite
 * @param {string} file for its output
 * @param {AbortSignal} stop
 * @param {boolean} [isBackground]  whether it gets the lowest priority
 * @returns {Promise<Result & Cost & { output: string }>}
 */
export async function runSuite(suite, file, stop, isBackground = false) {
  const log = openSync(file, "w")
  /** @type {Cost} */
  const cost = { cpuSeconds: undefined }
  const status = await runCommand(suite, log, stop, isBackground, cost).catch(String)
  closeSync(log)
  const output = readFileSync(file, "utf8")
  try {
    return { ...suite.count({ status, output }), ...cost, output }
  } catch (error) {
    return { ...failed(suite.command, String(error)), ...cost, output }
  }
}

/**
 * Runs a command in a process group, which is killed as a whole at `stop`. The output goes to a
 * file, because a process that outlives the command would keep a pipe open.
 * @param {Suite} suite
 * @param {number} log
 * @param {AbortSignal} stop
 * @param {boolean} isBackground
 * @param {Cost} cost
 * @returns {Promise<number | string | null>} the exit code, or the reason why it ended
 */
function runCommand(suite, log, stop, isBackground, cost) {
  const { command, environment } = suite
  const [program = "", ...args] = command
  return new Promise((resolve, reject) => {
    stop.throwIfAborted()
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ["ignore", log, log],
      detached: true,
    })
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
      cost.cpuSeconds = ofEndedChildren()
      stop.removeEventListener("abort", kill)
      resolve(stop.aborted ? String(stop.reason) : (status ?? signal))
    })
  })
}

/** CPU time, in seconds, of all children that had ended at the last call. */
let endedBefore = 0

/** Returns the CPU time, in seconds, of the children that have ended since the last call. Only Linux tells. */
function ofEndedChildren() {
  if (process.platform !== "linux") return undefined
  // The name of the program, which may contain spaces, ends with the last parenthesis.
  const fields = readFileSync("/proc/self/stat", "utf8").replace(/.*\) /s, "").split(" ")
  // The clock of these fields ticks 100 times a second on every architecture of Linux that Node knows.
  const ended = (Number(fields[13]) + Number(fields[14])) / 100
  const seconds = ended - endedBefore
  endedBefore = ended
  return Math.round(seconds)
}

const LOWEST_PRIORITY = 19

/** Gives a new process and its session the lowest priority. @param {number} pid */
function lowerPriority(pid) {
  setPriority(pid, LOWEST_PRIORITY)
  // Linux may share the processor among sessions first.
  const session = `/proc/${pid}/autogroup`
  if (existsSync(session)) writeFileSync(session, String(LOWEST_PRIORITY))
}
