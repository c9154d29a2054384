import { duration } from "../capture/duration-text.js"
import { printableJson } from "../capture/printable.js"
import { counted, type ReportTable } from "../capture/reports/report.js"
import { clockMs } from "../codec/runtime.js"
import { type Measured, type MeasuredGroup, measure } from "./advice-measure.js"
import { AdviceSamples, type SampledGroup } from "./advice-samples.js"
import type { InspectReport } from "./inspect-reports.js"
import { reportText } from "./report-text.js"

/** Time for all measurements together. */
const LIMIT_MS = 20_000
/** Time after which progress is shown on a terminal. */
const QUIET_MS = 1000

/** The report of --advise. */
export function adviceOf(json: boolean, files: readonly string[]): InspectReport {
  const samples = new AdviceSamples()
  return {
    add: (event, matches) => {
      // What is encrypted matches no filter for content.
      if (matches) samples.add(event)
      return []
    },
    lines: async () => {
      const { groups } = samples
      const end = clockMs() + LIMIT_MS
      const progress = new Measuring(groups.length)
      const lines: string[] = []
      for (const [i, group] of groups.entries()) {
        // What one group does not use is left for the others.
        const limitMs = Math.max(end - clockMs(), 0) / (groups.length - i)
        const measured = await measure(group, limitMs, (share) => progress.show(i, share))
        lines.push(...(json ? [jsonLine(measured)] : reportText(table(measured, files))))
      }
      progress.clear()
      return json ? lines : [...lines, ...notesOf(samples)]
    },
  }
}

/** A line on standard error with the share of the measurements that are done. */
class Measuring {
  readonly #groups: number
  readonly #from = clockMs() + QUIET_MS
  #isShown = false

  constructor(groups: number) {
    this.#groups = groups
  }

  show(group: number, share: number): void {
    if (!process.stderr.isTTY || clockMs() < this.#from) return
    this.#isShown = true
    const percent = Math.floor((100 * (group + share)) / this.#groups)
    process.stderr.write(`\rencoding messages again, ${percent} %\x1b[K`)
  }

  clear(): void {
    if (this.#isShown) process.stderr.write("\r\x1b[K")
  }
}

function table(measured: MeasuredGroup, files: readonly string[]): ReportTable {
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
      { name: "Time a message" },
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
    notes: best ? adviceText(group, best, files) : [NOTHING_BETTER],
  }
}

const NOTHING_BETTER = "→ none of these saves 5 % of what was recorded"

function titleOf({ from, socketType, address, connections }: SampledGroup): string {
  const sender = `${socketType ?? "?"} (${from})`
  const way = from === "client" ? `${sender} → ${address}` : `${address}, ${sender} →`
  return `${way}, ${counted(connections, "connection")}`
}

function optionsText({ level, arenas, dictionary }: Measured): string {
  const words = [`level: ${level}`]
  if (arenas) words.push("arenas: true")
  if (dictionary) words.push(`dictionary of ${dictionary.length} bytes`)
  return words.join(", ")
}

/** Says what to write, and where. */
function adviceText(group: SampledGroup, best: Measured, files: readonly string[]): string[] {
  const { level, arenas, dictionary, savedBytes } = best
  const recordedBytes = group.recordedBytes + group.dictionaryBytes
  const share = ((100 * savedBytes) / recordedBytes).toFixed(0)
  const options = [`level: ${level}`]
  if (arenas) options.push("arenas: true")
  if (dictionary) options.push('dictionary: readFileSync("FILE.dict")')
  const lines = [
    `→ saves about ${share} % of the ${counted(recordedBytes, "byte")} that were recorded: ${group.from === "client" ? "connect" : "bind"}("lz4+tcp://…", { ${options.join(", ")} })`,
  ]
  if (dictionary)
    lines.push(
      `  made by: zeromq-lz4 train -o FILE.dict --capacity ${dictionary.length > 2048 ? 8192 : 2048} --filter "from=${group.from} connection=${group.address}" ${files.join(" ")}`,
      "  or autoDictionary: true, which trains one for each connection by itself",
    )
  if (arenas)
    lines.push(
      "  arenas: true is for peers that read revision 2; sockets use arenas by themselves if the peer announces that",
    )
  return lines
}

function notesOf({ othersMessages, encryptedMessages, groups }: AdviceSamples): string[] {
  const notes: string[] = []
  if (othersMessages > 0)
    notes.push(
      `${counted(othersMessages, "message")} of further servers not encoded again: choose them with --filter`,
    )
  if (encryptedMessages > 0)
    notes.push(
      `${counted(encryptedMessages, "message")} encrypted with CURVE: what they would be with other options cannot be seen`,
    )
  if (groups.length === 0 && encryptedMessages === 0)
    notes.push("there are no messages to encode again")
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
      dictionaryBytes: dictionary?.length ?? null,
      breakEvenMessages: breakEvenMessages ?? null,
      milliseconds: Number(milliseconds.toFixed(3)),
    })),
    best: best ? results.indexOf(best) : null,
  })
}
