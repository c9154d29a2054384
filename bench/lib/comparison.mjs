/** Compares two runs of a benchmark. */
import { Run } from "./run.mjs"

/** @typedef {import("./results.mjs").Line} Line */
/** @typedef {import("./results.mjs").Measurement} Measurement */

/** @typedef {"regression" | "improvement" | "same"} Verdict */
/** @typedef {{ name: string, implementation: string, before: Measurement, after: Measurement, verdict: Verdict }} Change */

/** Units in which higher values are better. */
const MORE_IS_BETTER = ["msg/s", "MB/s"]
/** Minimum change that is reported, even if values hardly vary. */
const LEAST_CHANGE = 0.03

/**
 * Compares the medians of two measurements whose ranges do not overlap.
 * @param {Measurement} before @param {Measurement} after
 * @returns {Verdict}
 */
export function verdict(before, after) {
  const change = after.median / before.median - 1
  if (before.median === after.median || Math.abs(change) < LEAST_CHANGE) return "same"
  const isApart = change > 0 ? after.minimum > before.maximum : after.maximum < before.minimum
  if (!isApart) return "same"
  return change > 0 === MORE_IS_BETTER.includes(after.unit) ? "improvement" : "regression"
}

/** Compares all measurements that both runs have. @param {readonly Measurement[]} before @param {readonly Measurement[]} after @returns {Change[]} */
export function compareRuns(before, after) {
  const run = new Run(before)
  return after.flatMap((measurement) => {
    const { name, implementation } = measurement
    const other = run.get(name, implementation)
    return other
      ? [
          {
            name,
            implementation,
            before: other,
            after: measurement,
            verdict: verdict(other, measurement),
          },
        ]
      : []
  })
}
