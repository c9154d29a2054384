/** A capture that is being read or was read: its rows, and the view of them that the page shows. */
import type { CaptureEvent } from "../capture/events.js"
import { CaptureFormatError } from "../capture/index.js"
import type { ReportTable } from "../capture/reports/report.js"
import type { CaptureFile } from "./capture-file.js"
import { CaptureIndex } from "./capture-index.js"
import { ContentSearch } from "./content-search.js"
import { GrowingFile } from "./growing-file.js"
import { Opened } from "./opened.js"
import type { Charts, Details, Phase, Row, Saved, Sorting, State } from "./protocol.js"
import { Reading } from "./reading.js"
import { Repeated } from "./repeated.js"
import { Reporting } from "./reporting.js"
import { Saving } from "./saving.js"
import { chartsOf } from "./series.js"
import { sorted } from "./sorting.js"
import { STEP_MILLISECONDS, View } from "./view.js"

const STATE_MILLISECONDS = 100

/** The number of views of all captures so far. */
let views = 0

export class Loading {
  readonly #capture: number
  readonly #files: readonly CaptureFile[]
  /** The recording in progress that is followed, if it is one. */
  readonly #growing: GrowingFile | undefined
  readonly #dictionary: Uint8Array | undefined
  readonly #report: (state: State) => void
  readonly #index = new CaptureIndex()
  readonly #started = performance.now()
  #view = new View(this.#index, ++views, "")
  #search: ContentSearch | undefined
  #sorting: Sorting | undefined
  /** The rows of the view in their order, once it is complete. Those that came later follow. */
  #sorted: Uint32Array | undefined
  readonly #sort = new Repeated<Uint32Array>()
  #order = 0
  readonly #chart = new Repeated<Charts>()
  /** Charts that were not reported yet. */
  #charts: Charts | undefined
  #mistake: string | undefined
  #opened: Opened | undefined
  /**
   * Counts the calls of `details`: a long message may be ready after a short one that was requested
   * later.
   */
  #openings = 0
  #phase: Phase = "reading"
  #failure: string | undefined
  /** The reading that finds the rows. */
  #first: Reading | undefined
  /** The readings of the whole capture that are under way besides. */
  readonly #again = new Set<Promise<void>>()
  #milliseconds = 0
  /** Whether no more rows will be added. */
  #isOver = false
  #closed = false
  #close = () => {}
  readonly #closing = new Promise<void>((resolve) => {
    this.#close = resolve
  })
  #looking = false
  #reportedAt = 0

  constructor(
    capture: number,
    files: readonly CaptureFile[],
    dictionary: Uint8Array | undefined,
    report: (state: State) => void,
  ) {
    this.#capture = capture
    this.#files = files
    this.#dictionary = dictionary
    this.#report = report
    this.#growing = files.find((file) => file instanceof GrowingFile)
    if (this.#growing) this.#phase = "live"
  }

  /** Reads the file to its end, unless it is cancelled. Does not throw. */
  async run(): Promise<void> {
    try {
      await this.#read()
      if (this.#isReading) this.#phase = "done"
    } catch (error) {
      this.#phase = "failed"
      this.#failure = this.#failureOf(error as Error)
    }
    this.#isOver = true
    this.#milliseconds = performance.now() - this.#started
    await this.#look()
  }

  cancel(): void {
    if (this.#growing) this.#growing.end()
    else if (this.#phase === "reading") this.#phase = "cancelled"
  }

  /**
   * Ends all work: another capture was opened. Resolves once the files are not read any more, as what is being
   * saved or added up goes on.
   */
  async close(): Promise<void> {
    if (this.#isReading) this.#phase = "cancelled"
    this.#closed = true
    this.#close()
    if (!this.#looking) this.#search?.close()
    await Promise.allSettled(this.#again)
  }

  filter(text: string): void {
    try {
      this.#view = new View(this.#index, ++views, text)
      this.#sorted = undefined
      this.#sort.forget()
      this.#mistake = undefined
    } catch (error) {
      this.#mistake = (error as Error).message
    }
    this.#reportedAt = 0
    void this.#look()
  }

  sort(sorting: Sorting | undefined): void {
    this.#sorting = sorting
    this.#sorted = undefined
    this.#sort.forget()
    this.#view.number = ++views
    this.#reportedAt = 0
    void this.#look()
  }

  async save(form: Saved): Promise<Blob> {
    const saving = new Saving(form, this.#matching())
    await this.#readAgain((events) => saving.add(events))
    return saving.blob
  }

  /** Returns tables about the rows that match. */
  async reports(): Promise<ReportTable[]> {
    const reporting = new Reporting(this.#matching(), this.#view.filter.trim() !== "")
    await this.#readAgain((events) => reporting.add(events))
    return reporting.tables
  }

  /** Returns which rows match the filter. */
  #matching(): (row: number) => boolean {
    const view = this.#view
    if (!view.complete)
      throw new Error("The filter is still searching: try again when it has found all rows.")
    const wanted = new Uint8Array(this.#index.rows)
    for (let place = 0; place < view.length; place++) wanted[view.at(place)] = 1
    return (row) => wanted[row] === 1
  }

  /** Reads the capture once more, up to where it was read. */
  #readAgain(add: (events: readonly CaptureEvent[]) => void): Promise<void> {
    const again = this.#readFirstAgain(add).finally(() => this.#again.delete(again))
    this.#again.add(again)
    return again
  }

  async #readFirstAgain(add: (events: readonly CaptureEvent[]) => void): Promise<void> {
    const first = this.#first
    if (!first) throw new Error("There are no rows: nothing of the capture has been read.")
    const { steps: until } = first
    const reading = this.#newReading()
    try {
      while (reading.steps < until) {
        await reading.repeat(first, add)
        await turn()
      }
    } finally {
      reading.close()
    }
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

  /** Returns the index in the capture of a row of the page. */
  #at(place: number): number {
    return this.#sorted?.[place] ?? this.#view.at(place)
  }

  async details(view: number, place: number): Promise<Details> {
    if (view !== this.#view.number || place >= this.#view.length)
      throw new RangeError("This row is not there any more.")
    const opening = ++this.#openings
    const opened = await Opened.read(this.#index, this.#files, this.#at(place))
    if (opening === this.#openings) this.#opened = opened
    return opened.details
  }

  /** The row whose details were requested last. */
  get opened(): Opened {
    if (!this.#opened) throw new Error("No message is open.")
    return this.#opened
  }

  async #read(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.open()))
    const reading = this.#newReading()
    this.#first = reading
    try {
      while (!reading.ended && this.#isReading) {
        if (this.#growing && this.#isUpToDate) {
          await this.#wait(this.#growing)
          continue
        }
        await reading.step((events) => this.#add(events))
        await this.#look()
      }
    } finally {
      reading.close()
    }
  }

  get #isReading(): boolean {
    return this.#phase === "reading" || this.#phase === "live"
  }

  /** Whether everything that there is of a recording in progress has been read. */
  get #isUpToDate(): boolean {
    const { size, ended } = this.#growing ?? { size: 0, ended: true }
    return !ended && this.#first?.bytesRead === size
  }

  /** Waits until a recording in progress grows. */
  async #wait(growing: GrowingFile): Promise<void> {
    const change = growing.change()
    await this.#look()
    this.#reportNow()
    const isStale =
      this.#chart.isStale(this.#view) || (this.#sorting && this.#sort.isStale(this.#view))
    const again = isStale ? [sleep(STATE_MILLISECONDS)] : []
    await Promise.race([change, this.#closing, ...again])
  }

  #newReading(): Reading {
    return new Reading(this.#files, this.#dictionary)
  }

  #add(events: readonly CaptureEvent[]): void {
    const end = performance.now() + STEP_MILLISECONDS
    for (const event of events) {
      const row = this.#index.add(event)
      // A view that is up to date tests the event now, or it would have to read the files again for it.
      if (!row || !this.#index.isCut(this.#index.rows - 1)) continue
      const left = end - performance.now()
      if (left <= 0) continue
      this.#view.step(left)
      if (this.#view.next === this.#index.rows - 1) this.#view.test(row)
    }
  }

  /** Returns the message without its code, which is for programs, and with the file that it is about. */
  #failureOf(error: Error): string {
    const file = error instanceof CaptureFormatError ? this.#files[error.file] : undefined
    const name = file && file !== this.#growing ? `${file.name}: ` : ""
    return name + String(error.message).replace(/^ERR_[A-Z_]+: /, "")
  }

  /** Updates the view in steps, between which calls of the page are handled. */
  async #look(): Promise<void> {
    if (this.#looking || this.#closed) return
    this.#looking = true
    do {
      await this.#step()
      this.#work()
      this.#reportSometimes()
      await turn()
    } while (this.#hasWork && !this.#closed)
    this.#looking = false
    if (this.#closed) this.#search?.close()
    else this.#reportSometimes()
  }

  /** Whether rows have to be tested, or sorting or charts are due. */
  get #hasWork(): boolean {
    const view = this.#view
    if (!view.complete) return true
    return (
      this.#canSort &&
      ((this.#sorting !== undefined && this.#sort.isDue(view, !this.#isReading)) ||
        this.#chart.isDue(view, !this.#isReading))
    )
  }

  /** Whether the rows are all that there are, for now at least. */
  get #canSort(): boolean {
    return !this.#isReading || this.#isUpToDate
  }

  /** Sorts, or makes charts, for some time. */
  #work(): void {
    const view = this.#view
    const sorting = this.#sorting
    if (!view.complete) return
    if (sorting && this.#canSort && this.#sort.isDue(view, !this.#isReading)) {
      const rows = this.#sort.step(view, () => sorted(this.#index, view, sorting))
      if (rows) this.#showSorted(rows)
    } else if (this.#chart.isDue(view, !this.#isReading)) {
      this.#charts = this.#chart.step(view, () => chartsOf(this.#index, view)) ?? this.#charts
    }
  }

  #showSorted(rows: Uint32Array): void {
    // Only a sorted view may change its order. One that was not sorted becomes another view.
    if (this.#sorted) this.#order++
    else this.#view.number = ++views
    this.#sorted = rows
    this.#reportedAt = 0
  }

  /** Tests some rows. If the filter fails, all rows are shown, and other filters can follow. */
  async #step(): Promise<void> {
    try {
      this.#view.step()
      if (this.#view.needsEvent && this.#first) await this.#searchSome(this.#first)
    } catch (error) {
      this.#mistake = (error as Error).message
      this.#view = new View(this.#index, ++views, "")
    }
  }

  /** Tests some rows that need to be read again. */
  async #searchSome(first: Reading): Promise<void> {
    if (this.#search?.view !== this.#view) {
      this.#search?.close()
      this.#search = new ContentSearch(this.#view, this.#newReading())
    }
    const view = this.#view
    // Files that have changed may end before the row: then what the index has of it is tested.
    if (!(await this.#search.step(first)) && this.#isOver) view.stepCut()
  }

  #reportSometimes(): void {
    const isSettled = !this.#isReading && !this.#looking
    if (isSettled || performance.now() - this.#reportedAt >= STATE_MILLISECONDS) this.#reportNow()
  }

  #reportNow(): void {
    if (this.#closed) return
    const now = performance.now()
    this.#reportedAt = now
    const charts = this.#charts
    this.#charts = undefined
    this.#report({
      capture: this.#capture,
      phase: this.#phase,
      failure: this.#failure,
      followed: this.#growing !== undefined,
      ending: this.#growing?.ending,
      bytes: sizeOf(this.#files),
      bytesRead: this.#first?.bytesRead ?? 0,
      milliseconds: this.#isReading ? now - this.#started : this.#milliseconds,
      rows: this.#index.rows,
      messages: this.#index.messages,
      plainBytes: this.#index.totalPlainBytes,
      wireBytes: this.#index.totalWireBytes,
      errors: this.#index.errors,
      unread: this.#first?.unread ?? new Map(),
      refused: this.#first?.refused ?? new Map(),
      origin: this.#index.origin,
      connections: this.#index.summaries(),
      connectionCount: this.#index.connectionCount,
      view: {
        number: this.#view.number,
        order: this.#order,
        filter: this.#view.filter,
        rows: this.#view.length,
        filtering: !this.#view.complete,
        searchedBytes: this.#view.complete ? undefined : this.#search?.bytesRead,
        mistake: this.#mistake,
      },
      charts,
    })
  }
}

const sizeOf = (files: readonly CaptureFile[]): number =>
  files.reduce((sum, { size }) => sum + size, 0)

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Lets queued messages be handled. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}
