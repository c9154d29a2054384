import type { CaptureEvent } from "../capture/events.js"
import { jsonRow } from "../capture/json-rows.js"
import {
  DECODING,
  DICTIONARY,
  EXIT_HELP,
  FILE_HELP,
  FILTER,
  FILTER_HELP,
  KEYS,
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
  ...KEYS,
  ...DECODING,
} as const

export const inspect: Command = command({
  synopsis: "inspect [options] FILE…",
  summary: "show what is in a capture of traffic",
  about: `Shows the traffic of ZeroMQ peers over lz4+tcp://, zstd+tcp:// and tcp:// as it is decoded,
then a summary:
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
      return last === undefined ? firstRows(format, first) : lastRows(format, last)
    }),
})

function rowCount(option: string, value: string | undefined): number | undefined {
  const rows = wholeNumber(option, value)
  if (rows !== undefined && rows < 1) throw new UsageError(`${option} is 1 or more; got ${rows}`)
  return rows
}

interface Format {
  row(event: CaptureEvent): string
  /** Lines before the first row, and between the last one and the summary, if there are rows. */
  before: string
  after: string[]
}

const JSON_ROWS: Format = { row: (event) => jsonRow(event, base64), before: "", after: [] }

/** Width of a line without a terminal. */
const NO_TERMINAL_COLUMNS = 200
/** The same with --full: in hexadecimal, more would not fit into a string. */
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

/** Returns a report with the first `max` rows, each of which is printed as it is read. */
function firstRows({ row, before, after }: Format, max: number): CaptureReport {
  let count = 0
  return {
    hasRows: true,
    isOver: () => count >= max,
    add(event, matches, isRow) {
      if (!isRow || !matches || count === max) return undefined
      return `${count++ === 0 ? before : ""}${row(event)}\n`
    },
    end: () => (count > 0 ? after : []),
  }
}

/** Characters of rows that are kept. */
const KEPT_MAX_CHARS = 256 << 20

/** Returns a report with the last `max` rows, which are printed at the end. */
function lastRows({ row, before, after }: Format, max: number): CaptureReport {
  let kept: string[] = []
  let keptChars = 0
  return {
    hasRows: true,
    add(event, matches, isRow) {
      if (!isRow || !matches) return undefined
      const text = row(event)
      kept.push(text)
      keptChars += text.length
      // Now and then, because this moves all of them.
      if (kept.length < 2 * max && keptChars < KEPT_MAX_CHARS) return undefined
      kept = kept.slice(-max)
      while (kept.length > 1 && charsOf(kept) > KEPT_MAX_CHARS) kept = kept.slice(kept.length >> 1)
      keptChars = charsOf(kept)
      return undefined
    },
    end() {
      const [first, ...others] = kept.slice(-max)
      return first === undefined ? [] : [before + first, ...others, ...after]
    },
  }
}

const charsOf = (rows: readonly string[]): number =>
  rows.reduce((sum, { length }) => sum + length, 0)
