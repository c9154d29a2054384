import type { FormatName } from "../../codec/format.js"
import type { Instance } from "../../codec/instance.js"
import type { CaptureConnection, CaptureEvent, DictionarySource, Side, Time } from "../events.js"
import type { Keys } from "./decryption.js"
import type { SharedMemory } from "./memory.js"

/** Settings and limits that all connections of a capture share. */
export interface CaptureContext {
  /** Returns the instance of a format's module, which is loaded when a part needs it. */
  instanceOf(format: FormatName): Instance
  budgetBytes: number
  /** Returns the dictionary for a side whose beginning is not in the capture. */
  dictionary: DictionarySource | undefined
  /** Keys that open connections with CURVE. */
  keys?: Keys | undefined
  emit(event: CaptureEvent): void
  /** Returns the number of the next connection. */
  nextId(): number
  memory: SharedMemory
  /** What was reported for the whole capture, and is not repeated: that packets were cut. */
  told: { isCut: boolean }
  /** Reports, once for the current chunk, that an event of this connection is left out. */
  leaveOut(connection: CaptureConnection, from: Side | undefined, time: Time, offset: number): void
  /** Set if only the places of secrets are of interest, not the messages. */
  marks?: Marks
  /** A connection has ended and freed its memory. */
  ended(connection: { close(): void }): void
}

/** Takes the places of secrets in the file. Ranges are as in CaptureMessage. */
export interface Marks {
  secret(ranges: readonly number[]): void
  /** Bytes that are skipped unless they are read later: half of a command, perhaps. */
  skipped(start: number, end: number): void
  read(start: number, end: number): void
}
