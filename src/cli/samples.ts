import type { CaptureEvent } from "../capture/events.js"
import type { CaptureFilter } from "../capture/filter/capture-filter.js"
import { CaptureReader } from "../capture/index.js"
import { fileType, SIGNATURE_BYTES } from "../capture/packets/file-type.js"
import { printedParts, variousParts } from "../capture/parts.js"
import { utf8 } from "../capture/printable.js"
import { counted } from "../capture/reports/report.js"
import { loadFormat } from "../codec/formats.js"
import { DamagedInput, UsageError } from "./errors.js"
import { nameOf, peek, readChunks, startOf } from "./input.js"
import { printErrorLine } from "./output.js"

/** Limits for all files together: bytes, and samples, each of which takes some more memory. */
const KEPT_MAX_BYTES = 64 << 20
const KEPT_MAX_SAMPLES = 1 << 18
const LINE_FEED = 10

/** Options of reading samples. */
export interface SampleOptions {
  /** Whether each line of a file that is not a capture is a sample. */
  lines: boolean
  /** Makes the filter for messages of one capture, from whose beginning it counts times. */
  filter: (() => CaptureFilter) | undefined
}

/** Samples, grouped by message. A message from a capture has all its parts, any other has one. */
export class Samples {
  readonly messages: Uint8Array[][] = []
  /** Whether one of the files was a capture. */
  captured = false
  #count = 0
  #bytes = 0
  #hinted = false
  /** Whether a file had more than was kept of it. */
  #isCut = false

  get full(): boolean {
    return this.#isCut || this.#bytes >= KEPT_MAX_BYTES || this.#count >= KEPT_MAX_SAMPLES
  }

  static async read(files: readonly string[], options: SampleOptions): Promise<Samples> {
    const samples = new Samples()
    for (const file of files) {
      const { head, whole } = await peek(readChunks(file), SIGNATURE_BYTES)
      if (isCapture(head)) await samples.#addCapture(nameOf(file), whole, options.filter?.())
      else if (options.filter)
        throw new UsageError(`--filter is for captures, and ${nameOf(file)} is not one`)
      else {
        const room = KEPT_MAX_BYTES - samples.#bytes
        const bytes = await startOf(whole, room)
        for (const sample of options.lines ? linesOf(bytes) : [bytes])
          if (samples.#add([sample])) break
        const isHinted = samples.#hinted || options.lines
        if (!isHinted && looksLikeLines(bytes, files.length === 1))
          samples.#hint(nameOf(file), bytes)
        samples.#isCut = bytes.length === room
      }
      if (!samples.full) continue
      printErrorLine(`zeromq-lz4: only the first ${counted(samples.#count, "sample")} are used`)
      break
    }
    return samples
  }

  /** Adds the parts of a message, except empty ones. Returns whether there is no room for more. */
  #add(parts: readonly Uint8Array[]): boolean {
    const kept = parts.filter(({ length }) => length > 0)
    if (kept.length === 0 || this.full) return this.full
    this.messages.push(kept)
    this.#count += kept.length
    for (const { length } of kept) this.#bytes += length
    return this.full
  }

  /** Adds the messages of a capture, up to the point where it becomes unreadable. */
  async #addCapture(
    name: string,
    chunks: AsyncIterable<Buffer>,
    filter: CaptureFilter | undefined,
  ): Promise<void> {
    this.captured = true
    await loadFormat("zstd")
    using reader = new CaptureReader({ maxMessageSize: KEPT_MAX_BYTES })
    let undecoded = 0
    const add = (events: readonly CaptureEvent[]) => {
      for (const event of events) {
        if (event.type === "error" && !event.connection)
          printErrorLine(`zeromq-lz4: ${name}: ${event.error.message}`)
        // The filter is to see all events.
        if (!(filter?.(event) ?? true) || event.type !== "message") continue
        const { message } = event
        undecoded += variousParts(message).filter(({ error }) => error).length
        // Copied, because a view would keep all of its memory.
        const { parts } = printedParts(message)
        this.#add(parts.flatMap(({ plain }) => (plain?.length ? [plain.slice()] : [])))
      }
    }
    try {
      for await (const chunk of chunks) {
        add(reader.push(chunk))
        if (this.full) break
      }
    } catch (error) {
      if (!(error instanceof DamagedInput)) throw error
      printErrorLine(`zeromq-lz4: ${error.message}`)
    }
    if (!this.full) add(reader.end())
    if (undecoded > 0)
      printErrorLine(`zeromq-lz4: ${name}: ${counted(undecoded, "part")} did not decode`)
  }

  /** Prints once that a file may have a sample in each line. */
  #hint(name: string, bytes: Buffer): void {
    this.#hinted = true
    printErrorLine(
      `zeromq-lz4: ${name} has ${lineCount(bytes)} lines and was taken for one sample: use --lines if each line is one`,
    )
  }
}

function isCapture(head: Uint8Array): boolean {
  try {
    return fileType(head) !== undefined
  } catch {
    return false
  }
}

/** Returns lines, except empty ones, one by one: a view takes many times the size of a short line. */
function* linesOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
    const found = bytes.indexOf(LINE_FEED, at)
    end = found < 0 ? bytes.length : found
    if (end > at) yield bytes.subarray(at, end)
  }
}

function lineCount(bytes: Buffer): number {
  let count = bytes.at(-1) === LINE_FEED ? 0 : 1
  for (const byte of bytes) if (byte === LINE_FEED) count++
  return count
}

/** Number of lines to check. */
const CHECKED_LINES = 10

/**
 * Returns whether each line is probably a message: it is JSON, or this is the only file and it is
 * text. A single JSON document in several lines is one message.
 */
function looksLikeLines(bytes: Buffer, alone: boolean): boolean {
  const lines: (string | undefined)[] = []
  for (const line of linesOf(bytes)) if (lines.push(utf8(line)) === CHECKED_LINES) break
  if (lines.length >= 2 && lines.every(isJson)) return true
  const isText = lines.every((line) => line !== undefined && !line.includes("\0"))
  return alone && lines.length === CHECKED_LINES && isText && !isJson(utf8(bytes))
}

/** Returns whether a text is a JSON object or array. */
function isJson(text: string | undefined): boolean {
  if (text === undefined || !/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
