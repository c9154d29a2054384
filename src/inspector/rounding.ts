/** The smallest of … 0.5, 1, 2, 5, 10, 20, 50 … that is not less than a number above 0. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  // Of powers below 1 the last digit may be off.
  return power * [1, 2, 5, 10].find((factor) => factor * power >= number * (1 - 1e-9))!
}
