/** Limits on what tests in test/quiet measure. Each should be at least five times what an idle machine shows. */
import { expect } from "vitest"

/** Prints what was measured, and expects it to be at most `limit`. */
export function expectAtMost(limit: number, what: string, measured: number, unit: string): void {
  console.log(`measured: ${what}: ${format(measured)} ${unit}, at most ${format(limit)} ${unit}`)
  expect(measured, what).toBeLessThanOrEqual(limit)
}

const format = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: 3 })
