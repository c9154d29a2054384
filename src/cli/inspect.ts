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
import { jsonRow } from "../capture/json-rows.js"
import { MESSAGE_MAX_BYTES } from "../capture/message-limit.js"
import { MAX_FILES } from "../capture/packets/file-place.js"
import { hasRow } from "../capture/rows.js"
import { parse, wholeNumber } from "./args.js"
import { base64 } from "./base64.js"
import { dictionaryChoice, readDictionary } from "./dictionary.js"
import { captureError, DamagedInput, InputError, UsageError } from "./errors.js"
import { filterOf } from "./filter.js"
import { matchingFiles, nameOf, readChunks } from "./input.js"
import { adviceOf } from "./inspect-advice.js"
import { exchangesOf } from "./inspect-exchanges.js"
import { jsonSummary } from "./inspect-json.js"
import type { InspectReport } from "./inspect-reports.js"
import { statisticsOf } from "./inspect-statistics.js"
import { summaryText } from "./inspect-summary.js"
import { tableHeader, tableRow } from "./inspect-table.js"
import { type Summary, Tally } from "./inspect-tally.js"
import { inspectLive } from "./live.js"
import { openPage, savePage } from "./open-page.js"
import { Output, OutputClosed } from "./output.js"
import { checkPlainName, savePlain } from "./plain-capture.js"
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
  -n, --count COUNT             ends after this number of rows
      --last COUNT              prints the last rows only, at the end
      --full                    prints the whole content of messages; of more parts than bytes on
                                the wire, as with --json, 100 and one for each byte
      --statistics              prints no rows, but what was sent and what compression saved, by
                                socket type, topic, size and second
      --advise                  prints no rows, but what would make the same messages smaller: some
                                are encoded again with a trained dictionary, arenas and levels, for
                                up to 20 seconds, and the options to use are shown
      --exchanges               prints no rows, but how long answers took: of REQ and REP, and of
                                DEALER and ROUTER where they can be joined
      --utc                     times in UTC, and not local ones, also in EXPR
      --dictionary FILE         a dictionary that was sent before the capture began
      --dictionary-for SCOPE=FILE
                                the same for what SCOPE says: a connection (3), one side of it
                                (3:client, 3:server), or a side of all (client, server); can be
                                given more than once
      --all                     all connections in the summary, not the first 100 (--json: 10000),
                                and not only those with matching rows
      --max-message-size BYTES  maximum plaintext of one message; more is an error; default
                                268435456 (256 MiB); -1: no limit
      --open                    shows the FILEs in a browser, in a page that works offline
      --live                    shows FILE in such a page while it is recorded, or standard input:
                                tcpdump … -U -w - | zeromq-lz4 inspect --live -
                                Prints the page's address, for browsers on this computer, and ends
                                with Ctrl-C. Takes --dictionary, --open and --port
      --port PORT               the port of --live; default: one that is free
      --html PAGE               writes that page, with the FILEs in it, to the file PAGE, or to
                                standard output if that is "-"; they have at most 64 MiB. --open
                                and --html take --dictionary, and no other option
      --plain OUT               writes the same recording with plain ZMTP over TCP in place of
                                lz4+tcp:// to OUT, which ends in .pcap or .pcapng, or is "-";
                                takes --dictionary, --max-message-size and no other option
  -h, --help                    this text

EXPR: ${filterHelp}
docs/filters.md has all of it.

