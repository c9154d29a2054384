import { printableJson } from "../capture/printable.js"
import type { SideSummary } from "../capture/summary.js"
import { isoTime } from "../capture/times.js"
import type { Summary } from "./inspect-tally.js"

/** Returns a line for each connection, and a last one for the whole capture. */
export function jsonSummary(summary: Summary): string[] {
  const {
    connections,
    connectionCount,
    tcpConnections,
    unread,
    refused,
    start,
    end,
    rows,
    matching,
    errors,
    traffic,
  } = summary
  const lines: object[] = connections.map(
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
  lines.push({
    type: "summary",
    connection: null,
    connections: connectionCount,
    tcpConnections,
    unread: Object.fromEntries(unread),
    refused: Object.fromEntries(refused),
    start: isoTime(start) ?? null,
    end: isoTime(end) ?? null,
    rows,
    matching,
    errors,
    ...traffic,
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
