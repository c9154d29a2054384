import { setMaxListeners } from "node:events"
import type { CaptureEvent } from "../capture/events.js"
import type { CaptureFilter } from "../capture/filter/capture-filter.js"
import { filterHelp } from "../capture/filter/filter.js"
import {
  CaptureFormatError,
  type CaptureOptions,
  CaptureReader,
  placeOf,
} from "../capture/index.js"
import { hasRow } from "../capture/rows.js"
import { parse, wholeNumber } from "./args.js"
import { readDictionary } from "./dictionary.js"
import { captureError, DamagedInput, InputError, UsageError } from "./errors.js"
import { filterOf } from "./filter.js"
import { matchingFiles, nameOf, readChunks } from "./input.js"
import { jsonRow, jsonSummary } from "./inspect-json.js"
import { summaryText } from "./inspect-summary.js"
import { tableHeader, tableRow } from "./inspect-table.js"
import { type Summary, Tally } from "./inspect-tally.js"
import { openPage, savePage } from "./open-page.js"
import { Output, OutputClosed } from "./output.js"
import { Progress } from "./progress.js"

export const usage: string = `usage: zeromq-lz4 inspect [options] FILE…

Shows the traffic of ZeroMQ peers over lz4+tcp:// and tcp:// as it is decoded, then a summary. FILE
is a .pcap or .pcapng, or the bytes that one side of a connection sent; it may be compressed with
gzip. "-" reads standard input: tcpdump -i any -U -w - … | zeromq-lz4 inspect -
Several files, such as a ring of tcpdump -C or -G, are read as one: their packets are merged by
time. In a name, * and ? stand for any characters.

      --json                    prints rows and summary as JSON, one object per line: see
                                docs/inspect.md
      --filter EXPR             shows only rows that match; can be given more than once
      --dictionary FILE         a dictionary that was sent before the capture began
      --all                     all connections in the summary, not the first 100 (--json: 10000),
                                and not only those with matching rows
      --max-message-size BYTES  maximum plaintext of one message; more is an error; default
                                268435456 (256 MiB); -1: no limit
      --open                    shows FILE in a browser, in a page that works offline
      --html PAGE               writes that page, with FILE in it, to the file PAGE; FILE has at
                                most 64 MiB. Both take --dictionary, and no other option
  -h, --help                    this text

EXPR: ${filterHelp}
docs/filters.md has all of it.

The exit code is 0 even if peers broke the protocol, and 1 if FILE is truncated, damaged or not a
capture.`

/** Width of a line without a terminal. */
const NO_TERMINAL_COLUMNS = 200

/**
 * The same limit as in the inspector's page: a small file can declare a message of gigabytes, or
 * contain one compressed by gzip.
 */
const MESSAGE_MAX_BYTES = 256 << 20

/** An output format for rows and the summary. */
interface Format {
  /** Maximum number of connections in the summary. */
  maxConnections: number
  /** Whether the summary has only those with rows that match the filter. */
  onlyMatching: boolean
  header: string
  /** Whether an event has a row; another row may describe it. */
  hasRow(event: CaptureEvent): boolean
  row(event: CaptureEvent): string
  /** Returns lines, which together may be longer than a string can be. */
  summary(summary: Summary): string[]
}

const json: Format = {
  maxConnections: 10_000,
  onlyMatching: false,
  header: "",
  hasRow: () => true,
  row: jsonRow,
  summary: jsonSummary,
}

const table: Format = {
  maxConnections: 100,
  onlyMatching: true,
  header: `${tableHeader}\n`,
  hasRow,
  row: (event) =>
    tableRow(event, {
      columns: process.stdout.columns ?? NO_TERMINAL_COLUMNS,
      colour: process.stdout.isTTY && process.stdout.hasColors(),
    }),
  summary: (summary) => [...(summary.matching > 0 ? [""] : []), ...summaryText(summary)],
}

export async function inspect(args: string[]): Promise<void> {
  const { files, open, html, format, filter, dictionary, options } = inspectArgs(args)
  const [file] = files as [string]
  if (open) return openPage(file, dictionary)
  if (html !== undefined) return savePage(html, file, dictionary)
  try {
    await report(files, format, filter, options)
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error
  }
}

