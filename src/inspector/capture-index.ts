/** The content of a capture as rows of numbers, small enough to keep a million of them. */

import { KEPT_CONNECTIONS_MAX } from "../capture/decode-capture.js"
import { timeOf } from "../capture/event-time.js"
import type {
  CaptureConnection,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  PartKind,
  Side,
  Time,
} from "../capture/events.js"
import { firstParts, isShipment, partCount, variousParts } from "../capture/parts.js"
import { detailOf, formOf, senderOf } from "../capture/rows.js"
import { sealedBytes } from "../capture/sealed-bytes.js"
import { contentOf } from "../capture/streams/messages.js"
import { Column, MAX_PIECES, Records } from "./columns.js"
import { KnownConnections } from "./known-connections.js"
import type { Row, RowKind } from "./protocol.js"
import { readable } from "./readable.js"
import { RowEvents } from "./row-events.js"

/** Bytes of a message that are kept. For more, the filter reads the file again. */
export const PREVIEW_BYTES = 1024
/** Bytes of a message that are kept once all previews together have reached LONG_PREVIEWS_BYTES. */
const SHORT_PREVIEW_BYTES = 96
const LONG_PREVIEWS_BYTES = 32 << 20
/** Bytes of a command that the detail pane can show. */
const COMMAND_BYTES = 4096

const KINDS: readonly RowKind[] = [
  ...(["message", "dictionary", "command", "error"] as const),
  ...(["connection", "handshake", "close"] as const),
]
const SIDES: readonly (Side | undefined)[] = [undefined, "client", "server"]
const FORMS: readonly PartKind[] = [
  ...(["none", "plain", "LZ4B", "LZ4M", "LZ4D", "LZ4A"] as const),
  ...(["ZSTD", "ZDICT", "ZSTA"] as const),
]

// Masks of a byte of #kind.
const KIND_MASK = 7
const SIDE_SHIFT = 3
const SIDE_MASK = 3
const FAILED = 1 << 5
const CUT = 1 << 6
const GIVEN = 1 << 7

/** The bits of #forms for a message that is encrypted, and for one that lacks a dictionary. */
const ENCRYPTED = 1 << 15
const MISSING = 1 << 14

const UTF8 = new TextDecoder()

export class CaptureIndex {
  readonly #kind = new Column(Uint8Array)
  readonly #forms = new Column(Uint16Array)
  readonly #connection = new Column(Uint32Array)
  readonly #time = new Column(Float64Array)
  /** 0 if the file has no packets. */
  readonly #packet = new Column(Uint32Array)
  readonly #parts = new Column(Uint32Array)
  readonly #plainBytes = new Column(Float64Array)
  readonly #wireBytes = new Column(Float64Array)
  /** Index in an arena, its messages less one (a byte each), and a bit if there is an arena. */
  readonly #arena = new Column(Uint32Array)
  readonly #record = new Column(Float64Array)
  /** The end of each row's entries in #ranges, which begin at the end of the previous row's. */
  readonly #rangesEnd = new Column(Uint32Array)
  readonly #ranges = new Column(Float64Array)
  readonly #records = new Records()
  readonly connections = new KnownConnections()
  readonly #encoder = new TextEncoder()
  readonly #rowEvents: RowEvents
  origin: Time
  messages = 0
  totalPlainBytes = 0
  totalWireBytes = 0
  errors = 0

  constructor(maxRows?: number) {
    this.#rowEvents = new RowEvents(maxRows)
  }

  get rows(): number {
    return this.#kind.length
  }

  /** Adds an event. Returns the event of the row that was added, if there is one. */
  add(event: CaptureEvent): CaptureEvent | undefined {
    const { connection } = event
    if (connection && connection.id <= KEPT_CONNECTIONS_MAX) {
      if (event.type === "connection") this.connections.add(connection)
      else if (event.type === "message") {
        if (!isShipment(event.message)) this.messages++
        this.totalPlainBytes += event.message.plainBytes
        this.totalWireBytes += event.message.wireBytes
      }
    }
    const row = this.#rowEvents.take(event)
    if (row?.type === "message") this.#addMessage(row.connection, row.message)
    else if (row) this.#addSaid(row)
    if (row) this.#packet.push(event.packet ?? 0)
    return row
  }

