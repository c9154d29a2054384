import { setMaxListeners } from "node:events"
import type { CaptureEvent } from "../capture/events.js"
import { CaptureFormatError, CaptureReader, placeOf } from "../capture/index.js"
import { loadFormat } from "../codec/formats.js"
import { loadCurve } from "../curve/load.js"
import type { Decoding } from "./capture-options.js"
import { captureError, DamagedInput, InputError } from "./errors.js"
import { nameOf, readChunks } from "./input.js"
import type { KeyFile } from "./key-file.js"
import { Progress, shareOf } from "./progress.js"

/** The reading of a capture until its end, or until the user has enough of it. */
export class CaptureReading {
  readonly #files: readonly string[]
  readonly #reader: CaptureReader
  readonly #keys: KeyFile | undefined
  readonly #stop = new AbortController()
  readonly #progress: Progress
  /** The first damage of a file. */
  #damage: InputError | undefined

  /** @param isQuiet whether little is printed meanwhile, so that a line of progress is shown. */
  constructor(files: readonly string[], { keys, ...options }: Decoding, isQuiet: boolean) {
    this.#files = files
    this.#keys = keys
    const decoding = keys ? { ...options, keys: keys.log } : options
    this.#reader = new CaptureReader(decoding, files.length)
    const isWanted = isQuiet || !process.stdout.isTTY
    this.#progress = new Progress(isWanted && !files.includes("-"))
  }

  /** Counts of what is not in the events; complete once those have ended. */
  get counts(): Pick<CaptureReader, "tcpConnections" | "unread" | "refused"> {
    return this.#reader
  }

  /** Clears the line of progress, for output at the same terminal. */
  clearProgress(): void {
    if (process.stdout.isTTY) this.#progress.clear()
  }

  /** Reads nothing more, as at SIGINT. */
  stop(): void {
    this.#stop.abort()
  }

  /**
   * Yields the events of the next bytes, up to where files are damaged.
   *
   * @throws InputError if the files cannot be read, or are not a capture.
   */
  async *events(): AsyncGenerator<readonly CaptureEvent[]> {
    const { signal } = this.#stop
    // Each file listens.
    setMaxListeners(0, signal)
    const onSignal = () => this.stop()
    process.once("SIGINT", onSignal)
    const onRead = shareOf(this.#files, this.#progress)
    const chunks = this.#files.map((file) => readChunks(file, { signal, onRead }))
    const reader = this.#reader
    await loadFormat("zstd") // a recording may have both
    if (this.#keys) await loadCurve()
    try {
      for (let file = reader.wanted; file !== undefined; file = reader.wanted) {
        const chunk = await this.#next(chunks[file] as AsyncGenerator<Buffer, undefined>)
        // If the user stopped it, the capture has not ended.
        if (signal.aborted) return
        // The keys of a recording in progress are written before they are used.
        this.#keys?.refresh()
        yield this.#checked(chunk ? reader.push(chunk, file) : reader.endFile(file))
      }
      if (!signal.aborted) yield this.#checked(reader.end())
    } catch (error) {
      const file = error instanceof CaptureFormatError ? error.file : 0
      throw this.#damage ?? captureError(this.#nameOf(file), error)
    } finally {
      process.off("SIGINT", onSignal)
      this.#progress.clear()
      reader.close()
      for (const source of chunks) await source.return(undefined)
    }
  }

  /** @throws InputError that says where a file is damaged, once all has been reported before it. */
  checkUndamaged(): void {
    if (this.#damage) throw this.#damage
  }

  /** Returns the next bytes of a file; undefined at its end, or where it is damaged. */
  async #next(chunks: AsyncGenerator<Buffer, undefined>): Promise<Buffer | undefined> {
    try {
      return (await chunks.next()).value
    } catch (error) {
      if (!(error instanceof DamagedInput)) throw error
      this.#damage ??= error
      return undefined
    }
  }

  #checked(events: readonly CaptureEvent[]): readonly CaptureEvent[] {
    for (const event of events)
      if (event.type === "error" && !event.connection)
        this.#damage ??= new InputError(
          `${this.#nameOf(placeOf(event.error.offset).file)}: ${event.error.message}`,
        )
    return events
  }

  #nameOf(file: number): string {
    return nameOf(this.#files[file] as string)
  }
}
