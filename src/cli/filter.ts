import { type Filter, parseFilter } from "../capture/filter.js"
import { UsageError } from "./errors.js"

/** Combines all --filter options into one filter; undefined if there are none. */
export function filterOf(expressions: readonly string[] = []): Filter | undefined {
  if (expressions.length === 0) return undefined
  try {
    const filters = expressions.map(parseFilter)
    return (row) => filters.every((matches) => matches(row))
  } catch (error) {
    throw new UsageError(`--filter: ${(error as SyntaxError).message}`)
  }
}
