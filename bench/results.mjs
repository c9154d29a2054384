/** bench/results.jsonl: one line per measurement, appended by every full run. */
import { execFileSync } from "node:child_process"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { arch, availableParallelism, cpus, release, type } from "node:os"

const file = new URL("results.jsonl", import.meta.url)
const root = new URL("..", import.meta.url)

/**
 * @typedef {object} Measurement
 * @property {string} name  "encode json 1 KiB dict=on", or what else was measured
 * @property {Record<string, string | number>} parameters  operation, payload, size, ...
 * @property {string} implementation
 * @property {number} median
 * @property {number} minimum
 * @property {number} maximum
 * @property {number} runs
 * @property {number[]} values  in the order of the rounds, which all implementations share
 * @property {string} unit  of the five above
 */

/** @param {string[]} args */
function git(...args) {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim()
  } catch {
    return null // no checkout, or no commit yet
  }
}

/** Where and when a run took place: what every line of it repeats. */
export function runDetails() {
  const changes = git("status", "--porcelain")
  return {
    date: new Date().toISOString(),
    commit: git("rev-parse", "HEAD"),
    dirty: changes === null || changes !== "",
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      os: `${type()} ${release().split("-")[0]} ${arch()}`,
    },
  }
}

/** The version of an installed package. @param {string} name */
export const packageVersion = (name) =>
  // Not by require(): some packages do not export their package.json.
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8"))
    .version

/** @typedef {"codec" | "transport" | "corpora"} Bench */

/** @param {Bench} bench @param {object} details @param {readonly Measurement[]} measurements */
export function appendResults(bench, details, measurements) {
  const lines = measurements.map((measurement) =>
    JSON.stringify({ bench, ...measurement, ...details }),
  )
  appendFileSync(file, lines.map((line) => `${line}\n`).join(""))
}

/** The measurements of the newest run; none when there is no run. @param {Bench} bench */
export function newestRun(bench) {
  if (!existsSync(file)) return []
  const all = readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter((measurement) => measurement.bench === bench)
  return all.filter(({ date }) => date === all.at(-1).date)
}
