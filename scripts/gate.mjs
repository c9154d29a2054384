/**
 * Runs every suite and prints the totals on the last line: `N passed, N failed`. A suite that
 * crashes, hangs, runs nothing or skips a test counts as failed. Suites run side by side, because
 * most of them wait more than they compute. No test is tried twice.
 */
import { mkdirSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { root } from "./lib/paths.mjs"
import { endWindows } from "./lib/runtimes.mjs"
import { runSideBySide } from "./lib/side-by-side.mjs"
import { counts, directory, runSuite, succeeds, vitest } from "./lib/suite.mjs"

/** @typedef {import("./lib/suite.mjs").Suite} Suite */
/** @typedef {{ cores?: number, after?: string[] }} Needs */

const { platforms } = readArgs(
  `usage: .ci/run

Installs what is missing, builds, and runs all suites. (node scripts/gate.mjs runs the suites only.)
  --platforms   (gate.mjs only) runs only the suites for other versions of Node and other platforms, with
                every test of sockets, and with Node 22 too`,
  { platforms: { type: "boolean" } },
)

/** Time limit for a suite. */
const LIMIT_MINUTES = 50
const ALONE = Infinity
/** Cores by which suites may need more than there are, because they do not need them all the time. */
const WAITING_CORES = 0.75

const own = (/** @type {string} */ name, /** @type {string[]} */ ...args) => [
  process.execPath,
  join(root, `scripts/${name}.mjs`),
  ...args,
]

// `cores` is a suite's CPU time divided by its duration on an idle machine, 1 by default; 0 is a suite
// that runs at the lowest priority and uses what the others leave. The slowest suites come first; those
// that measure shares of time or memory come last and run alone, but for the lowest priority.
const sockets = platforms ? "sockets" : "sockets-platform"
const everywhere = platforms ? ["--every"] : []
/** @type {[name: string, suite: Suite, needs?: Needs]} */
const node22 = ["sockets, Node 22", vitest(sockets, "22"), { after: ["runtimes"] }]
/** @type {[name: string, suite: Suite, needs?: Needs][]} */
const elsewhere = [
  ["runtimes", succeeds(own("runtimes"))],
  [
    "sockets, Windows",
    counts(own("windows-sockets", ...everywhere)),
    { cores: 0.25, after: ["runtimes"] },
  ],
  // The gate tests the oldest and the newest version.
  ...(platforms ? [node22] : []),
  ["sockets, Node 24", vitest(sockets, "24"), { after: ["runtimes"] }],
  // Both use the same Wine prefix, and end all programs in it.
  ["platforms", vitest("platforms"), { cores: 0.25, after: ["runtimes", "sockets, Windows"] }],
]

/** @type {[name: string, suite: Suite, needs?: Needs][]} */
const suites = [
  ["simulate", counts(own("simulate", "--from", "tree", "--runs", "20000")), { cores: 0 }],
  ["Rust peer", succeeds(own("rust-peer"))],
  ["python", succeeds(own("python"))],
  ...elsewhere,
  ["pressure", vitest("pressure")],
  ["check", counts(own("check"))],
  ["unit", vitest("unit")],
  ["sockets", vitest("sockets")],
  ["sockets, threads", vitest("sockets-thread")],
  ["differential", vitest("differential*")],
  ["sockets, options", vitest("sockets-with-*")],
  ["native", counts(own("test-native")), { cores: 2 }],
  ["fuzz", counts(own("fuzz", "--seconds", "5")), { cores: 2 }],
  ["browser", vitest("browser")],
  ["package", vitest("package"), { after: ["runtimes"] }],
  ["soak", vitest("soak")],
  ["simulation", vitest("simulation")],
  ["interop", vitest("interop"), { cores: 0.5, after: ["python", "Rust peer"] }],
  // Not beside the other: a reconnecting peer could reach one of its peers on a reused port.
  ["interop, threads", vitest("interop-thread"), { cores: 0.5, after: ["interop"] }],
  [
    "matrix",
    succeeds(own("interop-matrix", "--check")),
    { after: ["interop", "interop, threads"] },
  ],
  ["browser, inspector", vitest("browser-inspector"), { cores: ALONE }],
  ["quiet", vitest("quiet"), { cores: ALONE }],
]

rmSync(directory, { recursive: true, force: true })
mkdirSync(directory, { recursive: true })

let passed = 0
let failed = 0
/** Failures and their reasons, printed again at the end. @type {string[]} */
const failures = []
/** @type {object[]} */
const table = []
const interrupted = new AbortController()
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
  process.once(signal, () => interrupted.abort(signal))
process.on("uncaughtException", (error) => {
  console.error(error)
  interrupted.abort(String(error))
  failed++
})

const chosen = platforms ? elsewhere : suites
await runSideBySide(
  chosen.map(([name, suite, { cores = 1, after } = {}]) => ({
    name,
    cores,
    after,
    run: () => run(name, suite, cores === 0),
  })),
  availableParallelism() + WAITING_CORES,
)

if (failures.length) console.log(`\nFailed:\n\n${failures.join("\n")}`)
console.log()
console.table(table)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

/** @param {string} name @param {Suite} suite @param {boolean} isBackground */
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
  const { counts, failures: own, output } = await runSuite(suite, log, stop, isBackground)
  clearTimeout(timer)
  if (stop.aborted && name.endsWith("Windows")) endWindows()
  console.log(`\n== ${name} ==\n${output}`)
  if (own.length) failures.push(`== ${name} ==`, ...own)
  passed += counts.passed
  // A skipped test proves nothing.
  failed += counts.failed + counts.skipped
  table.push({ suite: name, ...counts, seconds: Math.round((Date.now() - start) / 1000) })
}
