/** Saves rows, while the capture is read once more: the index has only the beginnings. */
import type { CaptureEvent, CaptureMessage } from "../capture/events.js"
import { jsonRow } from "../capture/json-rows.js"
import { PackedMessage } from "../capture/streams/packed-message.js"
import type { Saved } from "./protocol.js"
import { RowEvents } from "./row-events.js"

/** Bytes that are converted at once: a call may have so many arguments. */
const STEP_BYTES = 0x8000

export class Saving {
  readonly #wanted: (row: number) => boolean
  readonly #form: Saved
  readonly #rowEvents = new RowEvents()
  readonly #pieces: BlobPart[] = []

  /** @param wanted whether a row is to be saved. */
  constructor(form: Saved, wanted: (row: number) => boolean) {
    this.#form = form
    this.#wanted = wanted
  }

  add(events: readonly CaptureEvent[]): void {
    for (const event of events) {
      const row = this.#rowEvents.take(event)
      if (row && this.#wanted(this.#rowEvents.rows - 1)) this.#save(row)
    }
    // Moves what was saved out of this memory.
    if (this.#pieces.length > 0) this.#pieces.splice(0, this.#pieces.length, new Blob(this.#pieces))
  }

  get blob(): Blob {
    return new Blob(this.#pieces)
  }

  #save(event: CaptureEvent): void {
    if (this.#form === "json") this.#pieces.push(`${jsonRow(event, base64)}\n`)
    else if (event.type === "message")
      for (const content of contentsOf(event.message))
        this.#pieces.push(content as Uint8Array<ArrayBuffer>)
  }
}

/** Returns the content of the parts, or of all together. A dictionary is no body. */
function contentsOf(message: CaptureMessage): Uint8Array[] {
  const packed = PackedMessage.of(message)
  return packed ? [packed.joined()] : message.parts.flatMap(({ plain }) => plain ?? [])
}

function base64(bytes: Uint8Array): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += STEP_BYTES)
    text += String.fromCharCode(...bytes.subarray(at, at + STEP_BYTES))
  return btoa(text)
}
