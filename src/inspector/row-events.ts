/** The events that have rows, in order, within the page's limits. */
import { KEPT_CONNECTIONS_MAX, tooManyConnections } from "../capture/decode-capture.js"
import { timeOf } from "../capture/event-time.js"
import type { CaptureError, CaptureEvent } from "../capture/events.js"
import { hasRow } from "../capture/rows.js"

/** Maximum number of rows: each takes some 100 to 200 bytes. */
const MAX_ROWS = 8_000_000

export class RowEvents {
  readonly #maxRows: number
  /** Number of rows so far. */
  rows = 0

  constructor(maxRows: number = MAX_ROWS) {
    this.#maxRows = maxRows
  }

  /**
   * Returns the event of the next row: this one, or an error that says that this and others have no
   * row; undefined if there is none.
   */
  take(event: CaptureEvent): CaptureEvent | undefined {
    if ((event.connection?.id ?? 0) > KEPT_CONNECTIONS_MAX) {
      if (event.type !== "connection" || event.connection.id > KEPT_CONNECTIONS_MAX + 1)
        return undefined
      return this.#taken(ofFile(tooManyConnections(event.time)))
    }
    if (!hasRow(event) || this.rows > this.#maxRows) return undefined
    const isTooMany = this.rows === this.#maxRows
    return this.#taken(isTooMany ? ofFile(tooManyRows(event, this.#maxRows)) : event)
  }

  #taken(event: CaptureEvent): CaptureEvent {
    this.rows++
    return event
  }
}

const ofFile = (error: CaptureError): CaptureEvent => ({
  type: "error",
  connection: undefined,
  error,
})

/** Returns the error for the first row that is not kept. */
function tooManyRows(event: CaptureEvent, max: number): CaptureError {
  const message = `there are more than ${max} rows: the rest are only counted; zeromq-lz4 inspect shows all`
  const time = event.type === "message" ? timeOf(event) : undefined
  return { code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset: 0 }
}
