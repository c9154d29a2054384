/** Statistics of repeated measurements. */

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
 * Divides one measurement by another: the median of the ratios of each round, so that a round on a slow
 * machine affects both sides.
 * @param {{ values: readonly number[] }} measurement @param {{ values: readonly number[] }} other
 */
export const ratio = (measurement, other) =>
  median(measurement.values.map((value, round) => value / other.values[round]))
