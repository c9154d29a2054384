/** A capture that is being read or was read: its rows, and the view of them that the page shows. */
import { CaptureReader } from "../capture/index.js"
import { CaptureIndex } from "./capture-index.js"
import { MAX_MESSAGE_BYTES } from "./limits.js"
import { Opened } from "./opened.js"
import type { Details, Phase, Row, State } from "./protocol.js"
import { chartsOf } from "./series.js"
import { View } from "./view.js"

/** Bytes to read from the file at once. */
const READ_BYTES = 2 << 20
/** Bytes to decode at once: LZ4 expands them up to 255 times. */
const DECODE_BYTES = 256 << 10

const STATE_MILLISECONDS = 100
const CHARTS_MILLISECONDS = 1000

/** The number of views of all captures so far. */
let views = 0

export class Loading {
  readonly #capture: number
  readonly #file: Blob
  readonly #dictionary: Uint8Array | undefined
  readonly #report: (state: State) => void
  readonly #index = new CaptureIndex()
  readonly #started = performance.now()
  #view = new View(this.#index, ++views, "")
  #mistake: string | undefined
  #opened: Opened | undefined
  /**
   * Counts the calls of `details`: a long message may be ready after a short one that was requested
   * later.
   */
  #openings = 0
  #phase: Phase = "reading"
  #failure: string | undefined
  #unread: State["unread"] = new Map()
  #bytesRead = 0
  #milliseconds = 0
  #looking = false
  #reportedAt = 0
  #charted = 0

  constructor(
    capture: number,
    file: Blob,
    dictionary: Uint8Array | undefined,
    report: (state: State) => void,
  ) {
    this.#capture = capture
    this.#file = file
    this.#dictionary = dictionary
    this.#report = report
  }

  /** Reads the file to its end, unless it is cancelled. Does not throw. */
  async run(): Promise<void> {
    try {
      await this.#read()
      if (this.#phase === "reading") this.#phase = "done"
    } catch (error) {
      this.#phase = "failed"
      // The message without its code, which is for programs.
      this.#failure = String((error as Error).message).replace(/^ERR_[A-Z_]+: /, "")
    }
    this.#milliseconds = performance.now() - this.#started
    await this.#look()
  }

  cancel(): void {
    if (this.#phase === "reading") this.#phase = "cancelled"
  }

  filter(text: string): void {
    try {
      this.#view = new View(this.#index, ++views, text)
      this.#mistake = undefined
    } catch (error) {
      this.#mistake = (error as Error).message
    }
    this.#reportedAt = 0
    void this.#look()
  }

  rows(view: number, from: number, count: number): Row[] {
    const rows: Row[] = []
    if (view !== this.#view.number) return rows
    for (let i = from; i < Math.min(from + count, this.#view.length); i++)
      rows.push(this.#index.row(this.#view.at(i)))
    return rows
  }

  async details(view: number, place: number): Promise<Details> {
    if (view !== this.#view.number || place >= this.#view.length)
      throw new RangeError("This row is not there any more.")
    const opening = ++this.#openings
    const opened = await Opened.read(this.#index, this.#file, this.#view.at(place))
    if (opening === this.#openings) this.#opened = opened
    return opened.details
  }

  /** The row whose details were requested last. */
  get opened(): Opened {
    if (!this.#opened) throw new Error("No message is open.")
    return this.#opened
  }

  async #read(): Promise<void> {
    const reader = new CaptureReader({
      maxMessageSize: MAX_MESSAGE_BYTES,
      dictionary: this.#dictionary,
    })
    this.#unread = reader.unread
    try {
      for (let at = 0; at < this.#file.size; at += READ_BYTES) {
        const chunk = new Uint8Array(await this.#file.slice(at, at + READ_BYTES).arrayBuffer())
        for (let i = 0; i < chunk.length; i += DECODE_BYTES)
          for (const event of reader.push(chunk.subarray(i, i + DECODE_BYTES)))
            this.#index.add(event)
        this.#bytesRead = at + chunk.length
        await this.#look()
        if (this.#phase !== "reading") return
      }
      for (const event of reader.end()) this.#index.add(event)
    } finally {
      reader.close()
    }
  }

  /** Updates the view in steps, between which calls of the page are handled. */
  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    do {
      this.#step()
      this.#reportSometimes()
      await turn()
    } while (!this.#view.complete)
    this.#looking = false
    this.#reportSometimes()
  }

  /** Tests some rows. If the filter fails, all rows are shown, and other filters can follow. */
  #step(): void {
    try {
      this.#view.step()
    } catch (error) {
      this.#mistake = (error as Error).message
      this.#view = new View(this.#index, ++views, "")
    }
  }

  #reportSometimes(): void {
    const now = performance.now()
    const settled = this.#phase !== "reading" && !this.#looking
    if (!settled && now - this.#reportedAt < STATE_MILLISECONDS) return
    this.#reportedAt = now
    const charts = settled || now - this.#charted > CHARTS_MILLISECONDS
    if (charts) this.#charted = now
    this.#report({
      capture: this.#capture,
      phase: this.#phase,
      failure: this.#failure,
      bytes: this.#file.size,
      bytesRead: this.#bytesRead,
      milliseconds: this.#phase === "reading" ? now - this.#started : this.#milliseconds,
      rows: this.#index.rows,
      messages: this.#index.messages,
      plainBytes: this.#index.totalPlainBytes,
      wireBytes: this.#index.totalWireBytes,
      errors: this.#index.errors,
      unread: this.#unread,
      origin: this.#index.origin,
      connections: this.#index.summaries(),
      connectionCount: this.#index.connectionCount,
      view: {
        number: this.#view.number,
        filter: this.#view.filter,
        rows: this.#view.length,
        filtering: !this.#view.complete,
        mistake: this.#mistake,
      },
      charts: charts ? chartsOf(this.#index, this.#view) : undefined,
    })
  }
}

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
