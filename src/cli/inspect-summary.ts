import type { EncryptedTraffic } from "../capture/events.js"
import { printableJson } from "../capture/printable.js"
import { counted } from "../capture/reports/report.js"
import {
  type ConnectionSummary,
  endText,
  refusedText,
  type SideSummary,
  transportText,
  unreadText,
} from "../capture/summary.js"
import { dateTime, isoTime } from "../capture/times.js"
import { visible } from "../capture/visible.js"
import type { Traffic } from "../codec/traffic.js"
import type { Summary } from "./inspect-tally.js"
import { cutTo } from "./terminal-text.js"

/** Maximum width of a socket type. Known types are shorter, but a peer may send anything. */
const TYPE_MAX_COLUMNS = 20

/** Formats a summary as lines of text. The last one is the total. */
export function summaryText(summary: Summary, utc = false): string[] {
  const { connections, connectionCount, matchingConnections, tcpConnections } = summary
  const { rows, matching, traffic, errors } = summary
  const others = [refusedText(summary.refused), unreadText(summary.unread)].filter(Boolean)
  if (connectionCount === 0) return [noConnections(tcpConnections), ...others]
  const lines = [`${counted(connectionCount, "connection")}${period(summary, utc)}`]
  if (matching < rows) lines.push(matchingText(summary))
  for (const connection of connections) lines.push(...connectionText(connection))
  const more = (matchingConnections ?? connectionCount) - connections.length
  if (more > 0 && connections.length > 0)
    lines.push(`and ${counted(more, "more connection")}: --all lists them`)
  lines.push(...others)
  lines.push(`total: ${trafficText(traffic)}${errors > 0 ? `, ${counted(errors, "error")}` : ""}`)
  return lines
}

function matchingText({ rows, matching, connectionCount, matchingConnections }: Summary): string {
  const match = `${matching} of ${counted(rows, "row")} match`
  if (matchingConnections === undefined) return `${match}; the summary covers all rows`
  return `${match}, in ${matchingConnections} of ${counted(connectionCount, "connection")}; the sums cover all rows`
}

function noConnections(tcpConnections: number): string {
  const no = "no ZeroMQ connection in this capture"
  if (tcpConnections === 0) return `${no}: no TCP connection carries anything`
  return `${no}, among ${counted(tcpConnections, "TCP connection")}`
}

function period({ start, end }: Summary, utc: boolean): string {
  const first = dateTime(start, utc)
  if (start === undefined || end === undefined || !first || !dateTime(end, utc)) return ""
  // The difference is small enough for a number.
  const seconds = (Number(end - start) / 1e9).toFixed(3)
  return `, ${seconds} s from ${first.slice(0, -"nnn".length)}${utc ? " UTC" : ""} on`
}

function connectionText(connection: ConnectionSummary): string[] {
  const { id, client, server, begun, transport, ended, warning, sides, errors } = connection
  const words = [visible(`${client} → ${server}`), transportText(connection), typesText(sides)]
  if (!begun) words.push("began before the capture")
  if (ended) words.push(endText(ended))
  if (errors > 0) words.push(counted(errors, "error"))
  const lines = [`connection ${id}: ${words.join(", ")}`]
  for (const [arrow, side] of [
    ["→", sides.client],
    ["←", sides.server],
  ] as const) {
    const { encrypted, messages, dictionaryBytes, repeatedSegments } = side
    if (encrypted && (!transport || encrypted.messages > 0))
      lines.push(`    ${arrow} ${encryptedText(encrypted)}${transport ? "" : repeatedText(side)}`)
    if (encrypted && !transport) continue
    if (messages > 0 || dictionaryBytes !== undefined || repeatedSegments > 0)
      lines.push(`    ${arrow} ${trafficText(side)}${dictionaryText(side)}${repeatedText(side)}`)
  }
  if (warning) lines.push(`    warning: ${warning}`)
  return lines
}

const encryptedText = ({ messages, bytes }: EncryptedTraffic): string =>
  `${counted(messages, "encrypted frame")}, ${counted(bytes, "byte")} on the wire`

function typesText({ client, server }: ConnectionSummary["sides"]): string {
  const isKnown = (client.socketType ?? server.socketType) !== undefined
  return isKnown ? `${typeOf(client)} → ${typeOf(server)}` : "socket types unknown"
}

function typeOf({ socketType }: SideSummary): string {
  return socketType === undefined ? "?" : cutTo(visible(socketType), TYPE_MAX_COLUMNS)
}

function trafficText({ messages, plainBytes, wireBytes }: Traffic): string {
  const words = [
    counted(messages, "message"),
    `${counted(plainBytes, "byte")} plain`,
    `${counted(wireBytes, "byte")} on the wire`,
  ]
  if (plainBytes > 0 && wireBytes > 0) words.push(`${(plainBytes / wireBytes).toFixed(2)}×`)
  return words.join(", ")
}

const dictionaryText = ({ dictionaryBytes }: SideSummary): string =>
  dictionaryBytes === undefined ? "" : `, dictionary ${counted(dictionaryBytes, "byte")}`

const repeatedText = ({ repeatedSegments }: SideSummary): string =>
  repeatedSegments === 0
    ? ""
    : `, ${counted(repeatedSegments, "segment")} sent again or recorded twice`

/** Returns a line of JSON for each connection, and a last one for the whole capture. */
export function jsonSummary(summary: Summary): string[] {
  const lines: object[] = summary.connections.map(
    ({ id, transport, sides, curveServer, warning, ended, ...rest }) => ({
      type: "summary",
      connection: id,
      ...rest,
      closed: ended !== undefined,
      ended: ended ?? null,
      curveServer: curveServer ?? null,
      warning: warning ?? null,
      transport: transport ?? null,
      sent: { client: sideFields(sides.client), server: sideFields(sides.server) },
    }),
  )
  const { connectionCount, tcpConnections, rows, matching, errors, traffic } = summary
  lines.push({
    type: "summary",
    connection: null,
    connections: connectionCount,
    tcpConnections,
    unread: Object.fromEntries(summary.unread),
    refused: Object.fromEntries(summary.refused),
    start: isoTime(summary.start) ?? null,
    end: isoTime(summary.end) ?? null,
    ...{ rows, matching, errors, ...traffic },
  })
  return lines.map(printableJson)
}

function sideFields({ socketType, dictionaryBytes, encrypted, ...counts }: SideSummary): object {
  return {
    socketType: socketType ?? null,
    ...counts,
    dictionaryBytes: dictionaryBytes ?? null,
    encrypted: encrypted ?? null,
  }
}
