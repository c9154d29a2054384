/** The messages between the page and its worker. */
import type { BytesKind } from "../capture/decode-bytes.js"
import type { CaptureError, CapturePart, PartKind, Side } from "../capture/events.js"
import type { ReportTable } from "../capture/reports/report.js"
import type { ColumnName } from "../capture/rows.js"
import type { ConnectionSummary, SideSummary } from "../capture/summary.js"
import type { SharedFile } from "./page-file.js"

export type RowKind =
  | "message"
  | "dictionary"
  | "command"
  | "error"
  | "connection"
  | "handshake"
  | "close"

export interface Row {
  /** The number of the row in the capture, from 1. */
  number: number
  kind: RowKind
  from: Side | undefined
  /** The id of the connection; 0 for an error of the file itself. */
  connection: number
  /** The number of the packet that completed it; undefined if the file has none. */
  packet: number | undefined
  /** Nanoseconds since the capture's first event; undefined if the file does not say. */
  time: number | undefined
  /** The forms of the parts, a command's name, an error's code, or what else it is. */
  forms: string[]
  parts: number
  plainBytes: number
  wireBytes: number
  /** Whether it is a message of CURVE, of which only `wireBytes` is known. */
  isEncrypted: boolean
  /** Whether the row, or a part of it, is an error. */
  failed: boolean
  /**
   * "given" if it was decompressed with a dictionary that the user loaded; "missing" if it probably
   * needs one that is not in the capture.
   */
  dictionary: CapturePart["dictionary"]
  /** The beginning of each part, or what else the row says, as readable text. */
  preview: string[]
  /** Whether there is more than the preview. */
  cut: boolean
}

export interface ShownSide extends SideSummary {
  /** The beginning of the handshake's content: version and mechanism of ZMTP, and properties. */
  handshake: string | undefined
}

/** A connection as the page lists it. */
export interface ShownConnection extends ConnectionSummary {
  sides: Record<Side, ShownSide>
}

/** "live" while a recording in progress is followed, even if all of it so far has been read. */
export type Phase = "reading" | "live" | "done" | "cancelled" | "failed"

/** A recording in progress: served beside the page, or a file that was chosen in it. */
export interface Followed {
  /** A number that is unique among them: a recording that is opened again is not read again. */
  id: number
  name: string
  url?: string
  handle?: FileSystemFileHandle
}

/** A key log that was chosen, or the address of one that is served beside the page. */
export interface GivenKeys {
  name: string
  text?: string
  url?: string
}

/** What the user has given besides a capture. */
export interface GivenSecrets {
  dictionary: Uint8Array | undefined
  keys: GivenKeys | undefined
}

/** The state of a capture, posted a few times a second while something changes. */
export interface State {
  /** The number that was passed to `open`. */
  capture: number
  phase: Phase
  /** The reason, if `phase` is "failed". */
  failure: string | undefined
  /** Whether it is, or was, a recording in progress. */
  followed: boolean
  /** The reason if following it ended before the recording did. */
  ending: string | undefined
  bytes: number
  bytesRead: number
  milliseconds: number
  rows: number
  messages: number
  plainBytes: number
  wireBytes: number
  errors: number
  /** Numbers of packets that are not read, by what they are. */
  unread: ReadonlyMap<string, number>
  /** Numbers of connections that were refused, by server. */
  refused: ReadonlyMap<string, number>
  /** Nanoseconds since 1970 of the capture's first event, from which Row.time counts. */
  origin: bigint | undefined
  /** The first connections, at most MAX_CONNECTIONS. */
  connections: ShownConnection[]
  connectionCount: number
  view: ViewState
  /** Charts of the rows that match the filter; undefined if nothing changed. */
  charts: Charts | undefined
}

export const MAX_CONNECTIONS = 500

