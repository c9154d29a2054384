import type {
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  Handshake,
  Side,
  Time,
} from "../capture/events.js"
import { placeOf } from "../capture/packets/file-place.js"
import { shippedIn } from "../capture/streams/messages.js"
import type { SideSummary } from "../capture/summary.js"
import type { Summary } from "./inspect-tally.js"
import { isoTime } from "./inspect-time.js"
import { printableJson, utf8 } from "./terminal-text.js"

/**
 * Maximum content of a message or command that is printed: a longer line could exceed the length of
 * a string.
 */
const CONTENT_MAX_BYTES = 64 << 20
/** Bytes of a line for each part, besides its content. */
const PART_BYTES = 256

export function jsonRow(event: CaptureEvent): string {
  return printableJson(fieldsOf(event))
}

function fieldsOf(event: CaptureEvent): object {
  switch (event.type) {
    case "connection": {
      const { id, client, server, begun } = event.connection
      return { ...moment(event.type, event.time), connection: id, client, server, begun }
    }
    case "handshake":
      return {
        ...head("handshake", event.connection, event.time, event.from),
        ...handshakeFields(event.handshake),
      }
    case "command": {
      const { time, from, name, detail, body } = event.command
      return { ...head("command", event.connection, time, from), name, detail, body: content(body) }
    }
    case "message":
      return messageFields(event.connection, event.message)
    case "error": {
      const { time, from, offset } = event.error
      return {
        ...head("error", event.connection, time, from),
        ...errorFields(event.error),
        ...placeOf(offset),
      }
    }
    case "close":
      return {
        ...moment(event.type, event.time),
        connection: event.connection.id,
        ended: event.connection.ended ?? null,
      }
  }
}

function head(
  type: string,
  connection: CaptureConnection | undefined,
  time: Time,
  from: Side | undefined,
) {
  return {
    ...moment(type, time),
    connection: connection?.id ?? null,
    from: from ?? null,
  }
}

const moment = (type: string, time: Time) => ({ type, time: isoTime(time) ?? null })

function handshakeFields(handshake: Handshake): object {
  const { version, mechanism, asServer, socketType, identity, properties } = handshake
  return {
    version,
    mechanism,
    asServer,
    socketType: socketType ?? null,
    identity: identity?.length ? content(identity) : null,
    properties: Object.fromEntries(
      Array.from(properties, ([name, value]) => [name, content(value)]),
    ),
  }
}

function messageFields(connection: CaptureConnection, message: CaptureMessage): object {
  const { time, from, parts, wireBytes, plainBytes, arena } = message
  const dictionary = shippedIn(parts[0] as CapturePart)
  if (dictionary)
    return {
      ...head("dictionary", connection, time, from),
      wireBytes,
      dictionaryBytes: dictionary.length,
      ...content(dictionary),
    }
  const whole = parts.reduce((sum, { plain }) => sum + PART_BYTES + (plain?.length ?? 0), 0)
  return {
    ...head("message", connection, time, from),
    wireBytes,
    plainBytes,
    arena: arena ?? null,
    parts: parts.map((part) => partFields(part, whole <= CONTENT_MAX_BYTES)),
  }
}

function partFields({ kind, wire, plain, error }: CapturePart, withContent: boolean): object {
  return {
    kind,
    wireBytes: wire.length,
    plainBytes: plain?.length ?? null,
    ...(plain && withContent ? content(plain) : {}),
    ...(error ? { error: errorFields(error) } : {}),
  }
}

const errorFields = ({ code, message }: CaptureError): object => ({ code, message })

/** Returns content as text if that is lossless, otherwise as base64. */
function content(bytes: Uint8Array): { text?: string; base64?: string } {
  if (bytes.length > CONTENT_MAX_BYTES) return {}
  const text = utf8(bytes)
  if (text !== undefined) return { text }
  const { buffer, byteOffset, byteLength } = bytes
  return { base64: Buffer.from(buffer, byteOffset, byteLength).toString("base64") }
}

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
