/** The rows that a filter leaves, found piece by piece while more rows come. */
import { type Filter, type FilterRow, parseFilter, type RowKind } from "../capture/filter.js"
import type { CaptureIndex } from "./capture-index.js"
import { Column } from "./columns.js"

/** Rows that are looked at before others get their turn. */
const STEP_ROWS = 20_000

export class View {
  readonly number: number
  readonly filter: string
  readonly #index: CaptureIndex
  /** Undefined when every row is wanted. */
  readonly #wanted: Filter | undefined
  readonly #rows = new Column(Uint32Array)
  /** Rows of the capture that were tested. */
  #seen = 0

  /** Throws a SyntaxError, in words for the user, where `filter` is wrong. */
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

  /** The row of the capture at a place of the view. */
  at(place: number): number {
    return this.#wanted ? this.#rows.get(place) : place
  }

  /** Looks at some of the rows that are new. */
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

/** A row as filters see it: nothing is looked up before it is asked for. */
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

  get kinds(): readonly RowKind[] {
    const kind = this.#index.kind(this.#row)
    if (kind === "command" || kind === "error") return [kind]
    const kinds: RowKind[] = this.#index.forms(this.#row)
    if (kind === "message") kinds.push("message")
    if (this.#index.failed(this.#row)) kinds.push("error")
    return kinds
  }

  get text(): string {
    return this.#index.text(this.#row)
  }
}
