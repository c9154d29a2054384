/** Reads a capture once more, for a filter of text: the index has only the beginnings of messages. */
import type { CaptureEvent } from "../capture/events.js"
import type { Reading } from "./reading.js"
import { RowEvents } from "./row-events.js"
import type { View } from "./view.js"

export class ContentSearch {
  readonly view: View
  readonly #reading: Reading
  readonly #rowEvents = new RowEvents()
  /** The row of the next event that has one. */
  #row = 0

  /** @param reading a new one, which the search closes. */
  constructor(view: View, reading: Reading) {
    this.view = view
    this.#reading = reading
  }

  /** Bytes of the files that were searched. */
  get bytesRead(): number {
    return this.#reading.bytesRead
  }

  /** Tests the rows of the next piece. Returns false if the first reading has not read it yet. */
  async step(first: Reading): Promise<boolean> {
    if (this.#reading.steps === first.steps) return false
    await this.#reading.repeat(first, (events) => this.#test(events))
    return true
  }

  close(): void {
    this.#reading.close()
  }

  #test(events: readonly CaptureEvent[]): void {
    for (const event of events) {
      const row = this.#rowEvents.take(event)
      if (row && this.#row++ === this.view.next) this.view.test(row)
    }
  }
}
