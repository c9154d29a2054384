/** Reads the files of a capture in steps, merged by time. Each reading of them takes the same steps. */

import type { CaptureEvent } from "../capture/events.js"
import { CaptureReader, KeyLog } from "../capture/index.js"
import { MESSAGE_MAX_BYTES } from "../capture/message-limit.js"
import { Column } from "./columns.js"

export type Range = readonly [from: number, to: number]

/** A file of a capture, of which bytes can be read again. */
export interface CaptureFile {
  readonly name: string
  /** Number of bytes; 0 until it is open. */
  readonly size: number
  /** Resolves once it can be read. */
  open(): Promise<void>
  /** Resolves with the bytes of ranges, joined; without those that are after the end. */
  read(ranges: readonly Range[]): Promise<Uint8Array>
}

/** Keys that were logged before a step, in which messages are first opened with them. */
export interface LoggedKeys {
  step: number
  text: string
}

/** What is not in a capture, but needed to read it. */
export interface Secrets {
  dictionary: Uint8Array | undefined
  /** The pieces of a key log, to which more may be added; undefined if there is none. */
  keys: readonly LoggedKeys[] | undefined
}

/** Bytes to read and decode at once: LZ4 expands them up to 255 times. */
const STEP_BYTES = 256 << 10

export class Reading {
  readonly #files: readonly CaptureFile[]
  /** How far each file was read, in bytes. */
  readonly #places: number[]
  readonly #reader: CaptureReader
  readonly #keys: readonly LoggedKeys[]
  /** The keys that were logged before the current step; undefined if there is no key log. */
  readonly #log: KeyLog | undefined
  #piecesOfLog = 0
  /** Bytes of each step, including one that failed: a file that grows may have few at a time. */
  readonly #steps = new Column(Uint32Array)
  /** Bytes of all files that were read. */
  bytesRead = 0
  ended = false
  /** Whether the last step failed. */
  failed = false

  constructor(files: readonly CaptureFile[], { dictionary, keys }: Secrets) {
    this.#files = files
    this.#keys = keys ?? []
    this.#log = keys && new KeyLog()
    this.#places = files.map(() => 0)
    const options = { maxMessageSize: MESSAGE_MAX_BYTES, dictionary, keys: this.#log }
    this.#reader = new CaptureReader(options, files.length)
  }

  /** Number of steps that were taken. */
  get steps(): number {
    return this.#steps.length
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
  async step(
    take: (events: readonly CaptureEvent[]) => void,
    maxBytes: number = STEP_BYTES,
  ): Promise<void> {
    let bytes = 0
    try {
      this.#takeKeys()
      const file = this.#reader.wanted
      if (file === undefined) {
        take(this.#reader.end())
        this.ended = true
        return
      }
      const piece = await this.#read(file, maxBytes)
      bytes = piece.length
      this.#places[file]! += bytes
      this.bytesRead += bytes
      take(bytes === 0 ? this.#reader.endFile(file) : this.#reader.push(piece, file))
    } catch (error) {
      this.failed = true
      throw error
    } finally {
      this.#steps.push(bytes)
    }
  }

  /**
   * Takes the next step of another reading, which has taken it already. If it failed there, the page
   * shows the error, and it is not thrown again.
   */
  async repeat(first: Reading, take: (events: readonly CaptureEvent[]) => void): Promise<void> {
    const isLast = this.steps === first.steps - 1
    try {
      await this.step(take, first.#steps.get(this.steps))
    } catch (error) {
      if (!first.failed || !isLast) throw error
    }
  }

  #takeKeys(): void {
    for (const { step, text } of this.#keys.slice(this.#piecesOfLog)) {
      if (step > this.steps) return
      this.#piecesOfLog++
      this.#log?.add(text)
    }
  }

  #read(file: number, maxBytes: number): Promise<Uint8Array> {
    const at = this.#places[file]!
    return this.#files[file]!.read([[at, at + maxBytes]])
  }

  close(): void {
    this.#reader.close()
  }
}
