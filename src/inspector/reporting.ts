/** Adds up tables about the rows that match, while the capture is read once more. */
import type { CaptureEvent } from "../capture/events.js"
import { Exchanges } from "../capture/exchanges/exchanges.js"
import { exchangeReport } from "../capture/reports/exchange-report.js"
import type { ReportTable } from "../capture/reports/report.js"
import { statisticsReport } from "../capture/reports/statistics-report.js"
import { Statistics } from "../capture/statistics/statistics.js"
import { RowEvents } from "./row-events.js"

export class Reporting {
  readonly #matches: (row: number) => boolean
  readonly #rowEvents = new RowEvents()
  readonly #statistics = new Statistics()
  readonly #exchanges = new Exchanges()
  readonly #isFiltered: boolean

  /** @param matches whether a row matches the filter. @param isFiltered whether there is one. */
  constructor(matches: (row: number) => boolean, isFiltered: boolean) {
    this.#matches = matches
    this.#isFiltered = isFiltered
  }

  add(events: readonly CaptureEvent[]): void {
    for (const event of events) {
      const row = this.#rowEvents.take(event)
      // In place of an event that has no row there may be an error that says so.
      const matches = row === event && this.#matches(this.#rowEvents.rows - 1)
      this.#statistics.add(event, matches)
      this.#exchanges.add(event, matches)
    }
  }

  get tables(): ReportTable[] {
    return [
      ...statisticsReport(this.#statistics.summary(), false),
      ...exchangeReport(this.#exchanges.summary(), false, this.#isFiltered),
    ]
  }
}
