/** The rows that match a filter, found in steps while rows are added. */
import { type Filter, type FilterKind, type FilterRow, parseFilter } from "../capture/filter.js"
import type { CaptureIndex } from "./capture-index.js"
import { Column } from "./columns.js"

/** Number of rows that are tested in one step. */
const STEP_ROWS = 20_000

export class View {
  readonly number: number
  readonly filter: string
  readonly #index: CaptureIndex
  /** Undefined if every row matches. */
  readonly #wanted: Filter | undefined
  readonly #rows = new Column(Uint32Array)
  /** Number of rows of the capture that were tested. */
  #seen = 0

  /** Throws a SyntaxError, with a message for the user, if `filter` is invalid. */
  constructor(index: CaptureIndex, number: number, filter: string) {
    this.#index = index
    this.number = number
    this.filter = filter
    this.#wanted = filter.trim() === "" ? undefined : parseFilter(filter)
  }

  get length(): number {
    return this.#wanted ? this.#rows.length : this.#seen
  }

  get complete(): boolean {
    return this.#seen === this.#index.rows
  }

  /** Returns the index in the capture of a row of the view. */
  at(place: number): number {
    return this.#wanted ? this.#rows.get(place) : place
  }

  /** Tests some of the new rows. */
  step(): void {
    const { rows } = this.#index
    if (this.#wanted) {
      const end = Math.min(rows, this.#seen + STEP_ROWS)
      for (let row = this.#seen; row < end; row++)
        if (this.#wanted(new IndexedRow(this.#index, row))) this.#rows.push(row)
      this.#seen = end
    } else this.#seen = rows
  }
}

/** A row for filters. Its properties are only looked up when they are read. */
class IndexedRow implements FilterRow {
  readonly #index: CaptureIndex
  readonly #row: number

  constructor(index: CaptureIndex, row: number) {
    this.#index = index
    this.#row = row
  }

  get connection(): number {
    return this.#index.connectionId(this.#row)
  }

  get client(): string {
    return this.#index.connection(this.connection)?.client ?? ""
  }

  get server(): string {
    return this.#index.connection(this.connection)?.server ?? ""
  }

  get from(): FilterRow["from"] {
    return this.#index.from(this.#row)
  }

  get kinds(): readonly FilterKind[] {
    const kind = this.#index.kind(this.#row)
    if (kind === "command" || kind === "error") return [kind]
    const kinds: FilterKind[] = this.#index.forms(this.#row)
    if (kind === "message") kinds.push("message")
    if (this.#index.failed(this.#row)) kinds.push("error")
    return kinds
  }

  get text(): string {
    return this.#index.text(this.#row)
  }
}
