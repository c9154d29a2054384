import { clockMs } from "../base/runtime.js"
import { duration } from "../capture/duration-text.js"
import { printableJson } from "../capture/printable.js"
import { counted, type ReportTable } from "../capture/reports/report.js"
import { type Measured, type MeasuredGroup, measure } from "./advice-measure.js"
import { AdviceSamples, type SampledGroup } from "./advice-samples.js"
import { type CaptureReport, type Printing, reportCommand } from "./capture-report.js"
import type { Command } from "./command.js"
import { Progress } from "./progress.js"
import { quoted, reportText } from "./terminal-text.js"

export const advise: Command = reportCommand(
  {
    name: "advise",
    summary: "find options that would make the messages of a capture smaller",
    about: `Encodes some of the messages of a capture again, with a trained dictionary, arenas and levels, for up to
20 seconds, and prints which options would make them smaller.`,
  },
  (values, files) => adviceOf({ ...values, files }),
)

const LIMIT_MS = 20_000

/** The options that were given, some of which the command line for `train` repeats. */
type AdviceSource = Printing & { files: readonly string[] }

/** Returns the report, which measures at the end. */
export function adviceOf(source: AdviceSource): CaptureReport {
  const samples = new AdviceSamples()
  const { json } = source
  return {
    add: (event, matches) => {
      // What is encrypted matches no filter for content.
      if (matches) samples.add(event)
      return undefined
    },
    end: async (signal) => {
      const { groups } = samples
      const end = clockMs() + LIMIT_MS
      const progress = new Progress()
      const lines: string[] = []
      let stoppedMessages = 0
      for (const [i, group] of groups.entries()) {
        if (signal.aborted) {
          stoppedMessages += group.messages
          continue
        }
        // What one group does not use is left for the others.
        const limitMs = Math.max(end - clockMs(), 0) / (groups.length - i)
        const measured = await measure(group, limitMs, signal, (share) =>
          progress.show(() => {
            const percent = Math.floor((100 * (i + share)) / groups.length)
            return `encoding messages again, ${percent}`
          }),
        )
        lines.push(...(json ? [jsonLine(measured)] : reportText(table(measured, source))))
      }
      progress.clear()
      return [
        ...lines,
        ...(json ? [jsonEnd(samples, stoppedMessages)] : notesOf(samples, stoppedMessages)),
      ]
    },
  }
}

function table(measured: MeasuredGroup, source: AdviceSource): ReportTable {
  const { group, messages, plainBytes, recordedBytes, results, best } = measured
  const row = (name: string, bytes: number, ...others: string[]): string[] => [
    name,
    String(bytes),
    plainBytes > 0 ? (100 * (bytes / plainBytes)).toFixed(1) : "",
    ...others,
  ]
  return {
    title: `${titleOf(group)}: ${counted(messages, "message")} of ${group.messages} encoded again, ${counted(plainBytes, "byte")} plain`,
    columns: [
      { name: "Options", isText: true },
      { name: "Wire" },
      { name: "% of plain" },
      { name: "Time per message" },
      { name: "Pays after" },
    ],
    rows: [
      row("as recorded", recordedBytes),
      ...results.map((result) =>
        row(
          optionsText(result),
          result.bytes,
          duration(Math.round((1e6 * result.milliseconds) / messages)),
          result.breakEvenMessages === undefined
            ? ""
            : counted(result.breakEvenMessages, "message"),
        ),
      ),
    ],
    notes: best ? adviceText(group, best, source) : [NOTHING_BETTER],
  }
}

const NOTHING_BETTER = "→ none of these saves 5 % of what was recorded"

function titleOf({ from, socketType, address, connections }: SampledGroup): string {
  const type = socketType ?? "?"
  const way = from === "client" ? `${type} (client) → ${address}` : `${address} (${type}) → clients`
  return `${way}, ${counted(connections, "connection")}`
}