The exit code is 0 even if peers broke the protocol, and 1 if FILE is truncated, damaged or not a
capture.`

/** Width of a line without a terminal. */
const NO_TERMINAL_COLUMNS = 200
/** The same with --full: a string cannot be much longer than the bytes of so many columns in hexadecimal. */
const FULL_COLUMNS = 4 << 20

/** Characters of rows that --last keeps. */
const KEPT_MAX_CHARS = 256 << 20

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
  row: (event) => jsonRow(event, base64),
  summary: jsonSummary,
}

function table(utc: boolean, full: boolean, files: readonly string[]): Format {
  const names = files.map(nameOf)
  const colour = wantsColour()
  const columns = () => (full ? FULL_COLUMNS : (process.stdout.columns ?? NO_TERMINAL_COLUMNS))
  return {
    maxConnections: 100,
    onlyMatching: true,
    header: `${tableHeader({ columns: columns(), utc })}\n`,
    hasRow,
    row: (event) => tableRow(event, { columns: columns(), colour, utc, files: names }),
    summary: (summary) => [...(summary.matching > 0 ? [""] : []), ...summaryText(summary, utc)],
  }
}

/** Returns whether rows have colours: as the environment says, or else if a terminal shows them. */
function wantsColour(): boolean {
  const { FORCE_COLOR, NO_COLOR } = process.env
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR)
  return !NO_COLOR && process.stdout.isTTY && process.stdout.hasColors()
}

export async function inspect(args: string[]): Promise<void> {
  const { files, open, live, html, plain, format, filter, shown, reports, dictionary, options } =
    inspectArgs(args)
  const [file] = files as [string]
  if (live) return inspectLive(file, { dictionary, open, ...live })
  if (open) return openPage(files, dictionary)
  if (html !== undefined) return savePage(html, files, dictionary)
  try {
    if (plain !== undefined) await savePlain(plain, files, options)
    else await report(files, format, filter, shown, reports, options)
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
      utc: { type: "boolean" },
      full: { type: "boolean" },
      statistics: { type: "boolean" },
      advise: { type: "boolean" },
      exchanges: { type: "boolean" },
      count: { type: "string", short: "n" },
      last: { type: "string" },
      filter: { type: "string", multiple: true },
      dictionary: { type: "string" },
      "dictionary-for": { type: "string", multiple: true },
      "max-message-size": { type: "string" },
      open: { type: "boolean" },
      live: { type: "boolean" },
      port: { type: "string" },
      html: { type: "string" },
      plain: { type: "string" },
    },
  })
  if (positionals.length === 0) throw new UsageError("no FILE given")
  const files = matchingFiles(positionals)
  if (files.length > MAX_FILES)
    throw new UsageError(`at most ${MAX_FILES} FILEs are read as one; got ${files.length}`)
  if (values.live && files.length > 1)
    throw new UsageError(`--live takes one FILE; got ${files.length}`)
  const { open = false, live = false, port, html, dictionary: named, ...others } = values
  if (live && (html !== undefined || Object.keys(others).length > 0))
    throw new UsageError("--live takes no other option but --dictionary, --open and --port")
  if (port !== undefined && !live) throw new UsageError("--port is the port of --live")
  if (
    open &&
    !live &&
    (files.includes("-") || html !== undefined || Object.keys(others).length > 0)
  )
    throw new UsageError("--open takes files, and no other option but --dictionary")
  if (html !== undefined && Object.keys(others).length > 0)
    throw new UsageError("--html takes no other option but --dictionary")
  const { "max-message-size": _, "dictionary-for": __, plain, ...forRows } = others
  if (plain !== undefined) checkPlainName(plain)
  if (plain !== undefined && Object.keys(forRows).length > 0)
    throw new UsageError("--plain takes only --dictionary, --dictionary-for and --max-message-size")
  const maxMessageSize =
    wholeNumber("--max-message-size", values["max-message-size"]) ?? MESSAGE_MAX_BYTES
  if (maxMessageSize < -1)
    throw new UsageError(
      `--max-message-size is -1 for no limit, or in bytes; got ${maxMessageSize}`,
    )
  const format = values.json ? json : table(values.utc === true, values.full === true, files)
  if (values.json && values.full) throw new UsageError("--json prints full content without --full")
  if (values.count !== undefined && values.last !== undefined)
    throw new UsageError("-n and --last exclude each other")
  const reports: InspectReport[] = []
  const [isJson, isUtc] = [values.json === true, values.utc === true]
  if (values.statistics) reports.push(statisticsOf(isJson, isUtc))
  const isFiltered = values.filter?.some((text) => text.trim() !== "") ?? false
  if (values.exchanges) reports.push(exchangesOf(isJson, isUtc, isFiltered))
  if (values.advise)
    reports.push(
      adviceOf(isJson, {
        files,
        filters: values.filter ?? [],
        utc: isUtc,
        hasDictionaries: (named ?? values["dictionary-for"]) !== undefined,
      }),
    )
  if (reports.length > 0 && (values.count ?? values.last ?? values.full) !== undefined)
    throw new UsageError(
      "--statistics, --exchanges and --advise print no rows, so -n, --last and --full have no effect",
    )
  const dictionary = named === undefined ? undefined : { file: named, bytes: readDictionary(named) }
  return {
    files,
    open,
    live: live ? { port: portOf(port) } : undefined,
    html,
    plain,
    dictionary,
    format: {
      ...format,
      ...(reports.length > 0 && {
        maxConnections: 0,
        // There are no rows before it.
        summary: (summary: Summary) => format.summary(summary).filter(Boolean),
      }),
      ...(values.all && { maxConnections: Number.POSITIVE_INFINITY, onlyMatching: false }),
    },
    filter: filterOf(values.filter, values.utc),
    reports,
    shown: {
      first: rowCount("-n", values.count) ?? Number.POSITIVE_INFINITY,
      last: rowCount("--last", values.last),
    },
    options: {
      maxMessageSize,
      dictionary: dictionaryChoice(dictionary?.bytes, values["dictionary-for"]),
    },
  }
}

function portOf(value: string | undefined): number {
  const port = wholeNumber("--port", value) ?? 0
  if (port < 0 || port > 65535) throw new UsageError(`--port is 0 to 65535; got ${port}`)
  return port
}

/** Which of the matching rows are printed. */
interface Shown {
  /** The number of the first rows, after which nothing more is read. */
  first: number
  /** The number of the last rows; undefined if rows are printed as they are read. */
  last: number | undefined
}

function rowCount(option: string, value: string | undefined): number | undefined {
  const rows = wholeNumber(option, value)
  if (rows !== undefined && rows < 1) throw new UsageError(`${option} is 1 or more; got ${rows}`)
  return rows
}

/** Prints the content of the files until they end, or the user stops it. */
async function report(
  files: readonly string[],
  format: Format,
  filter: CaptureFilter | undefined,
  shown: Shown,
  reports: readonly InspectReport[],
  options: CaptureOptions,
): Promise<void> {
  const stop = new AbortController()
  // Each file listens.
  setMaxListeners(0, stop.signal)
  const onSignal = () => stop.abort()
  process.once("SIGINT", onSignal)
  const progress = new Progress(files, filter !== undefined || reports.length > 0)
  // At the same terminal, output replaces the line of progress.
  const output = new Output(process.stdout, () => process.stdout.isTTY && progress.clear())
  const tally = new Tally(format.maxConnections, filter !== undefined && format.onlyMatching)
  let begun = false
  let kept: string[] = []
  let keptChars = 0

  async function print(row: string): Promise<void> {
    await output.add(begun ? `${row}\n` : `${format.header}${row}\n`)
    begun = true
  }

  /** Keeps a row until the end, if it may be among the last. */
  function keep(row: string, last: number): void {
    kept.push(row)
    keptChars += row.length
    // Now and then, because this moves all of them.
    if (kept.length < 2 * last && keptChars < KEPT_MAX_CHARS) return
    kept = kept.slice(-last)
    while (kept.length > 1 && charsOf(kept) > KEPT_MAX_CHARS) kept = kept.slice(kept.length >> 1)
    keptChars = charsOf(kept)
  }

  async function show(events: readonly CaptureEvent[]): Promise<void> {
    for (const event of events) {
      const matches = filter?.(event) ?? true
      const isRow = format.hasRow(event)
      tally.add(event, matches, isRow)
      for (const report of reports)
        for (const line of report.add(event, matches)) await output.add(`${line}\n`)
      if (reports.length > 0) continue
      // The rest of the chunk counts: the reader's own sums have it.
      if (!isRow || !matches || tally.matching > shown.first) continue
      const row = format.row(event)
      if (shown.last === undefined) await print(row)
      else keep(row, shown.last)
      if (tally.matching === shown.first) stop.abort()
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
  for (const row of shown.last === undefined ? [] : kept.slice(-shown.last)) await print(row)
  process.off("SIGINT", onSignal)
  // A reading that was stopped is still reported on, until the user stops that too.
  const enough = new AbortController()
  const onEnough = () => enough.abort()
  process.once("SIGINT", onEnough)
  for (const report of reports)
    for (const line of await report.lines(enough.signal)) await output.add(`${line}\n`)
  process.off("SIGINT", onEnough)
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

const charsOf = (rows: readonly string[]): number =>
  rows.reduce((sum, { length }) => sum + length, 0)
