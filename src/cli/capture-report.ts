import type { CaptureEvent } from "../capture/events.js"
import { hasRow } from "../capture/rows.js"
import {
  DECODING,
  DICTIONARY,
  decodingOf,
  EXIT_HELP,
  FILE_HELP,
  FILTER,
  filesOf,
  filterOf,
  KEYS,
  PRINTING,
} from "./capture-options.js"
import { CaptureReading } from "./capture-reading.js"
import { type Command, command, type Values } from "./command.js"
import { jsonSummary, summaryText } from "./inspect-summary.js"
import { Tally } from "./inspect-tally.js"
import { Output, untilClosed } from "./output.js"

/** What is printed about a capture before its summary: rows, tables, or lines of JSON. */
export interface CaptureReport {
  /** Whether it prints something for each event, so that no line of progress is needed. */
  hasRows?: boolean
  /** Whether nothing more has to be read. */
  isOver?(): boolean
  /** Adds an event. Returns the text that can be printed now. */
  add(event: CaptureEvent, matches: boolean, isRow: boolean): string | undefined
  /** Returns the last lines. `signal` is aborted if the user does not want to wait for them. */
  end(signal: AbortSignal): string[] | Promise<string[]>
}

export type Printing = Values<
  typeof FILTER & typeof PRINTING & typeof DICTIONARY & typeof KEYS & typeof DECODING
>

/** Makes a command that prints a report without rows. */
export const reportCommand = (
  { name, summary, about }: Record<"name" | "summary" | "about", string>,
  reportOn: (values: Printing, files: readonly string[]) => CaptureReport,
): Command =>
  command({
    synopsis: `${name} [options] FILE…`,
    summary,
    about: `${about}\n${FILE_HELP}`,
    options: { ...FILTER, ...PRINTING, ...DICTIONARY, ...KEYS, ...DECODING },
    notes: EXIT_HELP,
    run: (values, positionals) =>
      printReport(values, positionals, (files) => reportOn(values, files)),
  })

/** Maximum number of connections in the summary below rows, as JSON and as text. */
const JSON_CONNECTIONS = 10_000
const TEXT_CONNECTIONS = 100

/**
 * Prints a report on captures, then the summary, which lists connections if the report has rows.
 * SIGINT ends the reading; what was read is still reported.
 *
 * @throws UsageError if the options or names are wrong.
 * @throws InputError if a file cannot be read to its end; what precedes the damage was printed.
 */
export async function printReport(
  { json = false, utc = false, all = false, filter: expressions, ...decoding }: Printing,
  positionals: readonly string[],
  reportOn: (files: readonly string[]) => CaptureReport,
): Promise<void> {
  const files = filesOf(positionals)
  const filter = filterOf(expressions, utc)
  const report = reportOn(files)
  const { hasRows = false } = report
  const reading = new CaptureReading(files, decodingOf(decoding), filter !== undefined || !hasRows)
  const maxConnections = hasRows ? (json ? JSON_CONNECTIONS : TEXT_CONNECTIONS) : 0
  const tally = all
    ? new Tally(Number.POSITIVE_INFINITY)
    : new Tally(maxConnections, filter !== undefined && !json)
  await untilClosed(print())

  async function print(): Promise<void> {
    const output = new Output(() => reading.clearProgress())
    for await (const events of reading.events()) {
      for (const event of events) {
        const matches = filter?.(event) ?? true
        const isRow = json || hasRow(event)
        tally.add(event, matches, isRow)
        const text = report.add(event, matches, isRow)
        if (text !== undefined) await output.add(text)
      }
      // The rest of the chunk counts: the reader's own sums have it.
      if (report.isOver?.()) reading.stop()
      await output.flush()
    }
    // A reading that was stopped is still reported on, until the user stops that too.
    const enough = new AbortController()
    const onEnough = () => enough.abort()
    process.once("SIGINT", onEnough)
    const lines = await report.end(enough.signal)
    process.off("SIGINT", onEnough)
    const { tcpConnections, unread, refused } = reading.counts
    const summary = tally.summary(tcpConnections, unread, refused)
    for (const line of [...lines, ...(json ? jsonSummary(summary) : summaryText(summary, utc))])
      await output.add(`${line}\n`)
    await output.flush()
    reading.checkUndamaged()
  }
}
