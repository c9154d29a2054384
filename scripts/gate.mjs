/**
 * Runs every suite and totals them: `N passed, N failed` alone on the last line. A suite that
 * crashes, runs nothing or skips anything counts as failed. A test that fails is tried once more,
 * since a machine may be slow for a moment, and told of even if it passes then; but not where
 * messages are counted and compared, which has nothing to do with speed.
 */
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { build, root, shown } from "./lib/paths.mjs"
import { nodeVersion } from "./lib/runtimes.mjs"
import { readSummary } from "./lib/tally.mjs"

/** @typedef {import("./lib/tally.mjs").Counts} Counts */

const { platforms } = readArgs(
  `usage: .ci/run

Installs what is missing, builds, and runs all suites. (node scripts/gate.mjs runs the suites only.)
  --platforms   (of gate.mjs) only those that run elsewhere than in this Node on Linux`,
  { platforms: { type: "boolean" } },
)

const own = (/** @type {string} */ name, /** @type {string[]} */ ...args) => [
  process.execPath,
  join(root, `scripts/${name}.mjs`),
  ...args,
]
const script = (/** @type {string} */ name, /** @type {string[]} */ ...args) =>
  counted(name, own(name, ...args))

/** @typedef {[name: string, run: () => Promise<Counts>][]} Suites */

/** @type {Suites} */
const elsewhere = [
  ["sockets, Node 22", () => vitest("sockets", { before: [own("runtimes")], node: "22" })],
  ["sockets, Node 24", () => vitest("sockets", { before: [own("runtimes")], node: "24" })],
  ["sockets, Windows", () => script("windows-sockets")],
  ["platforms", () => vitest("platforms", { before: [own("runtimes")] })],
]

/** @type {Suites} */
const suites = [
  ["check", () => script("check")],
  ["unit", () => vitest("unit")],
  ["sockets", () => vitest("sockets")],
  ["differential", () => vitest("differential")],
  ["sockets, threads", () => vitest("sockets-thread")],
  ["differential, threads", () => vitest("differential-thread")],
  ["sockets, autoDictionary", () => vitest("sockets-autoDictionary")],
  ["sockets, arenas", () => vitest("sockets-arenas")],
  ["sockets, level", () => vitest("sockets-level")],
  ["native", () => script("test-native")],
  ["fuzz", () => script("fuzz", "--seconds", "30")],
  ["browser", () => vitest("browser")],
  ["package", () => vitest("package")],
  ["soak", () => vitest("soak")],
  ["pressure", () => vitest("pressure", { retries: 0 })],
  ["simulation", () => vitest("simulation", { retries: 0 })],
  ["simulate", () => script("simulate", "--from", "2036", "--runs", "1700")],
  ...elsewhere,
  ["interop", () => vitest("interop", { before: [own("python"), own("rust-peer")] })],
  ["interop, threads", () => vitest("interop-thread")],
  ["matrix", () => succeeds(own("interop-matrix", "--check"))],
]

/** So many characters of a failure are told again. */
const EXCERPT = 1500
/** With more tests than this that needed a second try something is wrong. */
const RETRIED_MAX = 5
const FAILED = { passed: 0, failed: 1, skipped: 0 }
const reports = join(build, "gate")
rmSync(reports, { recursive: true, force: true })
mkdirSync(reports, { recursive: true })

/** What failed and why, told again at the end. @type {string[]} */
const failures = []
/** Tests that passed at their second try. @type {string[]} */
const retried = []
let passed = 0
let failed = 0
const table = []
for (const [name, run] of platforms ? elsewhere : suites) {
  console.log(`\n== ${name} ==`)
  const start = Date.now()
  const told = failures.length
  const counts = await run().catch((error) => {
    console.error(error)
    failures.push(String(error))
    return FAILED
  })
  if (counts.failed + counts.skipped) failures.splice(told, 0, `== ${name} ==`)
  passed += counts.passed
  // Everything runs here: what is skipped is not known to work.
  failed += counts.failed + counts.skipped
  const seconds = Math.round((Date.now() - start) / 1000)
  table.push({ suite: name, ...counts, seconds })
}

failed += Math.max(0, retried.length - RETRIED_MAX)
if (retried.length)
  console.log(`\nPassed at the second try (at most ${RETRIED_MAX} may):\n\n${retried.join("\n")}`)
if (failures.length) console.log(`\nFailed:\n\n${failures.join("\n")}`)
console.log()
console.table(table)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

/**
 * A script that ends with its counts (lib/tally.mjs).
 * @param {string} name
 * @param {string[]} command
 * @returns {Promise<Counts>}
 */
async function counted(name, command) {
  const { status, output } = await start(command, { capture: true })
  const counts = readSummary(output)
  if (!counts) console.error(`${name} ended with ${status} before it had counted`)
  const broken = !counts || (status !== 0 && !counts.failed) || !(counts.passed + counts.failed)
  if (broken || counts.failed) failures.push(output.slice(-EXCERPT))
  for (const [, test] of output.matchAll(/^retried: (.*)$/gm)) retried.push(`${name}: ${test}`)
  return broken ? FAILED : counts
}

/**
 * A command that counts as one test.
 * @param {string[]} command
 * @returns {Promise<Counts>}
 */
async function succeeds(command) {
  return (await start(command)).status === 0 ? { passed: 1, failed: 0, skipped: 0 } : FAILED
}

/**
 * A project of vitest.config.ts.
 * @param {string} project
 * @param {{ before?: string[][], node?: "22" | "24", retries?: number }} [options] what has to run
 *   first, the version of Node to use, when it is another than this one, and how often a test that
 *   fails is tried again
 * @returns {Promise<Counts>}
 */
async function vitest(project, { before = [], node, retries = 1 } = {}) {
  for (const command of before) if ((await start(command)).status !== 0) return FAILED
  const file = join(reports, `${project}${node ?? ""}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]
  const program = node ? nodeVersion(node) : process.execPath
  const main = join(root, "node_modules/vitest/vitest.mjs")
  const options = ["--project", project, `--retry=${retries}`, ...reporters]
  const { status } = await start([program, main, "run", ...options])

  const report = JSON.parse(readFileSync(file, "utf8"))
  for (const test of report.testResults.flatMap(
    (/** @type {any} */ file) => file.assertionResults,
  )) {
    const what = `${test.fullName}\n${test.failureMessages.join("\n").slice(0, EXCERPT)}\n`
    if (test.status !== "passed") failures.push(what)
    else if (test.failureMessages.length) retried.push(`${project}${node ?? ""}: ${what}`)
  }
  // A file that could not be loaded has no tests, only a message.
  const broken = report.testResults.filter(
    (/** @type {any} */ { status, assertionResults }) =>
      status === "failed" &&
      !assertionResults.some((/** @type {any} */ t) => t.status === "failed"),
  )
  for (const { name, message } of broken) failures.push(`${shown(name)}: ${message}`)
  const counts = {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
  // An error outside of all tests, or no tests at all.
  if (!counts.failed && (status !== 0 || !counts.passed)) counts.failed = 1
  return counts
}

/**
 * @param {string[]} command
 * @param {{ capture?: boolean }} [options] also collect what it prints to stdout
 * @returns {Promise<{ status: number | null, output: string }>}
 */
function start([program, ...args], { capture = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ["ignore", capture ? "pipe" : "inherit", "inherit"],
    })
    let output = ""
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      process.stdout.write(text)
      output += text
    })
    child.on("error", reject)
    child.on("close", (status) => resolve({ status, output }))
  })
}
