import type { CaptureEvent } from "../capture/events.js"
import { jsonRow } from "../capture/json-rows.js"
import {
  DECODING,
  DICTIONARY,
  EXIT_HELP,
  FILE_HELP,
  FILTER,
  FILTER_HELP,
  PRINTING,
} from "./capture-options.js"
import { type CaptureReport, printReport } from "./capture-report.js"
import { type Command, command, type Values, wholeNumber } from "./command.js"
import { UsageError } from "./errors.js"
import { nameOf } from "./input.js"
import { tableHeader, tableRow } from "./inspect-table.js"
import { checkMoved } from "./moved-options.js"
import { base64 } from "./output.js"

const OPTIONS = {
  "-n, --count COUNT": "ends after this number of rows",
  "--last COUNT": "prints the last rows only, at the end",
  "--full":
    "prints the whole content of messages; of more parts than bytes on the wire, as with --json, 100 and one for each byte",
  ...FILTER,
  ...PRINTING,
  ...DICTIONARY,
  ...DECODING,
} as const

export const inspect: Command = command({
  synopsis: "inspect [options] FILE…",
  summary: "show what is in a capture of traffic",
  about: `Shows the traffic of ZeroMQ peers over lz4+tcp:// and tcp:// as it is decoded, then a summary:
tcpdump -i any -U -w - … | zeromq-lz4 inspect -
${FILE_HELP}`,
  options: OPTIONS,
  notes: `${FILTER_HELP}\n\n${EXIT_HELP}`,
  excluded: {
    "-n and --last exclude each other": ["count", "last"],
    "--json prints full content without --full": ["json", "full"],
  },
  check: checkMoved,
  run: (values, positionals) =>
    printReport(values, positionals, (files) => {
      const format = values.json ? JSON_ROWS : table(values, files)
      const first = rowCount("-n", values.count) ?? Number.POSITIVE_INFINITY
      const last = rowCount("--last", values.last)
      return last === undefined ? new FirstRows(format, first) : new LastRows(format, last)
    }),
})

function rowCount(option: string, value: string | undefined): number | undefined {
  const rows = wholeNumber(option, value)
  if (rows !== undefined && rows < 1) throw new UsageError(`${option} is 1 or more; got ${rows}`)
  return rows
}

/** How rows look. */
interface Format {
  row(event: CaptureEvent): string
  /** Lines before the first row, and between the last one and the summary, if there are rows. */
  before: string
  after: string[]
}

const JSON_ROWS: Format = { row: (event) => jsonRow(event, base64), before: "", after: [] }

/** Width of a line without a terminal. */
const NO_TERMINAL_COLUMNS = 200
/** The same with --full: a string cannot be much longer than the bytes of so many columns in hexadecimal. */
const FULL_COLUMNS = 4 << 20

function table({ utc = false, full }: Values<typeof OPTIONS>, files: readonly string[]): Format {
  const names = files.map(nameOf)
  const colour = wantsColour()
  const columns = () => (full ? FULL_COLUMNS : (process.stdout.columns ?? NO_TERMINAL_COLUMNS))
  return {
    row: (event) => tableRow(event, { columns: columns(), colour, utc, files: names }),
    before: `${tableHeader({ columns: columns(), utc })}\n`,
    after: [""],
  }
}

/** Returns whether rows have colours: as the environment says, or else if a terminal shows them. */
function wantsColour(): boolean {
  const { FORCE_COLOR, NO_COLOR } = process.env
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR)
  return !NO_COLOR && process.stdout.isTTY && process.stdout.hasColors()
}

/** The rows from the first one on, each printed as it is read. */
class FirstRows implements CaptureReport {
  readonly hasRows = true
  readonly #format: Format
  readonly #max: number
  #count = 0

  constructor(format: Format, max: number) {
    this.#format = format
    this.#max = max
  }

  get isOver(): boolean {
    return this.#count >= this.#max
  }

  add(event: CaptureEvent, matches: boolean, isRow: boolean): string | undefined {
    if (!isRow || !matches || this.#count === this.#max) return undefined
    const before = this.#count++ === 0 ? this.#format.before : ""
    return `${before}${this.#format.row(event)}\n`
  }

  end(): string[] {
    return this.#count > 0 ? this.#format.after : []
  }
}

/** Characters of rows that are kept. */
const KEPT_MAX_CHARS = 256 << 20

/** The last rows, printed at the end. */
class LastRows implements CaptureReport {
  readonly hasRows = true
  readonly #format: Format
  readonly #max: number
  #kept: string[] = []
  #keptChars = 0

  constructor(format: Format, max: number) {
    this.#format = format
    this.#max = max
  }

  add(event: CaptureEvent, matches: boolean, isRow: boolean): undefined {
    if (!isRow || !matches) return
    const row = this.#format.row(event)
    this.#kept.push(row)
    this.#keptChars += row.length
    // Now and then, because this moves all of them.
    if (this.#kept.length < 2 * this.#max && this.#keptChars < KEPT_MAX_CHARS) return
    let kept = this.#kept.slice(-this.#max)
    while (kept.length > 1 && charsOf(kept) > KEPT_MAX_CHARS) kept = kept.slice(kept.length >> 1)
    this.#kept = kept
    this.#keptChars = charsOf(kept)
  }

  end(): string[] {
    const { before, after } = this.#format
    const rows = this.#kept.slice(-this.#max)
    if (rows.length === 0) return []
    return [...(before === "" ? [] : [before.trimEnd()]), ...rows, ...after]
  }
}

const charsOf = (rows: readonly string[]): number =>
  rows.reduce((sum, { length }) => sum + length, 0)
