/**
 * Makes text and bytes of peers and files safe for a terminal. All output to one goes through
 * `visible` or, as JSON, `printableJson`.
 */
import { utf8 } from "../capture/printable.js"
import type { ReportTable } from "../capture/reports/report.js"
import { visible } from "../capture/visible.js"

const ASCII = /^[ -~]*$/
const NO_COLUMN = /^[\p{Mn}\p{Me}]$/u
const TWO_COLUMNS =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])$/u

// The first combining character. All characters before it take one column.
const COMBINING = "\u0300"

function characterWidth(character: string): number {
  if (character < COMBINING) return 1
  if (TWO_COLUMNS.test(character)) return 2
  return NO_COLUMN.test(character) ? 0 : 1
}

/** Returns the number of columns that a text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const character of text) width += characterWidth(character)
  return width
}

/** Cuts text to a number of columns, with "…" at the end of text that was cut. */
export function cutTo(text: string, columns: number): string {
  if (text.length <= columns && ASCII.test(text)) return text
  let width = 0
  let end = 0
  let length = 0
  for (const character of text) {
    width += characterWidth(character)
    if (width > columns) return `${text.slice(0, end)}…`
    length += character.length
    if (width < columns) end = length
  }
  return text
}

/** What stands between two parts. */
export const SEPARATOR = " | "

/**
 * Formats the beginning of parts in a number of columns: as text if they are UTF-8, otherwise in
 * hexadecimal.
 *
 * @param more what follows the last part.
 */
export function startOf(parts: readonly Uint8Array[], columns: number, more?: string): string {
  const pieces: string[] = []
  let length = 0
  for (const part of parts) {
    if (length > columns) break
    const piece = startOfPart(part, columns)
    pieces.push(piece)
    length += piece.length + SEPARATOR.length
  }
  if (more !== undefined) pieces.push(more)
  return cutTo(pieces.join(SEPARATOR), columns)
}

const MAX_UTF8_BYTES = 4

function startOfPart(part: Uint8Array, columns: number): string {
  if (part.length === 0) return "(empty)"
  // One more column than available, so that omitted text is detected.
  const start = part.subarray(0, characterEnd(part, MAX_UTF8_BYTES * (columns + 1)))
  const text = utf8(start)
  if (text !== undefined && !text.includes("\0")) return visible(text)
  return Array.from(start, (byte) => byte.toString(16).padStart(2, "0")).join(" ")
}

/** Returns a position up to `end` that is not within a character of UTF-8. */
function characterEnd(bytes: Uint8Array, end: number): number {
  let at = Math.min(end, bytes.length)
  while (at > end - MAX_UTF8_BYTES && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--
  return at
}

/** Quotes a word for a shell: in double quotes, which all shells know, unless they would expand it. */
export function quoted(text: string): string {
  if (/^[\w./:@-]+$/.test(text)) return text
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`
}

/** Maximum width of a cell: a peer may choose its text. */
const CELL_MAX_COLUMNS = 60

/** Formats a table as lines of text, with an empty one at the end. */
export function reportText({ title, columns, rows, notes }: ReportTable): string[] {
  const names = columns.map(({ name }) => name.toUpperCase())
  const cells = [
    names,
    ...rows.map((row) => row.map((cell) => cutTo(visible(cell), CELL_MAX_COLUMNS))),
  ]
  const widths = names.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ""))))
  const line = (row: readonly string[]) =>
    columns.map(({ isText }, i) => padded(row[i] ?? "", widths[i] as number, isText)).join("  ")
  return [
    title,
    ...(rows.length > 0 ? cells : []).map((row) => `  ${line(row)}`.trimEnd()),
    ...notes.map((note) => `  ${visible(note)}`),
    "",
  ]
}

function padded(text: string, width: number, isText = false): string {
  const space = " ".repeat(Math.max(0, width - widthOf(text)))
  return isText ? text + space : space + text
}
