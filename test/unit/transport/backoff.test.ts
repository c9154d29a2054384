/** The pauses between attempts to connect. */
import { expect, test } from "vitest"

import { Backoff } from "../../../src/transport/backoff.js"

const pauses = (backoff: Backoff, count: number) =>
  Array.from({ length: count }, () => backoff.next())

/** A pause is random: at least the minimum, and less than the first pause above it. */
function expectPauses(backoff: Backoff, least: readonly number[]): void {
  for (const [i, pause] of pauses(backoff, least.length).entries()) {
    expect(pause).toBeGreaterThanOrEqual(least[i] as number)
    expect(pause).toBeLessThan((least[i] as number) + 100)
  }
}

test("without a maximum, pauses stay the same except for a random part", () => {
  expectPauses(new Backoff(100, 0), [100, 100, 100, 100])
})

test.each([50, 100])("a maximum of %i also limits the first pause of 100", (max) => {
  expect(pauses(new Backoff(100, max), 3)).toEqual([max, max, max])
})

test("pauses double up to the maximum, and start again after a connection", () => {
  const backoff = new Backoff(100, 500)
  expect(pauses(backoff, 5)).toEqual([100, 200, 400, 500, 500])
  backoff.reset()
  expect(pauses(backoff, 4)).toEqual([100, 200, 400, 500])
})

test.each([0, -1])("an interval of %i allows no second attempt", (interval) => {
  expect(pauses(new Backoff(interval, 1000), 2)).toEqual([undefined, undefined])
})

test("no pause is longer than setTimeout() supports", () => {
  const longest = 2 ** 31 - 1
  for (const first of [2 ** 30 + 1, longest])
    for (const max of [0, 1, longest]) {
      const all = pauses(new Backoff(first, max), 100) as number[]
      expect(Math.max(...all)).toBeLessThanOrEqual(longest)
      expect(Math.min(...all)).toBeGreaterThanOrEqual(max === 1 ? 1 : first)
    }
})
