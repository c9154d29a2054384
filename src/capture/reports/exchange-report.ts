import { duration } from "../duration-text.js"
import type { Exchange } from "../exchanges/exchange.js"
import type { ExchangeSummary } from "../exchanges/exchanges.js"
import type { ExchangeGroup } from "../exchanges/group.js"
import { clockTime } from "../times.js"
import { counted, type ReportTable } from "./report.js"

/** Groups that are listed. */
const LISTED = 20

/** Returns tables of the questions and answers of a capture, or of those that match a filter. */
export function exchangeReport(
  { groups, slowest }: ExchangeSummary,
  utc: boolean,
  isFiltered: boolean,
): ReportTable[] {
  const listed = groups.slice(0, LISTED)
  const notes = listed.flatMap(groupNotes)
  if (groups.length > LISTED) notes.push(`and ${counted(groups.length - LISTED, "more group")}`)
  if (groups.length === 0)
    notes.push(
      isFiltered
        ? "none that match the filter"
        : "none: no messages between REQ, REP, DEALER or ROUTER",
    )
  return [
    {
      title: "Questions and answers",
      columns: [
        { name: "Server", isText: true },
        { name: "Client type → server type", isText: true },
        { name: "Connections" },
        { name: "Answered" },
        { name: "Unanswered", title: "Until the connection, or the recording, ended" },
        { name: "Median", title: "Time from question to answer; at most 0.6 % off" },
        { name: "p99", title: "99 % of answers took no longer; at most 0.6 % off" },
        { name: "Longest" },
      ],
      rows: listed.map(groupRow),
      notes,
    },
    ...(slowest.length > 0 ? [slowestTable(slowest, utc)] : []),
  ]
}

function groupRow(group: ExchangeGroup): string[] {
  const { times, connections, answered, unanswered } = group
  const [median, p99, max] = times
    ? [times.median, times.p99, times.max].map((time) => duration(Math.round(time)))
    : ["", "", ""]
  return [
    group.address ?? "others",
    `${group.client ?? "?"} → ${group.server ?? "?"}`,
    ...[connections, answered, unanswered].map(String),
    ...([median, p99, max] as string[]),
  ]
}

function groupNotes(group: ExchangeGroup): string[] {
  const { unknown, unexpected, notJoined } = group
  const notes = notJoined.map(
    ({ why, connections, messages }) =>
      `${counted(messages, "message")} of ${counted(connections, "connection")} not joined: ${why}`,
  )
  if (unknown > 0)
    notes.push(
      `${counted(unknown, "question")} whose answer is not certain, because messages are missing from the recording`,
    )
  if (unexpected > 0) notes.push(`${counted(unexpected, "answer")} without a question`)
  return notes.map((note) => `${group.address ?? "others"}: ${note}`)
}

function slowestTable(slowest: readonly Exchange[], utc: boolean): ReportTable {
  return {
    title: "The slowest answers",
    columns: [
      { name: "Took" },
      { name: "Conn", title: "Number of the connection" },
      { name: "Asked by", isText: true },
      { name: utc ? "Asked at (UTC)" : "Asked at", isText: true },
      { name: "Question", title: "Number of its packet" },
      { name: "Answer", title: "Number of its packet" },
      { name: "Bytes asked", title: "Plaintext of the question" },
      { name: "Bytes answered", title: "Plaintext of the answer" },
    ],
    rows: slowest.map(({ nanoseconds = 0, connection, from, question, answer }) => [
      duration(nanoseconds),
      String(connection),
      from,
      clockTime(question.time, utc) ?? "",
      String(question.packet ?? ""),
      String(answer.packet ?? ""),
      String(question.plainBytes),
      String(answer.plainBytes),
    ]),
    notes: [],
  }
}
