/**
 * bench/results.jsonl: the newest full run of each benchmark. A line has its circumstances, and each
 * line after it a measurement.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { arch, availableParallelism, cpus, release, type } from "node:os"
import { root } from "../../scripts/lib/paths.mjs"

const file = new URL("../results.jsonl", import.meta.url)

/**
 * @typedef {object} Measurement
 * @property {string} name  of the cell, such as "encode json 1 KiB dict=on"
 * @property {Record<string, string | number>} parameters  operation, payload, size, ...
 * @property {string} implementation
 * @property {number} median
 * @property {number} minimum
 * @property {number} maximum
 * @property {number} runs
 * @property {number[]} values  in the order of the rounds, which all implementations share
 * @property {string} unit  of the median, minimum, maximum and values
 * @property {Record<string, string>} [versions]  in reports: of what was measured
 */

/** @typedef {"codec" | "corpora" | "throughput" | "links" | "schemes" | "changes" | "latency" | "bursts" | "fan" | "scale" | "services" | "brokers" | "curve" | "threads" | "memory" | "costs" | "start"} Bench */

/**
 * The circumstances of a run.
 * @typedef {object} Details
 * @property {string} date
 * @property {string | null} commit
 * @property {boolean} dirty
 * @property {{ cpu: string, cores: number, os: string }} machine
 * @property {Record<string, string>} versions
 */

/** @typedef {Measurement & Details & { bench: string }} Line */

/** @param {Record<string, string>} versions @returns {Details} */
export function runDetails(versions) {
  // Stored results of other benchmarks do not affect this one.
  const changes = git("status", "--porcelain", "--", ".", ":!bench/results.jsonl")
  return {
    date: new Date().toISOString(),
    commit: git("rev-parse", "HEAD"),
    dirty: changes === null || changes !== "",
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      os: `${type()} ${release().split("-")[0]} ${arch()}`,
    },
    versions,
  }
}

/** Returns git's output; null outside of a checkout, or without a commit. @param {string[]} args */
function git(...args) {
  try {
    const options = /** @type {const} */ ({ cwd: root, encoding: "utf8", stdio: "pipe" })
    return execFileSync("git", args, { ...options, maxBuffer: 2 ** 28 }).trim()
  } catch {
    return null
  }
}

/** Returns the version of an installed package. @param {string} name */
export const packageVersion = (name) =>
  // Not require(): some packages do not export their package.json.
  JSON.parse(
    readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), "utf8"),
  ).version

/** Replaces the run of a benchmark. @param {Bench} bench @param {Details} details @param {readonly Measurement[]} measurements */
export function storeResults(bench, details, measurements) {
  const stored = existsSync(file) ? parseLines(readFileSync(file, "utf8")) : []
  const others = stored.filter((line) => line.bench !== bench)
  const lines = [details, ...measurements].map((line) => ({ bench, ...line }))
  writeFileSync(file, [...others, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""))
}

export const readResults = () => (existsSync(file) ? parseResults(readFileSync(file, "utf8")) : [])

/** Reads the results in a commit; none if it has no such file. @param {string} revision */
export const resultsOf = (revision) =>
  parseResults(git("show", `${revision}:bench/results.jsonl`) ?? "")

/** @param {string} text @returns {({ bench: string } & (Details | Measurement))[]} */
const parseLines = (text) =>
  text.split("\n").flatMap((line, i) => {
    if (!line) return []
    try {
      return [JSON.parse(line)]
    } catch (error) {
      throw new Error(`line ${i + 1} of the results is not JSON`, { cause: error })
    }
  })

/** Returns the measurements, each with the circumstances of its run. @param {string} text @returns {Line[]} */
export function parseResults(text) {
  /** @type {Map<string, Details>} */
  const details = new Map()
  return parseLines(text).flatMap((line) => {
    if ("name" in line) return [/** @type {Line} */ ({ ...line, ...details.get(line.bench) })]
    details.set(line.bench, line)
    return []
  })
}
