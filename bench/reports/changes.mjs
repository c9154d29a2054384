/** The report of the changes benchmark. */
import { digits } from "../lib/format.mjs"
import { Run } from "../lib/run.mjs"
import { FIXED, OURS } from "../peers/ends.mjs"
import { runsOfEach } from "./tables.mjs"

/** The phases after the first, which is 1 Gbit/s. */
export const LINK_PHASES = ["to 100 Mbit/s", "back to 1 Gbit/s"]

/** Returns the phases of a cell. @param {Run} run @param {string} cell */
const phasesOf = (run, cell) =>
  run.names
    .filter((name) => name.startsWith(`${cell}: `))
    .map((name) => name.slice(cell.length + 2))

/** Returns the best fixed level of a phase. @param {Run} run @param {string} cell @param {string} phase */
function bestOf(run, cell, phase) {
  const rate = (/** @type {string} */ who) => run.get(`${cell}: ${phase}`, who)?.median ?? 0
  const [first, ...rest] = Object.keys(FIXED)
  const best = rest.reduce((a, b) => (rate(b) > rate(a) ? b : a), first)
  return { name: best, rate: rate(best) }
}

/** Divides the default's throughput in all phases by that of the best level of each phase. @param {Run} run @param {string} cell */
export function shareOfBest(run, cell) {
  const phases = phasesOf(run, cell)
  const sum = (/** @type {(phase: string) => number} */ of) =>
    phases.reduce((all, phase) => all + of(phase), 0)
  const reached = sum((phase) => run.get(`${cell}: ${phase}`, OURS)?.median ?? 0)
  const best = sum((phase) => bestOf(run, cell, phase).rate)
  return best > 0 ? reached / best : undefined
}

/**
 * Returns the seconds that the default loses after a change, compared with the best level; the worst change counts.
 * @param {Run} run @param {string} cell
 */
export function secondsLost(run, cell) {
  const lost = phasesOf(run, cell).flatMap((phase) => {
    const part = run.ratio(`${cell}: ${phase}`, OURS, bestOf(run, cell, phase).name)
    const { phaseSeconds } = run.parameters(`${cell}: ${phase}`)
    return part === undefined ? [] : [(1 - part) * Number(phaseSeconds)]
  })
  return lost.length > 0 ? Math.max(0, ...lost) : undefined
}

/** @type {import("./tables.mjs").Report} */
export const changes = {
  introduction: (measurements) =>
    "PUSH to PULL between two network namespaces, messages of 128 KiB: a stream that changes from Lorem ipsum to random bytes to JSON every " +
    "3 s, and a link that changes from 1 Gbit/s to 100 Mbit/s and back every 6 s. MB/s of plaintext in each phase, from the change on; " +
    `medians of ${runsOfEach(measurements)} runs. At most eight messages are queued at either end.`,

  tables(measurements) {
    const run = new Run(measurements)
    return run.cells.map((cell) => {
      const phases = phasesOf(run, cell)
      const rows = run.implementations.map((name) => [
        name,
        ...phases.map((phase) => {
          const measurement = run.get(`${cell}: ${phase}`, name)
          return measurement ? digits(measurement.median) : "—"
        }),
      ])
      const over = phases.map((phase) => {
        const { name } = bestOf(run, cell, phase)
        const ratio = run.ratio(`${cell}: ${phase}`, OURS, name)
        return ratio === undefined ? "—" : digits(ratio)
      })
      return {
        title: cell,
        names: 1,
        rows: [["", ...phases], ...rows, ["default ÷ best fixed level", ...over]],
      }
    })
  },
}
