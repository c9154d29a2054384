/**
 * Returns the index of the first of sorted ranges that ends after a position. The last range is looked
 * at first, because most pieces arrive in order.
 */
export function firstEndingAfter(ranges: readonly { end: number }[], position: number): number {
  let low = 0
  let high = ranges.length
  if (high > 0 && (ranges[high - 1] as { end: number }).end <= position) return high
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[middle] as { end: number }).end <= position) low = middle + 1
    else high = middle
  }
  return low
}