function inspectArgs(args: string[]) {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      all: { type: "boolean" },
      filter: { type: "string", multiple: true },
      dictionary: { type: "string" },
      "max-message-size": { type: "string" },
      open: { type: "boolean" },
      html: { type: "string" },
    },
  })
  if (positionals.length === 0) throw new UsageError("no FILE given")
  const files = matchingFiles(positionals)
  const isPage = values.open || values.html !== undefined
  if (isPage && files.length > 1)
    throw new UsageError(`--open and --html take one FILE; got ${files.length}`)
  const { open = false, html, dictionary: named, ...others } = values
  if (open && (files[0] === "-" || html !== undefined || Object.keys(others).length > 0))
    throw new UsageError("--open takes a file, and no other option but --dictionary")
  if (html !== undefined && Object.keys(others).length > 0)
    throw new UsageError("--html takes no other option but --dictionary")
  const maxMessageSize =
    wholeNumber("--max-message-size", values["max-message-size"]) ?? MESSAGE_MAX_BYTES
  if (maxMessageSize < -1)
    throw new UsageError(
      `--max-message-size is -1 for no limit, or in bytes; got ${maxMessageSize}`,
    )
  const format = values.json ? json : table
  const dictionary = named === undefined ? undefined : { file: named, bytes: readDictionary(named) }
  return {
    files,
    open,
    html,
    dictionary,
    format: {
      ...format,
      ...(values.all && { maxConnections: Number.POSITIVE_INFINITY, onlyMatching: false }),
    },
    filter: filterOf(values.filter),
    options: {
      maxMessageSize,
      ...(dictionary && { dictionary: dictionary.bytes }),
    },
  }
}

/** Prints the content of the files until they end, or the user stops it. */
async function report(
  files: readonly string[],
  format: Format,
  filter: CaptureFilter | undefined,
  options: CaptureOptions,
): Promise<void> {
  const stop = new AbortController()
  // Each file listens.
  setMaxListeners(0, stop.signal)
  process.once("SIGINT", () => stop.abort())
  const progress = new Progress(files, filter !== undefined)
  // At the same terminal, output replaces the line of progress.
  const output = new Output(process.stdout, () => process.stdout.isTTY && progress.clear())
  const tally = new Tally(format.maxConnections, filter !== undefined && format.onlyMatching)
  let begun = false

  async function show(events: readonly CaptureEvent[]): Promise<void> {
    for (const event of events) {
      const matches = filter?.(event) ?? true
      const isRow = format.hasRow(event)
      tally.add(event, matches, isRow)
      if (!isRow || !matches) continue
      const row = format.row(event)
      await output.add(begun ? `${row}\n` : `${format.header}${row}\n`)
      begun = true
    }
    await output.flush()
  }

  const onRead = (bytes: number) => progress.add(bytes)
  const reader = new CaptureReader(options, files.length)
  const chunks = files.map((file) => readChunks(file, { signal: stop.signal, onRead }))
  let damage: DamagedInput | undefined

  /** Returns the next bytes of a file; undefined at its end, or where it is damaged. */
  async function next(file: number): Promise<Buffer | undefined> {
    try {
      return (await (chunks[file] as AsyncGenerator<Buffer, undefined>).next()).value
    } catch (error) {
      if (!(error instanceof DamagedInput)) throw error
      damage ??= error
      return undefined
    }
  }

  try {
    for (let file = reader.wanted; file !== undefined; file = reader.wanted) {
      const chunk = await next(file)
      // If the user stopped it, the capture has not ended.
      if (stop.signal.aborted) break
      await show(chunk ? reader.push(chunk, file) : reader.endFile(file))
    }
    if (!stop.signal.aborted) await show(reader.end())
  } catch (error) {
    throw damage ?? captureError(nameOf(files[fileOf(error)] as string), error)
  } finally {
    progress.clear()
    reader.close()
    for (const source of chunks) await source.return(undefined)
  }
  const { tcpConnections, unread, refused } = reader
  for (const line of format.summary(tally.summary(tcpConnections, unread, refused)))
    await output.add(`${line}\n`)
  await output.flush()
  if (damage) throw damage
  if (tally.fileError) {
    const { file } = placeOf(tally.fileError.offset)
    throw new InputError(`${nameOf(files[file] as string)}: ${tally.fileError.message}`)
  }
}

/** Returns which of the files an error is about. */
const fileOf = (error: unknown): number => (error instanceof CaptureFormatError ? error.file : 0)