/** The rows that match the filter. */
export interface ViewState {
  /** A number that is unique among the views of all captures. */
  number: number
  /** Counts how often the rows were sorted again, because others had come. */
  order: number
  filter: string
  rows: number
  /** Whether rows are still being filtered. */
  filtering: boolean
  /** Bytes of the file in which the filter has searched whole messages; undefined if it does not. */
  searchedBytes: number | undefined
  /** The error in the newest filter, which leaves the previous one in use. */
  mistake: string | undefined
}

export interface Sorting {
  column: ColumnName
  descending: boolean
}

/** How rows are saved: as lines of JSON, or the content of messages, one after the other. */
export type Saved = "json" | "bodies"

export interface Charts {
  /** Start of the first bin, and length of each, in nanoseconds as in Row.time. */
  start: number
  binNanoseconds: number
  /** Bytes of the messages in each bin. */
  plain: number[]
  wire: number[]
  /** Messages by size: index 0 counts empty ones, i those of 2^(i-1) to 2^i - 1 bytes. */
  plainSizes: number[]
  wireSizes: number[]
}

export interface Details {
  row: Row
  connection: ShownConnection | undefined
  /** The offset of its first byte in the capture. */
  offset: number | undefined
  arena: { index: number; messages: number } | undefined
  parts: PartDetails[]
  /** A command's name and meaning; or what else happened, and more of it in words. */
  command: { name: string; detail: string } | undefined
  /** The error of the row, or the reason why the message cannot be decoded again. */
  error: Pick<CaptureError, "code" | "message"> | undefined
}

export interface PartDetails {
  kind: PartKind | undefined
  plainBytes: number | undefined
  /** Of a part from an arena, its share. */
  wireBytes: number | undefined
  /** Bytes on the wire of the arena that it is from, which are its `wire`. */
  arenaBytes: number | undefined
  error: Pick<CaptureError, "code" | "message"> | undefined
  /** The most readable form. */
  reads: "json" | "text" | "bytes"
}

/** What was pasted as hexadecimal. */
export interface Pasted {
  as: BytesKind
  bytes: number
  pieces: PastedPiece[]
  /** Whether there are more pieces. */
  more: boolean
}

/** A message, command or greeting that was pasted, or why the rest cannot be decoded. */
export interface PastedPiece {
  title: string
  parts: PastedPart[]
  /** The number of parts after these. */
  more?: number
  /** The reason if the bytes cannot be decoded. */
  error?: string
}

export interface PastedPart {
  kind: PartKind
  /** As in PartDetails. */
  wireBytes: number
  arenaBytes: number | undefined
  plainBytes: number | undefined
  error: string | undefined
  /** The beginning of its content. */
  text: string | undefined
  more: boolean
}

export type Bytes = "plain" | "wire"

/** The calls that the worker answers. `part` is a part of the newest `details`. */
export interface Calls {
  open(
    capture: number,
    files: readonly SharedFile[] | Followed,
    secrets: GivenSecrets,
    filter: string,
  ): void
  /** Ends the reading, or what is followed. */
  cancel(): void
  filter(text: string): void
  /** Sorts the rows, once they are complete; undefined is the order of the capture. */
  sort(sorting: Sorting | undefined): void
  /** Returns the rows that match the filter, in the order of the capture. */
  save(form: Saved): Blob
  /** Returns tables about the rows that match the filter. */
  reports(): ReportTable[]
  rows(view: number, from: number, count: number): Row[]
  /** Returns the place in a view of a row, by its number; undefined if it is not there. */
  place(view: number, row: number): number | undefined
  /** Returns the details of a row of a view, by its index. */
  details(view: number, index: number): Details
  bytes(part: number, which: Bytes, from: number, to: number): Uint8Array
  /** Returns indented JSON, up to a number of characters. */
  json(part: number, characters: number): { text: string; more: boolean }
  download(part: number, which: Bytes): Blob
  /** Decodes bytes in hexadecimal, as `zeromq-lz4 decode` does. */
  decode(text: string, dictionary?: Uint8Array): Pasted
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