function optionsText(
  { level, arenas, dictionary, minCompressSize }: Measured,
  dictionaryText = `dictionary of ${dictionary?.length} bytes`,
): string {
  const words = [`level: ${level}`]
  if (arenas) words.push("arenas: true")
  if (dictionary) words.push(dictionaryText)
  if (minCompressSize !== undefined) words.push(`minCompressSize: ${minCompressSize}`)
  return words.join(", ")
}

/** Says what to write, and where. */
function adviceText(group: SampledGroup, best: Measured, source: AdviceSource): string[] {
  const { arenas, dictionary, savedBytes } = best
  const recordedBytes = group.recordedBytes + group.dictionaryBytes
  const share = ((100 * savedBytes) / recordedBytes).toFixed(0)
  const options = optionsText(best, 'dictionary: readFileSync("FILE.dict")')
  const lines = [
    `→ saves about ${share} % of the ${counted(recordedBytes, "byte")} that were recorded: ${group.from === "client" ? "connect" : "bind"}("lz4+tcp://…", { ${options} })`,
  ]
  if (dictionary)
    lines.push(
      (source.dictionary ?? source["dictionary-for"])
        ? "  zeromq-lz4 train cannot make it of this recording, because it takes no --dictionary"
        : `  made by: ${trainCommand(group, dictionary, source)}`,
      "  or autoDictionary: true, which trains one for each connection by itself",
    )
  if (arenas)
    lines.push(
      "  arenas: true is for peers that read revision 2; sockets use arenas by themselves if the peer announces that",
    )
  return lines
}

function trainCommand(
  { from, address }: SampledGroup,
  { length }: Uint8Array,
  { files, filter: filters = [], utc }: AdviceSource,
): string {
  const all = [`from=${from} connection=${address}`, ...filters]
  return [
    // `train` has no --utc.
    ...(utc && filters.length > 0 ? ["TZ=UTC"] : []),
    ...["zeromq-lz4 train -o FILE.dict --capacity", String(length > 2048 ? 8192 : 2048)],
    ...all.map((filter) => `--filter=${quoted(filter)}`),
    ...files.map((file) => quoted(/^-./.test(file) ? `./${file}` : file)),
  ].join(" ")
}

/** @param stoppedMessages those of servers that were not reached before the user stopped it. */
function notesOf(
  { othersMessages, tooLargeMessages, encryptedMessages, groups }: AdviceSamples,
  stoppedMessages: number,
): string[] {
  const others: [messages: number, what: string, before?: string][] = [
    [stoppedMessages, "of the next servers not encoded again", "stopped: "],
    [othersMessages, "of further servers not encoded again: choose them with --filter"],
    [tooLargeMessages, "of more than 1 MiB or 4096 parts not encoded again"],
    [
      encryptedMessages,
      "encrypted with CURVE: what other options would make of them is not visible",
    ],
  ]
  const notes = others.flatMap(([messages, what, before = ""]) =>
    messages > 0 ? [`${before}${counted(messages, "message")} ${what}`] : [],
  )
  if (groups.length === 0 && notes.length === 0) notes.push("there are no messages to encode again")
  return notes.length > 0 ? [...notes, ""] : []
}

function jsonLine({ group, best, results, ...measured }: MeasuredGroup): string {
  const { from, socketType, address, connections, messages, plainBytes } = group
  const { recordedBytes, dictionaryBytes } = group
  return printableJson({
    type: "advice",
    from,
    socketType: socketType ?? null,
    ...{ address, connections, messages, plainBytes, recordedBytes, dictionaryBytes },
    measured,
    results: results.map(({ dictionary, breakEvenMessages, milliseconds, ...result }) => ({
      ...result,
      minCompressSize: result.minCompressSize ?? null,
      dictionaryBytes: dictionary?.length ?? null,
      breakEvenMessages: breakEvenMessages ?? null,
      milliseconds: Number(milliseconds.toFixed(3)),
    })),
    best: best ? results.indexOf(best) : null,
  })
}

const jsonEnd = (
  { othersMessages, tooLargeMessages, encryptedMessages }: AdviceSamples,
  stoppedMessages: number,
): string =>
  printableJson({
    type: "advice",
    othersMessages: othersMessages + stoppedMessages,
    tooLargeMessages,
    encryptedMessages,
  })
