/** Returns the smallest of … 0.5, 1, 2, 5, 10, 20, 50 … that is at least `number`, which is above 0. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  // The last digit of powers below 1 may be inexact.
  return power * [1, 2, 5, 10].find((factor) => factor * power >= number * (1 - 1e-9))!
}
