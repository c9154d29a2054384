/** Adds a range to `ranges`, pairs of an offset and a length, or to the last one if that ends there. */
export function appendRange(ranges: number[], offset: number, length: number): void {
  const last = ranges.length - 2
  if (last >= 0 && (ranges[last] as number) + (ranges[last + 1] as number) === offset)
    ranges[last + 1] = (ranges[last + 1] as number) + length
  else ranges.push(offset, length)
}
