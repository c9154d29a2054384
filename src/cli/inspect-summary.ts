import type { ConnectionSummary, SideSummary } from "../capture/summary.js"
import type { Summary } from "./inspect-tally.js"
import { isoTime } from "./inspect-time.js"
import { count } from "./output.js"
import { cutTo, printable } from "./terminal-text.js"

/** Names of socket types are shorter, but may be anything. */
const TYPE_MAX_COLUMNS = 20

/** A summary in words, line by line. */
export function summaryText(summary: Summary): string[] {
  const { connections, connectionCount, tcpConnections, rows, matching } = summary
  if (connections.length === 0) return [noConnections(tcpConnections)]
  const lines = [`${count(connectionCount, "connection")}${period(summary)}`]
  if (matching < rows)
    lines.push(`${matching} of ${count(rows, "row")} match; the summary covers all rows`)
  for (const connection of connections) lines.push(...connectionText(connection))
  const more = connectionCount - connections.length
  if (more > 0) lines.push(`and ${count(more, "more connection")}`)
  return lines
}

function noConnections(tcpConnections: number): string {
  if (tcpConnections === 0) return "no ZMTP connection: no TCP connection carries anything"
  return `no ZMTP connection among ${count(tcpConnections, "TCP connection")}`
}

function period({ start, end }: Summary): string {
  const first = isoTime(start)
  const last = isoTime(end)
  if (start === undefined || end === undefined || !first || !last) return ""
  const [date, time] = first.slice(0, -"fffZ".length).split("T")
  // Their difference is small enough for a number.
  return `, ${(Number(end - start) / 1e9).toFixed(3)} s from ${date} ${time} UTC on`
}

function connectionText({
  id,
  client,
  server,
  begun,
  transport,
  sides,
  errors,
}: ConnectionSummary): string[] {
  const types = [typeOf(sides.client), typeOf(sides.server)]
  const words = [printable(`${client} → ${server}`), transport ?? "no messages", types.join(" → ")]
  if (!begun) words.push("begun before the capture")
  if (errors > 0) words.push(count(errors, "error"))
  const lines = [`#${id}  ${words.join(", ")}`]
  for (const [arrow, side] of [
    ["→", sides.client],
    ["←", sides.server],
  ] as const)
    if (side.messages > 0 || side.dictionaryBytes !== undefined)
      lines.push(`    ${arrow} ${sideText(side)}`)
  return lines
}

function typeOf({ socketType }: SideSummary): string {
  return socketType === undefined ? "?" : cutTo(printable(socketType), TYPE_MAX_COLUMNS)
}

function sideText({ messages, plainBytes, wireBytes, dictionaryBytes }: SideSummary): string {
  const ratio = wireBytes > 0 ? `, ratio ${(plainBytes / wireBytes).toFixed(2)}` : ""
  const dictionary =
    dictionaryBytes === undefined ? "" : `, with a dictionary of ${count(dictionaryBytes, "byte")}`
  return `${count(messages, "message")}, ${count(plainBytes, "byte")}, ${wireBytes} on the wire${ratio}${dictionary}`
}
