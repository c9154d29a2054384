import { styleText } from "node:util"
import { timeOf } from "../capture/event-time.js"
import type {
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  Side,
} from "../capture/events.js"
import { detailOf, formOf, formsOf, senderOf } from "../capture/rows.js"
import { shippedIn } from "../capture/streams/messages.js"
import { visible } from "../capture/visible.js"
import { clockTime } from "./inspect-time.js"
import { cutTo, startOf } from "./terminal-text.js"

export interface TableLayout {
  /** The width of a line. */
  columns: number
  colour: boolean
}

const ARROWS: Record<Side, string> = { client: "→", server: "←" }
/** Minimum width of the content, even if the line becomes wider than the terminal. */
const CONTENT_MIN_COLUMNS = 16
/** Maximum width of a command's name. Known names are shorter, but a peer may send anything. */
const NAME_MAX_COLUMNS = 20

/** Formats the columns that all rows have. The rest depends on the kind of row. */
const lead = (time: string, id: string, arrow: string, kind: string): string =>
  `${time.padEnd(15)} ${id.padStart(4)} ${arrow} ${kind.padEnd(10)}`

const sizes = (parts: string, plain: string, wire: string, ratio: string): string =>
  `${parts.padStart(5)} ${plain.padStart(7)} ${wire.padStart(7)} ${ratio.padStart(6)} `

// The names and the order of the columns are those of the inspector's page.
export const tableHeader: string = `${lead("TIME (UTC)", "CONN", " ", "FORM")} ${sizes("PARTS", "PLAIN", "WIRE", "RATIO")} CONTENT`

/** Formats an event as one line within the layout's width, or longer for errors. */
export function tableRow(event: CaptureEvent, layout: TableLayout): string {
  if (event.type === "message") return messageRow(event.connection, event.message, layout)
  const kind = cutTo(visible(formOf(event)), NAME_MAX_COLUMNS)
  const start = lead(clock(timeOf(event)), id(event.connection), arrow(senderOf(event)), kind)
  if (event.type === "error") return styled("red", `${start} ${visible(detailOf(event))}`, layout)
  return textRow(start, detailOf(event), layout)
}

function messageRow(
  connection: CaptureConnection,
  message: CaptureMessage,
  layout: TableLayout,
): string {
  const { time, from, parts, wireBytes, plainBytes, arena } = message
  const dictionary = shippedIn(parts[0] as CapturePart)
  const error = parts.find((part) => part.error)?.error
  const measured = !dictionary && !error
  const kinds = formsOf(message)
  const start = `${lead(
    clock(time),
    id(connection),
    arrow(from),
    arena ? `${kinds} ${arena.index + 1}/${arena.messages}` : kinds,
  )} ${sizes(
    String(parts.length),
    measured ? String(plainBytes) : "",
    String(wireBytes),
    measured && wireBytes > 0 ? ratio(plainBytes / wireBytes) : "",
  )} `
  if (error) return styled("red", start + errorText(error), layout)
  const columns = left(start, layout)
  if (!dictionary)
    return (
      start +
      startOf(
        parts.map(({ plain }) => plain as Uint8Array),
        columns,
      )
    )
  const said = `dictionary of ${dictionary.length} bytes: ${startOf([dictionary], columns)}`
  return styled("magenta", start + cutTo(said, columns), layout)
}

function textRow(start: string, text: string, layout: TableLayout): string {
  const line = `${start} `
  return styled("cyan", (line + cutTo(visible(text), left(line, layout))).trimEnd(), layout)
}

// The ratio is at most 255, so this takes 6 columns.
const ratio = (times: number): string => `${times.toFixed(times < 100 ? 2 : 1)}×`

const left = (start: string, { columns }: TableLayout): number =>
  Math.max(columns - start.length, CONTENT_MIN_COLUMNS)

const errorText = ({ code, message }: CaptureError): string => `${code}: ${visible(message)}`
const clock = (time: bigint | undefined): string => clockTime(time) ?? ""
const id = (connection: CaptureConnection | undefined): string => String(connection?.id ?? "")
const arrow = (from: Side | undefined): string => (from ? ARROWS[from] : " ")

// Colours a line if the layout asks for it. styleText would check standard output itself.
function styled(style: "red" | "cyan" | "magenta", line: string, { colour }: TableLayout): string {
  return colour ? styleText(style, line, { validateStream: false }) : line
}
