import type { CaptureEvent } from "../capture/events.js"

/** What `inspect` prints about a whole capture in place of its rows: text, or lines of JSON. */
export interface InspectReport {
  /** Adds an event, and whether it matches the filter. Returns the lines that can be printed now. */
  add(event: CaptureEvent, matches: boolean): string[]
  /** Returns the lines at the end of the capture. The signal says that the user does not want to wait for more. */
  lines(signal: AbortSignal): string[] | Promise<string[]>
}
