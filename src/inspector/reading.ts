/** Reads the files of a capture in pieces, merged by time. All readings of the same files take the same steps. */
import type { CaptureEvent } from "../capture/events.js"
import { CaptureReader } from "../capture/index.js"
import { MAX_MESSAGE_BYTES } from "./limits.js"

/** Bytes to read from a file at once. */
const READ_BYTES = 2 << 20
/** Bytes to decode at once: LZ4 expands them up to 255 times. */
const DECODE_BYTES = 256 << 10

export class Reading {
  readonly #files: readonly Blob[]
  /** How far each file was read, in bytes. */
  readonly #places: number[]
  readonly #reader: CaptureReader
  /** Number of steps that were taken, with one that failed. */
  steps = 0
  /** Bytes of all files that were read. */
  bytesRead = 0
  ended = false
  /** Whether the last step failed. */
  failed = false

  constructor(files: readonly Blob[], dictionary: Uint8Array | undefined) {
    this.#files = files
    this.#places = files.map(() => 0)
    const options = { maxMessageSize: MAX_MESSAGE_BYTES, dictionary }
    this.#reader = new CaptureReader(options, files.length)
  }

  /** Numbers of packets that are not read, by what they are; they grow with each step. */
  get unread(): CaptureReader["unread"] {
    return this.#reader.unread
  }

  /** Numbers of connections that were refused, by server. */
  get refused(): CaptureReader["refused"] {
    return this.#reader.refused
  }

  /** Reads the next piece, or what comes at the end. */
  async step(take: (events: readonly CaptureEvent[]) => void): Promise<void> {
    try {
      const file = this.#reader.wanted
      if (file !== undefined) return await this.#read(file, take)
      take(this.#reader.end())
      this.ended = true
    } catch (error) {
      this.failed = true
      throw error
    } finally {
      this.steps++
    }
  }

  /**
   * Does the same again as another reading, which has taken `until` steps, the last of which may have
   * `failed`. What that one threw, which the page shows, is not thrown again.
   */
  async repeat(
    until: number,
    failed: boolean,
    take: (events: readonly CaptureEvent[]) => void,
  ): Promise<void> {
    try {
      await this.step(take)
    } catch (error) {
      if (!failed || this.steps < until) throw error
    }
  }

  async #read(file: number, take: (events: readonly CaptureEvent[]) => void): Promise<void> {
    const at = this.#places[file]!
    const piece = this.#files[file]!.slice(at, at + READ_BYTES)
    const bytes = new Uint8Array(await piece.arrayBuffer())
    if (bytes.length === 0) take(this.#reader.endFile(file))
    for (let i = 0; i < bytes.length; i += DECODE_BYTES)
      take(this.#reader.push(bytes.subarray(i, i + DECODE_BYTES), file))
    this.#places[file] = at + bytes.length
    this.bytesRead += bytes.length
  }

  close(): void {
    this.#reader.close()
  }
}
