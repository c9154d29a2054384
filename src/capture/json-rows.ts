import type {
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  Handshake,
  Side,
  Time,
} from "./events.js"
import { placeOf } from "./packets/file-place.js"
import { printedParts, shipmentIn, wireBytesOf } from "./parts.js"
import { printableJson, utf8 } from "./printable.js"
import { contentOf } from "./streams/messages.js"
import { isoTime } from "./times.js"

/**
 * Maximum content of a message or command that is printed: a longer line could exceed the length of
 * a string.
 */
const CONTENT_MAX_BYTES = 64 << 20
/** Bytes of a line for each part, besides its content. */
const PART_BYTES = 256

/**
 * Returns an event as JSON in one line, as docs/inspect.md describes it.
 *
 * @param base64 encodes content that is not text.
 */
export function jsonRow(event: CaptureEvent, base64: Base64): string {
  return printableJson({ ...fieldsOf(event, base64), packet: event.packet ?? null })
}

type Base64 = (bytes: Uint8Array) => string

function fieldsOf(event: CaptureEvent, base64: Base64): object {
  switch (event.type) {
    case "connection": {
      const { id, client, server, begun } = event.connection
      return { ...moment(event.type, event.time), connection: id, client, server, begun }
    }
    case "handshake":
      return {
        ...head("handshake", event.connection, event.time, event.from),
        ...handshakeFields(event.handshake, base64),
      }
    case "command": {
      const { time, from, name, detail, body } = event.command
      return {
        ...head("command", event.connection, time, from),
        name,
        detail,
        body: contentFields(body, base64),
      }
    }
    case "message":
      return messageFields(event.connection, event.message, base64)
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

function handshakeFields(handshake: Handshake, base64: Base64): object {
  const { version, mechanism, asServer, socketType, identity, properties } = handshake
  return {
    version,
    mechanism,
    asServer,
    socketType: socketType ?? null,
    identity: identity?.length ? contentFields(identity, base64) : null,
    properties: Object.fromEntries(
      Array.from(properties, ([name, value]) => [name, contentFields(value, base64)]),
    ),
  }
}

function messageFields(
  connection: CaptureConnection,
  message: CaptureMessage,
  base64: Base64,
): object {
  const { time, from, wireBytes, plainBytes, arena } = message
  const dictionary = shipmentIn(message)
  if (dictionary)
    return {
      ...head("dictionary", connection, time, from),
      wireBytes,
      dictionaryBytes: dictionary.length,
      ...contentFields(dictionary, base64),
    }
  const { parts, more } = printedParts(message)
  const whole = parts.reduce((sum, { plain }) => sum + PART_BYTES + (plain?.length ?? 0), 0)
  const wire = wireBytesOf(message, parts)
  return {
    ...head("message", connection, time, from),
    wireBytes,
    plainBytes,
    arena: arena ?? null,
    parts: parts.map((part, i) =>
      partFields(part, wire[i] as number, whole <= CONTENT_MAX_BYTES, base64),
    ),
    ...(more && { more }),
  }
}

/** Returns the fields of a part, with its content or without. */
export function partFields(
  part: CapturePart,
  wireBytes: number,
  withContent: boolean,
  base64: Base64,
): object {
  const { kind, plain, error, dictionary } = part
  const content = contentOf(part)
  return {
    kind,
    wireBytes,
    plainBytes: plain?.length ?? null,
    ...(content && withContent ? contentFields(content, base64) : {}),
    ...(error ? { error: errorFields(error) } : {}),
    ...(dictionary ? { dictionary } : {}),
  }
}

const errorFields = ({ code, message }: CaptureError): object => ({ code, message })

/** Returns content as text if that is lossless, otherwise as base64. */
export function contentFields(
  bytes: Uint8Array,
  base64: Base64,
): { text?: string; base64?: string } {
  if (bytes.length > CONTENT_MAX_BYTES) return {}
  const text = utf8(bytes)
  return text === undefined ? { base64: base64(bytes) } : { text }
}