  row(index: number): Row {
    const kind = this.kind(index)
    const time = this.time(index)
    const pieces = this.record(index)
    const said = !isContent(kind)
    return {
      number: index + 1,
      kind,
      from: this.from(index),
      connection: this.connectionId(index),
      packet: this.packet(index),
      time: Number.isNaN(time) ? undefined : time,
      forms: said ? [UTF8.decode(pieces[0])] : this.forms(index),
      parts: this.#parts.get(index),
      plainBytes: this.plainBytes(index),
      wireBytes: this.wireBytes(index),
      isEncrypted: this.isEncrypted(index),
      failed: this.failed(index),
      dictionary: this.#dictionaryMark(index),
      preview: said ? [UTF8.decode(pieces[1])] : pieces.map(readable),
      cut: kind === "message" && this.isCut(index),
    }
  }

  #dictionaryMark(index: number): CapturePart["dictionary"] {
    if (this.#forms.get(index) & MISSING) return "missing"
    return this.#kind.get(index) & GIVEN ? "given" : undefined
  }

  kind(index: number): RowKind {
    return KINDS[this.#kind.get(index) & KIND_MASK]!
  }

  from(index: number): Side | undefined {
    return SIDES[(this.#kind.get(index) >>> SIDE_SHIFT) & SIDE_MASK]
  }

  failed(index: number): boolean {
    return (this.#kind.get(index) & FAILED) !== 0
  }

  /** Returns the forms of a message's parts, without repetition. */
  forms(index: number): PartKind[] {
    const forms = this.#forms.get(index)
    return FORMS.filter((_, bit) => forms & (1 << bit))
  }

  connectionId(index: number): number {
    return this.#connection.get(index)
  }

  packet(index: number): number | undefined {
    return this.#packet.get(index) || undefined
  }

  /** Returns nanoseconds since `origin`; NaN if the file does not say. */
  time(index: number): number {
    return this.#time.get(index)
  }

  /** Returns the number of parts of a message or dictionary. */
  parts(index: number): number | undefined {
    return this.#parts.get(index) || undefined
  }

  plainBytes(index: number): number {
    return this.#plainBytes.get(index)
  }

  wireBytes(index: number): number {
    return this.#wireBytes.get(index)
  }

  /** Returns whether a row is a message of CURVE, of which only the bytes on the wire are known. */
  isEncrypted(index: number): boolean {
    return (this.#forms.get(index) & ENCRYPTED) !== 0
  }

  /** Returns whether a row has a size on the wire that is shown. */
  hasWire(index: number): boolean {
    return this.#parts.get(index) > 0 || this.isEncrypted(index)
  }

  /**
   * Returns the beginning of each part; for an error its code and message; for other rows their form,
   * their text, and a command's body.
   */
  record(index: number): Uint8Array[] {
    return this.#records.get(this.#record.get(index))
  }

  /** Returns the forms of a message, "error", or what else a row is. */
  form(index: number): string {
    const kind = this.kind(index)
    if (isContent(kind)) return this.forms(index).join(" ")
    return kind === "error" ? kind : UTF8.decode(this.record(index)[0])
  }

  /** Returns a number for the first bytes of a row's content, by which it can be ordered. */
  contentStart(index: number): number {
    return this.#records.start(this.#record.get(index), this.#contentPiece(index))
  }

  /** Compares the content of two rows, as far as it is kept: negative if the first one comes first. */
  compareContent(index: number, other: number): number {
    return this.#records.compare(
      this.#record.get(index),
      this.#contentPiece(index),
      this.#record.get(other),
      this.#contentPiece(other),
    )
  }

  /** Returns which piece of a row's record is the first of its content. */
  #contentPiece(index: number): number {
    return isContent(this.kind(index)) ? 0 : 1
  }

  /** Returns whether only the beginning of a message's or dictionary's content is kept. */
  isCut(index: number): boolean {
    return (this.#kind.get(index) & CUT) !== 0
  }

  /** Returns the text that filters search, unless it is cut. */
  text(index: number): string {
    const texts = this.record(index).map((piece) => UTF8.decode(piece))
    const kind = this.kind(index)
    if (isContent(kind)) return texts.join("\n")
    if (kind !== "close") return `${texts[0]}${kind === "error" ? ":" : ""} ${texts[1]}`
    const { client, server } = this.connections.get(this.connectionId(index))!
    return `${client} → ${server} ${texts[0]} ${texts[1]}`
  }

  arena(index: number): { index: number; messages: number } | undefined {
    const packed = this.#arena.get(index)
    return packed === 0
      ? undefined
      : { index: packed & 0xff, messages: ((packed >>> 8) & 0xff) + 1 }
  }

  /** Returns the ranges of a row's bytes, as in CaptureMessage.ranges; for an error, its position. */
  ranges(index: number): number[] {
    const start = index === 0 ? 0 : this.#rangesEnd.get(index - 1)
    const ranges: number[] = []
    for (let i = start; i < this.#rangesEnd.get(index); i++) ranges.push(this.#ranges.get(i))
    return ranges
  }

  /** Returns the dictionary that was in use when a message was sent. */
  dictionary(index: number): Uint8Array | undefined {
    const from = this.from(index)
    return from && this.connections.dictionary(this.connectionId(index), from, index)
  }

  #addMessage(connection: CaptureConnection, message: CaptureMessage): void {
    const { from } = message
    const shipment = isShipment(message)
    this.connections.noteDictionary(connection, from, this.rows)
    let forms = 0
    let failed = false
    let given = false
    for (const { kind, error, dictionary } of variousParts(message)) {
      forms |= 1 << FORMS.indexOf(kind)
      if (dictionary === "missing") forms |= MISSING
      given ||= dictionary === "given"
      failed ||= error !== undefined
    }
    // One too many shows that there is more.
    const pieces = firstParts(message, MAX_PIECES + 1).map((part) => {
      const { error } = part
      return error
        ? this.#encoder.encode(`${error.code}: ${error.message}`)
        : (contentOf(part) ?? NONE)
    })
    this.#addRow(
      shipment ? "dictionary" : "message",
      from,
      connection,
      message.time,
      pieces,
      this.#records.bytes < LONG_PREVIEWS_BYTES ? PREVIEW_BYTES : SHORT_PREVIEW_BYTES,
      message.ranges,
      failed,
      given,
    )
    this.#addSizes(forms, partCount(message), message.plainBytes, message.wireBytes, message.arena)
  }

  /** Adds a row for an event other than a message, with a description of it. */
  #addSaid(event: Exclude<CaptureEvent, { type: "message" }>): void {
    const { connection, type } = event
    const error = type === "error" ? event.error : undefined
    const body = type === "command" ? event.command.body : NONE
    const said = error ? [error.code, error.message] : [formOf(event), detailOf(event)]
    this.#addRow(
      type,
      senderOf(event),
      connection,
      timeOf(event),
      [...said.map((text) => this.#encoder.encode(text)), body],
      COMMAND_BYTES,
      error ? [error.offset, 0] : [],
      error !== undefined,
    )
    const sealed = type === "command" ? sealedBytes(event.connection, event.command) : undefined
    const forms = sealed === undefined ? 0 : ENCRYPTED
    this.#addSizes(forms, 0, body.length, sealed ?? body.length)
  }

  #addRow(
    kind: RowKind,
    from: Side | undefined,
    connection: CaptureConnection | undefined,
    time: Time,
    pieces: readonly Uint8Array[],
    limit: number,
    ranges: readonly number[] = [],
    failed = false,
    given = false,
  ): void {
    if (time !== undefined) this.origin ??= time
    const cut = isContent(kind) && (lengthOf(pieces) > limit || pieces.length > MAX_PIECES)
    this.#kind.push(
      KINDS.indexOf(kind) |
        (SIDES.indexOf(from) << SIDE_SHIFT) |
        (failed ? FAILED : 0) |
        (cut ? CUT : 0) |
        (given ? GIVEN : 0),
    )
    this.#connection.push(connection?.id ?? 0)
    this.#time.push(time === undefined ? Number.NaN : Number(time - this.origin!))
    this.#record.push(this.#records.add(pieces, limit))
    for (const number of ranges) this.#ranges.push(number)
    this.#rangesEnd.push(this.#ranges.length)
    if (!failed) return
    this.errors++
    if (connection) this.connections.countError(connection)
  }

  #addSizes(
    forms: number,
    parts: number,
    plainBytes: number,
    wireBytes: number,
    arena?: CaptureMessage["arena"],
  ): void {
    this.#forms.push(forms)
    this.#parts.push(parts)
    this.#plainBytes.push(plainBytes)
    this.#wireBytes.push(wireBytes)
    this.#arena.push(arena ? arena.index | ((arena.messages - 1) << 8) | (1 << 16) : 0)
  }
}

const NONE = new Uint8Array()

/** Returns whether rows of a kind have parts; others have a form and a text. */
const isContent = (kind: RowKind): boolean => kind === "message" || kind === "dictionary"

const lengthOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0)
