import { type CaptureFilter, eventFilter } from "../capture/filter/capture-filter.js"
import { parseFilter } from "../capture/filter/filter.js"
import { UsageError } from "./errors.js"

/** Combines all --filter options into one filter; undefined if there are none. */
export function filterOf(
  expressions: readonly string[] = [],
  utc = false,
): CaptureFilter | undefined {
  if (expressions.length === 0) return undefined
  try {
    const filters = expressions.map((expression) => parseFilter(expression, { utc }))
    return eventFilter((row) => filters.every((matches) => matches(row)))
  } catch (error) {
    throw new UsageError(`--filter: ${(error as SyntaxError).message}`)
  }
}
