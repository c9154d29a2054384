/** Tables about a whole capture. The terminal and the page show the same ones. */

export interface ReportColumn {
  name: string
  /** What it says, if the name does not. */
  title?: string
  /** Whether it has text, which is aligned to the left, and not numbers. */
  isText?: boolean
}

export interface ReportTable {
  title: string
  columns: readonly ReportColumn[]
  /** The cells of each row. They may contain what a peer sent. */
  rows: readonly (readonly string[])[]
  /** What has to be known about the rows. */
  notes: readonly string[]
}

/** Formats a count with its noun. */
export const counted = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`
