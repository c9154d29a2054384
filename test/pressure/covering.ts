/** Covering arrays: few combinations of factors that include all small sets of values. */
import { createRandom } from "../../bench/random.mjs"

export type Factors = Record<string, readonly unknown[]>
export type Row<F extends Factors> = { -readonly [Name in keyof F]: F[Name][number] }

/** Number of candidates for each row. */
const CANDIDATES = 30

/** Returns all ways to choose `size` of `count`. */
function choices(count: number, size: number, from = 0): number[][] {
  if (size === 0) return [[]]
  const all: number[][] = []
  for (let first = from; first < count; first++)
    for (const rest of choices(count, size - 1, first + 1)) all.push([first, ...rest])
  return all
}

/**
 * Creates rows until each set of `strength` values of different factors is in one of them. Each row
 * begins with a missing set, and is the best of several random candidates.
 */
export function coveringRows<F extends Factors>(factors: F, seed: string, strength = 2): Row<F>[] {
  const random = createRandom(`covering ${seed}`)
  const names = Object.keys(factors)
  const values = Object.values(factors)
  const groups = choices(names.length, strength)
  /** Returns the key of a set: its factors and the indexes of their values. */
  const keysOf = (row: number[]): string[] =>
    groups.map((group) => group.map((factor) => `${factor}=${row[factor]}`).join())
  const missing = new Set<string>()
  for (const group of groups) {
    const extend = (row: number[], [factor, ...rest]: number[]): void => {
      if (factor === undefined) missing.add(group.map((f) => `${f}=${row[f]}`).join())
      else
        for (let value = 0; value < (values[factor]?.length ?? 0); value++)
          extend(Object.assign([...row], { [factor]: value }), rest)
    }
    extend([], group)
  }

  const rows: Row<F>[] = []
  while (missing.size > 0) {
    const [wanted] = missing as unknown as [string]
    let best: number[] = []
    let bestCount = 0
    for (let i = 0; i < CANDIDATES; i++) {
      const row = values.map(({ length }) => random.below(length))
      for (const pair of wanted.split(",")) {
        const [factor, value] = pair.split("=").map(Number) as [number, number]
        row[factor] = value
      }
      const count = keysOf(row).filter((key) => missing.has(key)).length
      if (count > bestCount) [best, bestCount] = [row, count]
    }
    for (const key of keysOf(best)) missing.delete(key)
    rows.push(
      Object.fromEntries(names.map((name, i) => [name, values[i]?.[best[i] as number]])) as Row<F>,
    )
  }
  return rows
}
