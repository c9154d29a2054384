/** Statistics of values that were measured several times. */

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** @param {readonly number[]} values */
export const summary = (values) => ({
  median: median(values),
  minimum: Math.min(...values),
  maximum: Math.max(...values),
  runs: values.length,
})

/**
 * One measurement as a multiple of another. Each round is compared with itself before the median is
 * taken, so that a machine that was slow for a while slows both sides.
 * @param {{ values: readonly number[] }} measurement @param {{ values: readonly number[] }} other
 */
export const ratio = (measurement, other) =>
  median(measurement.values.map((value, round) => value / other.values[round]))
