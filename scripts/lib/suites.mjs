/** The suites of the gate. */
import { join } from "node:path"
import { root } from "./paths.mjs"
import { nodeVersion } from "./runtimes.mjs"
import { counts, succeeds, vitest } from "./suite.mjs"

/**
 * A suite, and when it may run. `cores` is its CPU time divided by its duration on an idle machine, 1
 * by default; 0 is a suite that runs at the lowest priority, beside any other, and uses what they leave.
 * @typedef {object} GateSuite
 * @property {string} name
 * @property {import("./suite.mjs").Suite} suite
 * @property {number} [cores]
 * @property {string[]} [after]  names of suites that have to end first
 * @property {boolean} [quiet]  whether it runs after all that are not, and alone, or with `cores`, beside some
 */

const own = (/** @type {string} */ name, /** @type {string[]} */ ...args) => [
  process.execPath,
  join(root, `scripts/${name}.mjs`),
  ...args,
]

/**
 * Runs of the simulator, from the same seed every time. They are the same in every version of Node, and
 * take a quarter less time in this one than in the oldest.
 */
const SIMULATED = [
  nodeVersion("24"),
  ...[join(root, "scripts/simulate.mjs"), "--from", "0", "--runs", "8000"],
]

/** @typedef {import("./runtimes.mjs").NodeVersion} NodeVersion */

/** @param {import("./suite.mjs").Suite} suite @param {boolean} all @returns {import("./suite.mjs").Suite} */
const allOf = (suite, all) => ({
  ...suite,
  environment: { ...suite.environment, ...(all ? { PLATFORMS_ALL: "1" } : {}) },
})

/**
 * Returns the suites for other versions of Node and other platforms.
 * @param {boolean} all  every test of sockets, and every version of Node
 * @returns {GateSuite[]}
 */
export function elsewhere(all) {
  // Besides the oldest, in which the gate itself runs.
  const versions = /** @type {NodeVersion[]} */ (all ? ["22", "24", "26"] : ["24", "26"])
  const sockets = (/** @type {NodeVersion} */ version) => {
    if (all) return "sockets"
    return version === versions.at(-1) ? "sockets-platform" : "sockets-between"
  }
  const loaders = (/** @type {NodeVersion} */ version) => `loaders, Node ${version}`
  return [
    // It waits for the network half of the time, as "python" does.
    { name: "runtimes", suite: succeeds(own("prepare", "--runtimes")), cores: 0.5 },
    ...versions.flatMap((version, i) => [
      {
        name: `sockets, Node ${version}`,
        suite: vitest(sockets(version), version),
        after: ["runtimes"],
      },
      {
        name: `sockets, threads, Node ${version}`,
        suite: vitest(`${sockets(version)}-thread`, version),
        after: ["runtimes"],
      },
      {
        name: loaders(version),
        suite: vitest("package", version, "loaders"),
        // All of these install the same tools.
        after: ["runtimes", "package", ...versions.slice(0, i).map(loaders)],
      },
    ]),
    { name: "platforms", suite: allOf(vitest("platforms"), all), after: ["runtimes"] },
    {
      name: "sockets, Windows",
      suite: counts(own("windows-sockets", ...(all ? ["--every"] : []))),
      after: ["runtimes"],
      cores: 2,
      quiet: true,
    },
    // Both use the same Wine prefix, and end all programs in it.
    {
      name: "platforms, Windows",
      suite: vitest("platforms-exchange"),
      after: ["runtimes", "sockets, Windows"],
      cores: 2,
      quiet: true,
    },
  ]
}

/** All suites of the gate, the slowest first. @type {GateSuite[]} */
export const suites = [
  { name: "simulate", suite: counts(SIMULATED), cores: 0, after: ["runtimes"] },
  { name: "Rust peer", suite: succeeds(own("prepare", "--rust")) },
  { name: "python", suite: succeeds(own("prepare", "--python")), cores: 0.25 },
  ...elsewhere(false),
  { name: "pressure", suite: vitest("pressure") },
  { name: "check", suite: counts(own("check")) },
  { name: "unit", suite: vitest("unit") },
  { name: "sockets", suite: vitest("sockets") },
  { name: "sockets, threads", suite: vitest("sockets-thread") },
  { name: "differential", suite: vitest("differential*") },
  { name: "sockets, options", suite: vitest("sockets-with-*") },
  { name: "browser", suite: vitest("browser") },
  { name: "package", suite: vitest("package"), after: ["runtimes"] },
  { name: "examples", suite: vitest("examples"), cores: 0.75, after: ["python"] },
  { name: "soak", suite: vitest("soak") },
  { name: "simulation", suite: vitest("simulation") },
  { name: "interop", suite: vitest("interop"), cores: 0.5, after: ["python", "Rust peer"] },
  {
    name: "interop, threads",
    suite: vitest("interop-thread"),
    cores: 0.5,
    // Not beside the other: a reconnecting peer could reach one of its peers on a reused port.
    after: ["interop"],
  },
  {
    name: "matrix",
    suite: succeeds(own("interop-matrix", "--check")),
    after: ["interop"],
  },
  // They compute only, while those below leave half of the cores idle.
  { name: "native", suite: counts(own("test-native")), cores: 0, quiet: true },
  { name: "fuzz", suite: counts(own("fuzz", "--fixed")), cores: 0, quiet: true },
  { name: "quiet, waiting", suite: vitest("quiet-waiting"), cores: 0.5, quiet: true },
  { name: "quiet", suite: vitest("quiet"), quiet: true },
]
