import { styleText } from "node:util"
import { timeOf } from "../capture/event-time.js"
import type { CaptureError, CaptureEvent, CaptureMessage, Side } from "../capture/events.js"
import { placeOf } from "../capture/packets/file-place.js"
import { partCount, printedParts, shipmentIn, variousParts } from "../capture/parts.js"
import { COLUMNS, detailOf, formOf, formsOf, ratioText, senderOf } from "../capture/rows.js"
import { clockTime } from "../capture/times.js"
import { visible } from "../capture/visible.js"
import { moreText } from "./output.js"
import { cutTo, SEPARATOR, startOf } from "./terminal-text.js"

export interface TableLayout {
  columns: number
  colour: boolean
  utc?: boolean
  /** The names of the files, if there are several: errors of a file say which. */
  files?: readonly string[]
}

type MessageEvent = Extract<CaptureEvent, { type: "message" }>
type ErrorEvent = Extract<CaptureEvent, { type: "error" }>

const ARROWS: Record<Side, string> = { client: "→", server: "←" }
/** Minimum width of the content, even if the line becomes wider than the terminal. */
const CONTENT_MIN_COLUMNS = 16
/** Minimum width of a line with the number of the packet. */
const PACKET_MIN_COLUMNS = 100
/** What stands before content that may be wrong, because the capture does not have its dictionary. */
const GIVEN = "(given dictionary) "
/** What stands before the error of content that probably needs a dictionary that is not known. */
const MISSING = "(missing dictionary) "
/** Maximum width of a command's name. Known names are shorter, but a peer may send anything. */
const NAME_MAX_COLUMNS = 20

/** Formats the columns that all rows have. The rest depends on the kind of row. */
const lead = (time: string, packet: string, id: string, arrow: string, kind: string): string =>
  `${time.padEnd(15)} ${packet}${id.padStart(4)} ${arrow} ${kind.padEnd(10)}`

/** Formats the number of a packet, for which narrow terminals have no room. */
const packetCell = (packet: string, { columns }: Pick<TableLayout, "columns">): string =>
  columns < PACKET_MIN_COLUMNS ? "" : `${packet.padStart(7)} `

const sizes = (parts: string, plain: string, wire: string, ratio: string): string =>
  `${parts.padStart(5)} ${plain.padStart(7)} ${wire.padStart(7)} ${ratio.padStart(6)} `

export function tableHeader({ columns, utc }: Pick<TableLayout, "columns" | "utc">): string {
  const { time, packet, connection, from, form, parts, plain, wire, ratio, content } = COLUMNS
  const name = (column: { name: string }) => column.name.toUpperCase()
  const zone = utc ? `${name(time)} (UTC)` : name(time)
  const cell = packetCell(name(packet), { columns })
  const left = lead(zone, cell, name(connection), from.name || " ", name(form))
  return `${left} ${sizes(name(parts), name(plain), name(wire), name(ratio))} ${name(content)}`
}

/** Formats an event as one line within the layout's width, or longer for errors. */
export function tableRow(event: CaptureEvent, layout: TableLayout): string {
  if (event.type === "message") return messageRow(event, layout)
  const kind = cutTo(visible(formOf(event)), NAME_MAX_COLUMNS)
  const start = leadOf(event, kind, layout)
  if (event.type === "error")
    return styled("red", `${start} ${visible(fileOf(event, layout) + detailOf(event))}`, layout)
  return textRow(start, detailOf(event), layout)
}

function fileOf({ connection, error }: ErrorEvent, { files = [] }: TableLayout): string {
  return !connection && files.length > 1 ? `${files[placeOf(error.offset).file]}: ` : ""
}

function messageRow(event: MessageEvent, layout: TableLayout): string {
  const { message } = event
  const { wireBytes, plainBytes, arena } = message
  const dictionary = shipmentIn(message)
  const various = variousParts(message)
  const error = various.find((part) => part.error)?.error
  const measured = !dictionary && !error
  const kinds = formsOf(message)
  const kind = arena ? `${kinds} ${arena.index + 1}/${arena.messages}` : kinds
  const plain = measured ? String(plainBytes) : ""
  const ratio = measured && wireBytes > 0 ? ratioText(plainBytes, wireBytes) : ""
  const cells = sizes(String(partCount(message)), plain, String(wireBytes), ratio)
  const start = `${leadOf(event, kind, layout)} ${cells} `
  if (error) {
    const mark = various.some(({ dictionary }) => dictionary === "missing") ? MISSING : ""
    return styled("red", start + mark + errorText(error), layout)
  }
  const columns = left(start, layout)
  if (!dictionary) {
    const content = contentStart(message, columns)
    if (!various.some((part) => part.dictionary)) return start + content
    const said = `${GIVEN}${content}`
    return styled("yellow", start + cutTo(said, columns), layout)
  }
  const said = `dictionary of ${dictionary.length} bytes: ${startOf([dictionary], columns)}`
  return styled("magenta", start + cutTo(said, columns), layout)
}

/** Formats the beginning of a message, and how many of its parts are never printed. */
function contentStart(message: CaptureMessage, columns: number): string {
  // A part may have no width. Two too many show that there is more.
  const { parts, more } = printedParts(message, Math.ceil(columns / SEPARATOR.length) + 2)
  const contents = parts.map(({ plain }) => plain as Uint8Array)
  return startOf(contents, columns, more && moreText(more))
}

function leadOf(event: CaptureEvent, kind: string, layout: TableLayout): string {
  const time = clockTime(timeOf(event), layout.utc === true) ?? ""
  const packet = packetCell(String(event.packet ?? ""), layout)
  const connection = String(event.connection?.id ?? "")
  return lead(time, packet, connection, arrow(senderOf(event)), kind)
}

function textRow(start: string, text: string, layout: TableLayout): string {
  const line = `${start} `
  return styled("cyan", (line + cutTo(visible(text), left(line, layout))).trimEnd(), layout)
}

const left = (start: string, { columns }: TableLayout): number =>
  Math.max(columns - start.length, CONTENT_MIN_COLUMNS)

const errorText = ({ code, message }: CaptureError): string => `${code}: ${visible(message)}`
const arrow = (from: Side | undefined): string => (from ? ARROWS[from] : " ")

// Colours a line if the layout asks for it. styleText would check standard output itself.
function styled(
  style: "red" | "cyan" | "magenta" | "yellow",
  line: string,
  { colour }: TableLayout,
) {
  return colour ? styleText(style, line, { validateStream: false }) : line
}
