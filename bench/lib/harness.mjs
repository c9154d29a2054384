/** The harness of all benchmarks. A benchmark consists of cells, in which all contestants take turns. */
import { fail } from "../../scripts/lib/run.mjs"
import { reports } from "../reports/reports.mjs"
import { targetLines } from "../targets.mjs"
import { terminalTables } from "./format.mjs"
import { runDetails, storeResults } from "./results.mjs"
import { summary } from "./statistics.mjs"

/** @typedef {import("./results.mjs").Measurement} Measurement */
/** @typedef {import("./options.mjs").Options} Options */

/** The result of one run. @typedef {{ quantity?: string, unit: string, value: number }} Result */

/**
 * A contestant that is ready for its runs.
 * @typedef {object} Contestant
 * @property {() => Result[] | Promise<Result[]>} run
 * @property {() => void} [stop]
 */

/**
 * @typedef {object} Cell
 * @property {string} name
 * @property {Record<string, string | number>} parameters
 * @property {readonly string[]} contestants
 * @property {(contestant: string) => Contestant | Promise<Contestant>} prepare
 *   starts and warms up the contestant
 */

/** Thrown by `prepare` if something is missing; the other contestants still run. */
export class Skipped extends Error {}

export const progress = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

// Listeners of "exit" clean up after a benchmark.
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
  process.once(signal, () => process.exit(1))

/**
 * Runs a benchmark and prints its results. Stores them if the run was complete.
 * @param {{ bench: import("./results.mjs").Bench, cells: readonly Cell[], options: Options, versions: Record<string, string> }} benchmark
 */
export async function benchmark({ bench, cells, options, versions }) {
  const wanted = cells.filter(({ name }) => name.includes(options.only))
  if (wanted.length === 0) fail(`no cell has ${JSON.stringify(options.only)} in its name`)
  const details = runDetails(versions)
  const measurements = await measure(wanted, options.runs)
  const lines = targetLines({ [bench]: measurements })
  const tables = reports[bench].tables(measurements.map((one) => ({ ...one, versions })))
  console.log(`\n${terminalTables(tables)}\n\n${lines.join("\n")}`)
  if (options.stored) storeResults(bench, details, measurements)
  process.exit() // even if a contestant has left something open
}

/** @param {readonly Cell[]} cells @param {number} runs @returns {Promise<Measurement[]>} */
async function measure(cells, runs) {
  const measurements = []
  for (const [i, cell] of cells.entries())
    measurements.push(...(await measureCell(cell, runs, `${i + 1}/${cells.length} ${cell.name}`)))
  return measurements
}

/** @param {Cell} cell @param {number} runs @param {string} label */
async function measureCell({ name, parameters, contestants, prepare }, runs, label) {
  /** @type {Map<string, Contestant>} */
  const ready = new Map()
  /** @type {Map<string, { implementation: string, quantity?: string, unit: string, values: number[] }>} */
  const all = new Map()
  try {
    for (const contestant of contestants) {
      progress(`${label}: ${contestant}, preparing …`)
      try {
        ready.set(contestant, await prepare(contestant))
      } catch (error) {
        if (!(error instanceof Skipped)) throw error
        progress(`${label}: ${contestant} is skipped: ${error.message}`)
      }
    }
    const names = [...ready.keys()]
    for (let round = 0; round < runs; round++) {
      progress(`${label}: run ${round + 1} of ${runs} …`)
      // Each round begins with another contestant, so that none always follows the same one.
      const first = round % names.length
      for (const implementation of [...names.slice(first), ...names.slice(0, first)])
        for (const { quantity, unit, value } of (await ready.get(implementation)?.run()) ?? []) {
          const key = `${implementation} ${quantity}`
          const entry = all.get(key) ?? { implementation, quantity, unit, values: [] }
          entry.values.push(Number(value.toPrecision(5)))
          all.set(key, entry)
        }
    }
  } finally {
    for (const { stop } of ready.values()) stop?.()
  }
  return [...all.values()].map(({ quantity, implementation, unit, values }) => ({
    name: quantity ? `${name}: ${quantity}` : name,
    parameters: quantity ? { ...parameters, quantity } : parameters,
    implementation,
    unit,
    ...summary(values),
    values,
  }))
}
