/** Messages between the page and its worker. */
import type { CaptureError, PartKind, Side } from "../capture/events.js"
import type { ConnectionSummary, SideSummary } from "../capture/summary.js"

export type RowKind = "message" | "dictionary" | "command" | "error"

/** A line of the table. */
export interface Row {
  /** 1 for the first of the capture. */
  number: number
  kind: RowKind
  from: Side | undefined
  /** Id of the connection; 0 for an error of the file itself. */
  connection: number
  /** Nanoseconds since the capture's first event; undefined where the file does not say. */
  time: number | undefined
  /** Forms of the parts, a command's name, an error's code. */
  forms: string[]
  parts: number
  plainBytes: number
  wireBytes: number
  /** Whether it, or a part of it, is an error. */
  failed: boolean
  /** The beginning of each part, or what a command or an error says, for people to read. */
  preview: string[]
  /** Whether there is more than the preview. */
  cut: boolean
}

export interface ShownSide extends SideSummary {
  /** The beginning of what the handshake said: version and mechanism of ZMTP, and the rest. */
  handshake: string | undefined
}

/** A connection as the page lists it. */
export interface ShownConnection extends ConnectionSummary {
  sides: Record<Side, ShownSide>
  closed: boolean
}

export type Phase = "reading" | "done" | "cancelled" | "failed"

/** A report of the worker, posted a few times a second while something changes. */
export interface State {
  /** Which capture it is about: the number that `open` was given. */
  capture: number
  phase: Phase
  /** In words, when `phase` is "failed". */
  failure: string | undefined
  bytes: number
  bytesRead: number
  milliseconds: number
  rows: number
  messages: number
  plainBytes: number
  wireBytes: number
  errors: number
  /** Nanoseconds since 1970 of the capture's first event, where Row.time is 0. */
  origin: bigint | undefined
  /** At most MAX_CONNECTIONS of them, the first ones. */
  connections: ShownConnection[]
  connectionCount: number
  view: ViewState
  /** Of the rows that the filter leaves; undefined when nothing changed. */
  charts: Charts | undefined
}

export const MAX_CONNECTIONS = 500

/** The rows that the filter leaves. */
export interface ViewState {
  /** No two views have the same, whatever captures they are of. */
  number: number
  filter: string
  rows: number
  /** Whether rows are still being looked at. */
  filtering: boolean
  /** Why the newest filter was not taken, in words; the one before stays. */
  mistake: string | undefined
}

export interface Charts {
  /** Of the first bin, and of each: nanoseconds as in Row.time. */
  start: number
  binNanoseconds: number
  /** Bytes of the messages of each bin. */
  plain: number[]
  wire: number[]
  /** Messages by size: index i counts those of 2^(i-1) to 2^i - 1 bytes, index 0 the empty ones. */
  plainSizes: number[]
  wireSizes: number[]
}

/** Details of a row. */
export interface Details {
  row: Row
  connection: ShownConnection | undefined
  /** Of the capture, in bytes: where its first byte is. */
  offset: number | undefined
  arena: { index: number; messages: number } | undefined
  parts: PartDetails[]
  /** A command's name and meaning. */
  command: { name: string; detail: string } | undefined
  /** The error: that of its own row, or the reason why the message cannot be decoded again. */
  error: Pick<CaptureError, "code" | "message"> | undefined
}

export interface PartDetails {
  kind: PartKind | undefined
  plainBytes: number | undefined
  wireBytes: number | undefined
  error: Pick<CaptureError, "code" | "message"> | undefined
  /** The most readable form. */
  reads: "json" | "text" | "bytes"
}

export type Bytes = "plain" | "wire"

/** The calls that the worker answers; `part` is one of the newest `details`. */
export interface Calls {
  open(capture: number, file: Blob, dictionary: Uint8Array | undefined): void
  cancel(): void
  filter(text: string): void
  rows(view: number, from: number, count: number): Row[]
  /** Of a row of the view, by its place there. */
  details(view: number, index: number): Details
  bytes(part: number, which: Bytes, from: number, to: number): Uint8Array
  /** Indented, up to a number of characters. */
  json(part: number, characters: number): { text: string; more: boolean }
  download(part: number, which: Bytes): Blob
}

export type Call = keyof Calls
export interface Request<Name extends Call = Call> {
  id: number
  call: Name
  args: Parameters<Calls[Name]>
}
export type Reply =
  | { id: number; result: unknown }
  | { id: number; error: string }
  | { state: State }
