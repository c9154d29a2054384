import { shown, wrongType } from "../../codec/errors.js"
import { ownOptions } from "../../codec/options.js"
import { timeOf } from "../event-time.js"
import type { CaptureEvent, Time } from "../events.js"
import { type FilterOptions, parseFilter } from "./filter.js"
import { type FilterRow, filterRow } from "./row.js"

/** A function that returns whether an event matches. Call it with all events of a capture, in order. */
export type CaptureFilter = (event: CaptureEvent) => boolean

/**
 * Makes a filter of the events of a capture, in the language of `zeromq-lz4 inspect --filter` and the
 * inspector's page: docs/filters.md. An empty one matches everything.
 *
 * @throws SyntaxError, which says where `expression` cannot be understood and what is allowed there.
 * @throws TypeError if an argument has another type.
 */
export function captureFilter(expression: string, options: FilterOptions = {}): CaptureFilter {
  if (typeof expression !== "string")
    throw wrongType(`expression must be a string; got ${shown(expression)}`)
  const { utc } = ownOptions(options, ["utc"])
  if (utc !== undefined && typeof utc !== "boolean")
    throw wrongType(`utc must be a boolean; got ${shown(utc)}`)
  return eventFilter(parseFilter(expression, { utc: utc === true }))
}

/** Makes a filter of events from one of rows. */
export function eventFilter(matches: (row: FilterRow) => boolean): CaptureFilter {
  let start: Time
  return (event) => {
    start ??= timeOf(event)
    return matches(filterRow(event, start))
  }
}
