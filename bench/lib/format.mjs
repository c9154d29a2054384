/** Formats numbers and tables for terminals and Markdown. */

/** @param {number} number */
export const digits = (number) => number.toFixed(number < 10 ? 2 : number < 100 ? 1 : 0)

/** @param {{ median: number, minimum: number, maximum: number }} measurement @param {(number: number) => string} [format] */
export const withSpread = ({ median, minimum, maximum }, format = digits) =>
  `${format(median)} (${format(minimum)}–${format(maximum)})`

/** @param {number} bytes */
export const sizeName = (bytes) =>
  bytes < 1024 ? `${bytes} B` : bytes < 2 ** 20 ? `${bytes / 1024} KiB` : `${bytes / 2 ** 20} MiB`

/** Aligns columns for a terminal; the first `names` columns to the left. @param {readonly string[][]} rows @param {number} [names] */
export function aligned(rows, names = 2) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
  const line = (/** @type {string[]} */ cells) =>
    cells
      .map((cell, column) =>
        column < names ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
      )
      .join("  ")
  return rows.map(line).join("\n")
}

/** Formats a table as Markdown. @param {readonly string[][]} rows @param {number} [names] */
export function markdown([headings, ...rows], names = 2) {
  const rule = headings.map((_, column) => (column < names ? ":--" : "--:"))
  return [headings, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}

/** Rows of text, the first with headings; the first `names` columns identify a row. */
/** @typedef {{ title: string, rows: string[][], names: number }} Table */

/** @param {readonly Table[]} tables */
export const terminalTables = (tables) =>
  tables.map(({ title, rows, names }) => `${title}\n${aligned(rows, names)}`).join("\n\n")

/** @param {readonly Table[]} tables */
export const markdownTables = (tables) =>
  tables.map(({ title, rows, names }) => `**${title}**\n\n${markdown(rows, names)}`).join("\n\n")
