/** A capture that is being read or was read: its rows, and what the page shows of them. */
import type { CaptureEvent } from "../capture/events.js"
import { CaptureFormatError } from "../capture/index.js"
import type { ReportTable } from "../capture/reports/report.js"
import { loadCurve } from "../curve/load.js"
import { CaptureIndex } from "./capture-index.js"
import { GrowingFile } from "./growing-file.js"
import { KeySource } from "./key-source.js"
import { Opened } from "./opened.js"
import type { Details, GivenSecrets, Phase, Saved, Sorting, State } from "./protocol.js"
import { type CaptureFile, type LoggedKeys, Reading } from "./reading.js"
import { Reporting } from "./reporting.js"
import { Saving } from "./saving.js"
import { ShownRows } from "./shown-rows.js"
import { STEP_MILLISECONDS, sleep, turn } from "./steps.js"

const STATE_MILLISECONDS = 100

type Take = (events: readonly CaptureEvent[]) => void

export class Loading {
  readonly #capture: number
  readonly #files: readonly CaptureFile[]
  /** The recording in progress that is followed, if it is one. */
  readonly #growing: GrowingFile | undefined
  readonly #dictionary: Uint8Array | undefined
  readonly #keySource: KeySource | undefined
  readonly #keys: LoggedKeys[] | undefined
  readonly #report: (state: State) => void
  readonly #index = new CaptureIndex()
  readonly #started = performance.now()
  readonly shown = new ShownRows(this.#index, () => this.#newReading())
  #opened: Opened | undefined
  /** Counts calls of `details`: a long message may be ready after a short one requested later. */
  #openings = 0
  #phase: Phase
  #failure: string | undefined
  /** The reading that finds the rows. */
  #first: Reading | undefined
  /** The readings of the whole capture that are under way besides. */
  readonly #again = new Set<Promise<void>>()
  #milliseconds = 0
  /** Whether another capture was opened. */
  #closed = false
  /** The work under way, until there is nothing left to do. */
  #working: Promise<void> | undefined
  /** Ends the wait for more of a recording. */
  #wake = () => {}
  #reportedAt = 0

  constructor(
    capture: number,
    files: readonly CaptureFile[],
    { dictionary, keys }: GivenSecrets,
    report: (state: State) => void,
  ) {
    this.#capture = capture
    this.#files = files
    this.#dictionary = dictionary
    this.#keySource = keys && new KeySource(keys)
    this.#keys = keys && []
    this.#report = report
    this.#growing = files.find((file) => file instanceof GrowingFile)
    this.#phase = this.#growing ? "live" : "reading"
  }

  /** Reads the files to their end, unless it is cancelled, and shows the rows. Does not throw. */
  run(): Promise<void> {
    this.#wake()
    // Not at once: work that finds nothing to do would end before it is noted here.
    this.#working ??= turn().then(() => this.#work())
    return this.#working
  }

  cancel(): void {
    if (this.#growing) this.#growing.end()
    else if (this.#phase === "reading") this.#endReading("cancelled")
  }

  /** Ends all work but what is being saved or reported. Resolves once no file is read any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
    if (!this.#working) this.shown.close()
    await Promise.allSettled(this.#again)
  }

  filter(text: string): void {
    this.shown.filter(text)
    this.#showSoon()
  }

  sort(sorting: Sorting | undefined): void {
    this.shown.sort(sorting)
    this.#showSoon()
  }

  #showSoon(): void {
    this.#reportedAt = 0
    void this.run()
  }

  async save(form: Saved): Promise<Blob> {
    const saving = new Saving(form, this.shown.matching())
    await this.#readAgain((events) => saving.add(events))
    return saving.blob
  }

  /** Returns tables about the rows that match. */
  async reports(): Promise<ReportTable[]> {
    const reporting = new Reporting(this.shown.matching(), this.shown.isFiltered)
    await this.#readAgain((events) => reporting.add(events))
    return reporting.tables
  }

  /** Reads the capture once more, up to where it was read. */
  #readAgain(take: Take): Promise<void> {
    const again = this.#readFirstAgain(take).finally(() => this.#again.delete(again))
    this.#again.add(again)
    return again
  }

  async #readFirstAgain(take: Take): Promise<void> {
    const first = this.#first
    if (!first) throw new Error("There are no rows: nothing of the capture has been read.")
    const { steps: until } = first
    const reading = this.#newReading()
    try {
      while (reading.steps < until) {
        await reading.repeat(first, take)
        await turn()
      }
    } finally {
      reading.close()
    }
  }

  async details(view: number, place: number): Promise<Details> {
    const row = this.shown.rowAt(view, place)
    const opening = ++this.#openings
    const opened = await Opened.read(this.#index, this.#files, row)
    if (opening === this.#openings) this.#opened = opened
    return opened.details
  }

  /** The row whose details were requested last. */
  get opened(): Opened {
    if (!this.#opened) throw new Error("No message is open.")
    return this.#opened
  }

  /** Does what is most urgent, step by step, until nothing is left. Calls of the page come between. */
  async #work(): Promise<void> {
    for (let step = this.#step(); step; step = this.#step()) {
      await step
      if (performance.now() - this.#reportedAt >= STATE_MILLISECONDS) this.#reportNow()
      await turn()
    }
    this.#working = undefined
    this.#first?.close()
    if (this.#closed) this.shown.close()
    else this.#reportNow()
  }

  /** Tests rows, sorts or draws them, or reads more. Returns undefined if nothing is left to do. */
  #step(): Promise<void> | undefined {
    const isReading = this.#isReading
    if (this.#closed) return undefined
    if (!this.shown.isComplete) return this.shown.test(this.#first, !isReading)
    if (this.shown.arrange(!isReading, !isReading || this.#isUpToDate)) return Promise.resolve()
    if (!isReading) return undefined
    return this.#growing && this.#isUpToDate ? this.#wait(this.#growing) : this.#read()
  }

  async #read(): Promise<void> {
    try {
      // A recording may have nothing to read yet, which is found out before the next step.
      if (!this.#first) {
        await Promise.all(this.#files.map((file) => file.open()))
        if (this.#keySource) await loadCurve()
        this.#first = this.#newReading()
        return
      }
      const text = await this.#keySource?.next(() => this.#growing?.ended ?? true)
      if (text) this.#keys?.push({ step: this.#first.steps, text })
      await this.#first.step((events) => this.#add(events))
      if (this.#first.ended && this.#isReading) this.#endReading("done")
    } catch (error) {
      this.#failure = this.#failureOf(error as Error)
      this.#endReading("failed")
    }
  }

  #endReading(phase: Phase): void {
    this.#phase = phase
    this.#milliseconds = performance.now() - this.#started
  }

  get #isReading(): boolean {
    return this.#phase === "reading" || this.#phase === "live"
  }

  /** Whether everything that there is of a recording in progress has been read. */
  get #isUpToDate(): boolean {
    const { size, ended } = this.#growing ?? { size: 0, ended: true }
    return !ended && this.#first?.bytesRead === size
  }

  /** Waits until a recording in progress grows, the page calls, or sorting or charts may be due. */
  async #wait(growing: GrowingFile): Promise<void> {
    this.#reportNow()
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    const due = this.shown.isStale ? [sleep(STATE_MILLISECONDS)] : []
    await Promise.race([growing.change(), woken, ...due])
  }

  #newReading(): Reading {
    return new Reading(this.#files, { dictionary: this.#dictionary, keys: this.#keys })
  }

  #add(events: readonly CaptureEvent[]): void {
    const end = performance.now() + STEP_MILLISECONDS
    for (const event of events) {
      const row = this.#index.add(event)
      if (!row || !this.#index.isCut(this.#index.rows - 1)) continue
      const left = end - performance.now()
      if (left > 0) this.shown.testNewest(row, left)
    }
  }

  /** Returns the message without its code, which is for programs, and with the file that it is about. */
  #failureOf(error: Error): string {
    const file = error instanceof CaptureFormatError ? this.#files[error.file] : undefined
    const name = file && file !== this.#growing ? `${file.name}: ` : ""
    return name + String(error.message).replace(/^ERR_[A-Z_]+: /, "")
  }

  #reportNow(): void {
    if (this.#closed) return
    const now = performance.now()
    this.#reportedAt = now
    this.#report({
      capture: this.#capture,
      phase: this.#phase,
      failure: this.#failure,
      followed: this.#growing !== undefined,
      ending: this.#growing?.ending,
      bytes: this.#files.reduce((sum, { size }) => sum + size, 0),
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
      connections: this.#index.connections.summaries(),
      connectionCount: this.#index.connections.count,
      view: this.shown.state,
      charts: this.shown.takeCharts(),
    })
  }
}
