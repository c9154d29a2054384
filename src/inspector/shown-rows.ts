/** The rows that the page shows: filtered, sorted and drawn as charts, in steps. */
import type { CaptureEvent } from "../capture/events.js"
import type { CaptureIndex } from "./capture-index.js"
import type { Charts, Row, Sorting, ViewState } from "./protocol.js"
import type { Reading } from "./reading.js"
import { RowEvents } from "./row-events.js"
import { chartsOf } from "./series.js"
import { sorted } from "./sorting.js"
import { Repeated } from "./steps.js"
import { View } from "./view.js"

/** The number of views of all captures so far. */
let views = 0

export class ShownRows {
  readonly #index: CaptureIndex
  readonly #newReading: () => Reading
  #view: View
  /** Reads the capture once more for a filter of text: the index has only the beginnings of messages. */
  #search: { view: View; reading: Reading; rowEvents: RowEvents } | undefined
  #sorting: Sorting | undefined
  /** The rows of the view in their order, once it is complete. Those that came later follow. */
  #sorted: Uint32Array | undefined
  readonly #sort = new Repeated((view: View) => sorted(this.#index, view, this.#sorting!))
  #order = 0
  readonly #chart = new Repeated((view: View) => chartsOf(this.#index, view))
  /** Charts that were not reported yet. */
  #charts: Charts | undefined
  #mistake: string | undefined

  constructor(index: CaptureIndex, newReading: () => Reading) {
    this.#index = index
    this.#newReading = newReading
    this.#view = new View(index, ++views, "")
  }

  /** Shows the rows that match `text`; if it is invalid, the state has the reason. */
  filter(text: string): void {
    try {
      this.#view = new View(this.#index, ++views, text)
      this.#forgetOrder()
      this.#mistake = undefined
    } catch (error) {
      this.#mistake = (error as Error).message
    }
  }

  sort(sorting: Sorting | undefined): void {
    this.#sorting = sorting
    this.#forgetOrder()
    this.#view.number = ++views
  }

  #forgetOrder(): void {
    this.#sorted = undefined
    this.#sort.forget()
  }

  get isFiltered(): boolean {
    return this.#view.filter.trim() !== ""
  }

  /** Returns which rows of the capture match the filter. */
  matching(): (row: number) => boolean {
    const view = this.#view
    if (!view.complete)
      throw new Error("The filter is still searching: try again when it has found all rows.")
    const wanted = new Uint8Array(this.#index.rows)
    for (let place = 0; place < view.length; place++) wanted[view.at(place)] = 1
    return (row) => wanted[row] === 1
  }

  rows(view: number, from: number, count: number): Row[] {
    const rows: Row[] = []
    if (view !== this.#view.number) return rows
    for (let i = from; i < Math.min(from + count, this.#view.length); i++)
      rows.push(this.#index.row(this.#at(i)))
    return rows
  }

  place(view: number, row: number): number | undefined {
    if (view !== this.#view.number) return undefined
    const place = this.#sorted?.indexOf(row - 1) ?? -1
    return place >= 0 ? place : this.#view.placeOf(row - 1)
  }

  /** Returns the index in the capture of the row at `place`. */
  rowAt(view: number, place: number): number {
    if (view !== this.#view.number || place >= this.#view.length)
      throw new RangeError("This row is not there any more.")
    return this.#at(place)
  }

  #at(place: number): number {
    return this.#sorted?.[place] ?? this.#view.at(place)
  }

  /**
   * Tests the row of `event`, which was added last, unless the rows before take `milliseconds`. If it is
   * tested later, the files are read again for it.
   */
  testNewest(event: CaptureEvent, milliseconds: number): void {
    this.#view.step(milliseconds)
    if (this.#view.next === this.#index.rows - 1) this.#view.test(event)
  }

  /** Whether all rows that there are have been tested. */
  get isComplete(): boolean {
    return this.#view.complete
  }

  /**
   * Tests rows for some time. If the filter fails, all rows are shown, and other filters can follow.
   *
   * @param first the reading that finds the rows.
   * @param isOver whether it has ended.
   */
  async test(first: Reading | undefined, isOver: boolean): Promise<void> {
    const view = this.#view
    try {
      view.step()
      if (!view.needsEvent || !first) return
      // Files that have changed may end before the row: then what the index has of it is tested.
      if (!(await this.#searchSome(view, first)) && isOver) view.testCut()
    } catch (error) {
      this.#mistake = (error as Error).message
      this.#view = new View(this.#index, ++views, "")
    }
  }

  /** Tests the rows of the next piece. Returns false if the first reading has not read it yet. */
  async #searchSome(view: View, first: Reading): Promise<boolean> {
    if (this.#search?.view !== view) {
      this.close()
      this.#search = { view, reading: this.#newReading(), rowEvents: new RowEvents() }
    }
    const { reading, rowEvents } = this.#search
    if (reading.steps === first.steps) return false
    await reading.repeat(first, (events) => {
      for (const event of events) {
        const row = rowEvents.take(event)
        if (row && rowEvents.rows - 1 === view.next) view.test(row)
      }
    })
    return true
  }

  /** Returns whether the order or the charts do not include all rows. */
  get isStale(): boolean {
    return this.#chart.isStale(this.#view) || (!!this.#sorting && this.#sort.isStale(this.#view))
  }

  /**
   * Sorts, or makes charts, for some time. Returns false if neither is due.
   *
   * @param isSettled whether no more rows will come, so that it is worth doing at once.
   * @param canSort whether the rows are all that there are, for now at least.
   */
  arrange(isSettled: boolean, canSort: boolean): boolean {
    const view = this.#view
    if (this.#sorting && canSort && this.#sort.isDue(view, isSettled)) {
      const rows = this.#sort.step(view)
      if (rows) this.#showSorted(rows)
      return true
    }
    if (!this.#chart.isDue(view, isSettled)) return false
    this.#charts = this.#chart.step(view) ?? this.#charts
    return true
  }

  #showSorted(rows: Uint32Array): void {
    // Only a sorted view may change its order. One that was not sorted becomes another view.
    if (this.#sorted) this.#order++
    else this.#view.number = ++views
    this.#sorted = rows
  }

  get state(): ViewState {
    const { number, filter, length, complete } = this.#view
    return {
      number,
      order: this.#order,
      filter,
      rows: length,
      filtering: !complete,
      searchedBytes: complete ? undefined : this.#search?.reading.bytesRead,
      mistake: this.#mistake,
    }
  }

  /** Returns the newest charts, once. */
  takeCharts(): Charts | undefined {
    const charts = this.#charts
    this.#charts = undefined
    return charts
  }

  /** Ends the search for text. */
  close(): void {
    this.#search?.reading.close()
    this.#search = undefined
  }
}
