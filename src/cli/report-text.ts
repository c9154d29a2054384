import type { ReportTable } from "../capture/reports/report.js"
import { visible } from "../capture/visible.js"
import { cutTo, widthOf } from "./terminal-text.js"

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
