import { addTraffic, type Traffic } from "../../codec/traffic.js"
import { joinPeriods } from "../statistics/seconds.js"
import type { SizeTraffic, StatisticsSummary } from "../statistics/statistics.js"
import { dateTime } from "../times.js"
import { counted, type ReportColumn, type ReportTable } from "./report.js"

/** Topics and periods that are listed. */
const TOPICS_LISTED = 20
const PERIODS_LISTED = 30

/** Returns tables of the traffic of a capture. */
export function statisticsReport(summary: StatisticsSummary, utc: boolean): ReportTable[] {
  const { total, types, topics, sizes, periods } = summary
  return [
    {
      title: "Messages by the type of the socket that sent them",
      columns: columns({ name: "Type", isText: true }),
      rows: [...types.map((one) => row(one.name, one)), row("all", total)],
      notes: leftOut(summary),
    },
    ...(topics.length > 0 ? [topicTable(summary)] : []),
    ...(total.messages > 0 ? [sizeTable(sizes)] : []),
    ...(periods.length > 0 ? [periodTable(summary, utc)] : []),
  ]
}

const columns = (first: ReportColumn): ReportColumn[] => [
  first,
  { name: "Messages" },
  { name: "Plain", title: "Bytes of plaintext" },
  { name: "Wire", title: "Bytes on the wire" },
  { name: "Saved", title: "Bytes that compression saved" },
  { name: "%", title: "The same in percent of the plaintext" },
]

const row = (name: string, { messages, plainBytes, wireBytes }: Traffic): string[] => [
  name,
  ...[messages, plainBytes, wireBytes, plainBytes - wireBytes].map(String),
  plainBytes > 0 ? (100 * (1 - wireBytes / plainBytes)).toFixed(1) : "",
]

function topicTable({ topics, otherTopics }: StatisticsSummary): ReportTable {
  const listed = topics.slice(0, TOPICS_LISTED)
  const others = topics.slice(TOPICS_LISTED)
  const rest: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  for (const one of otherTopics ? [...others, otherTopics] : others) addTraffic(rest, one)
  const more = otherTopics ? "all others" : `${others.length} others`
  return {
    title: "Messages by topic",
    columns: columns({ name: "Topic", isText: true }),
    rows: [
      ...listed.map((one) => row(one.name === "" ? "(no known topic)" : one.name, one)),
      ...(rest.messages > 0 ? [row(more, rest)] : []),
    ],
    notes: otherTopics
      ? ["there are many topics: some messages of those that are listed may be among the others"]
      : [],
  }
}

const sizeTable = (sizes: readonly SizeTraffic[]): ReportTable => ({
  title: "Messages by the size of their plaintext",
  columns: columns({ name: "Bytes" }),
  rows: sizes.filter(({ messages }) => messages > 0).map((one) => row(sizeText(one), one)),
  notes: [],
})

const sizeText = ({ min, end }: SizeTraffic): string =>
  end === undefined ? `${min} and more` : `${min} to ${end - 1}`

function periodTable(summary: StatisticsSummary, utc: boolean): ReportTable {
  const { length, periods } = joinPeriods(summary.periods, summary.periodSeconds, PERIODS_LISTED)
  return {
    title: length === 1 ? "Messages by second" : `Messages by ${length} seconds`,
    columns: columns({ name: utc ? "From (UTC)" : "From", isText: true }),
    rows: periods.map((one) => row(startText(one.start, utc), one)),
    notes: [],
  }
}

const startText = (start: number, utc: boolean): string =>
  dateTime(BigInt(start) * 1_000_000_000n, utc)?.slice(0, -".nnnnnnnnn".length) ?? String(start)

function leftOut({ dictionaries, undecoded, encrypted }: StatisticsSummary): string[] {
  const notes: string[] = []
  if (dictionaries.count > 0)
    notes.push(
      `not counted: ${dictionaries.count === 1 ? "1 dictionary" : `${dictionaries.count} dictionaries`}, ${counted(dictionaries.wireBytes, "byte")} on the wire`,
    )
  if (undecoded.messages > 0)
    notes.push(
      `not counted: ${counted(undecoded.messages, "message")} that cannot be decoded, ${counted(undecoded.wireBytes, "byte")} on the wire`,
    )
  if (encrypted.messages > 0)
    notes.push(
      `not counted: ${counted(encrypted.messages, "encrypted frame")}, ${counted(encrypted.bytes, "byte")} on the wire, nothing else is visible`,
    )
  return notes
}
