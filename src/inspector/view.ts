/** The rows that match a filter, found in steps while rows are added. */
import type { CaptureEvent } from "../capture/events.js"
import { type Filter, parseFilter } from "../capture/filter/filter.js"
import { type FilterKind, type FilterRow, filterRow } from "../capture/filter/row.js"
import type { CaptureIndex } from "./capture-index.js"
import { Column } from "./columns.js"
import { STEP_MILLISECONDS } from "./steps.js"

/** Number of rows after which the clock is read, unless texts are searched. */
const CLOCK_ROWS = 64

export class View {
  number: number
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

  /** The next row to be tested. */
  get next(): number {
    return this.#seen
  }

  get complete(): boolean {
    return this.#seen === this.#index.rows
  }

  /** Whether the next row is to be tested by `test`, because the index does not have all of its text. */
  get needsEvent(): boolean {
    return !this.complete && this.#wanted?.readsText === true && this.#index.isCut(this.#seen)
  }

  /** Returns the index in the capture of a row of the view. */
  at(place: number): number {
    return this.#wanted ? this.#rows.get(place) : place
  }

  /** Returns the place of a row of the capture; undefined if it is not in the view. */
  placeOf(row: number): number | undefined {
    if (!this.#wanted) return row < this.#seen ? row : undefined
    let low = 0
    let high = this.#rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#rows.get(middle) < row) low = middle + 1
      else high = middle
    }
    return low < this.#rows.length && this.#rows.get(low) === row ? low : undefined
  }

  /** Tests some of the new rows, up to one that needs its event. */
  step(milliseconds: number = STEP_MILLISECONDS): void {
    if (!this.#wanted) {
      this.#seen = this.#index.rows
      return
    }
    const end = performance.now() + milliseconds
    const clockRows = this.#wanted.readsText ? 1 : CLOCK_ROWS
    while (!this.complete && !this.needsEvent) {
      this.#add(this.#wanted(new IndexedRow(this.#index, this.#seen)))
      if (this.#seen % clockRows === 0 && performance.now() >= end) return
    }
  }

  /** Tests the next row by its event. */
  test(event: CaptureEvent): void {
    this.#add(this.#wanted?.(filterRow(event, this.#index.origin)) ?? true)
  }

  /** Tests the next row by what the index has of it. */
  testCut(): void {
    this.#add(this.#wanted?.(new IndexedRow(this.#index, this.#seen)) ?? true)
  }

  #add(matches: boolean): void {
    const row = this.#seen++
    if (matches && this.#wanted) this.#rows.push(row)
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
    return this.#index.connections.get(this.connection)?.client ?? ""
  }

  get server(): string {
    return this.#index.connections.get(this.connection)?.server ?? ""
  }

  get from(): FilterRow["from"] {
    return this.#index.from(this.#row)
  }

  get kinds(): readonly FilterKind[] {
    const kind = this.#index.kind(this.#row)
    if (kind !== "message" && kind !== "dictionary") return [kind]
    const kinds: FilterKind[] = this.#index.forms(this.#row)
    if (kind === "message") kinds.push("message")
    if (this.#index.failed(this.#row)) kinds.push("error")
    return kinds
  }

  get time(): bigint | undefined {
    const time = this.#index.time(this.#row)
    return Number.isNaN(time) ? undefined : this.start! + BigInt(time)
  }

  get start(): bigint | undefined {
    return this.#index.origin
  }

  get parts(): number | undefined {
    return this.#index.parts(this.#row)
  }

  get size(): number | undefined {
    const kind = this.#index.kind(this.#row)
    return kind === "message" || kind === "command" ? this.#index.plainBytes(this.#row) : undefined
  }

  get wire(): number | undefined {
    return this.#index.hasWire(this.#row) ? this.#index.wireBytes(this.#row) : undefined
  }

  get text(): string {
    return this.#index.text(this.#row)
  }
}
