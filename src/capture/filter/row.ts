import { timeOf } from "../event-time.js"
import type { CaptureEvent, CaptureMessage, PartKind, Side, Time } from "../events.js"
import { detailOf, formOf, senderOf } from "../rows.js"
import { contentOf } from "../streams/messages.js"

/** Values of `kind=` in a filter: the kind of an event, or the form of one of a message's parts. */
export type FilterKind =
  | "connection"
  | "handshake"
  | "command"
  | "message"
  | "error"
  | "close"
  | PartKind

/** The properties that a filter tests. `text` is only read if needed, and last. */
export interface FilterRow {
  /** The number of the connection; 0 for errors of the file itself. */
  readonly connection: number
  readonly client: string
  readonly server: string
  readonly from: Side | undefined
  readonly kinds: readonly FilterKind[]
  readonly time: Time
  /** The time of the capture's first event. */
  readonly start: Time
  /** Number of parts of a message. */
  readonly parts: number | undefined
  /** Bytes of a message's plaintext, or of a command's body. */
  readonly size: number | undefined
  /** Bytes of a message or dictionary on the wire. */
  readonly wire: number | undefined
  readonly text: string
}

/** Bytes of a message that are searched: a whole message may be longer than the longest string. */
export const SEARCHED_BYTES: number = 16 << 20

/** Returns the properties of an event for filters. `start` is the time of the capture's first event. */
export function filterRow(event: CaptureEvent, start?: Time): FilterRow {
  const { connection } = event
  const message = event.type === "message" ? event.message : undefined
  const kinds = kindsOf(event)
  return {
    connection: connection?.id ?? 0,
    client: connection?.client ?? "",
    server: connection?.server ?? "",
    from: senderOf(event),
    kinds,
    time: timeOf(event),
    start,
    parts: message?.parts.length,
    size: event.type === "command" ? event.command.body.length : sizeOf(message, kinds),
    wire: message?.wireBytes,
    get text() {
      return textOf(event)
    },
  }
}

/** A dictionary has no plaintext. */
const sizeOf = (message: CaptureMessage | undefined, kinds: readonly FilterKind[]) =>
  kinds.includes("message") ? message?.plainBytes : undefined

function kindsOf(event: CaptureEvent): readonly FilterKind[] {
  if (event.type !== "message") return [event.type]
  const kinds = new Set<FilterKind>()
  for (const { kind, error } of event.message.parts) {
    if (kind !== "LZ4D") kinds.add("message")
    kinds.add(kind)
    if (error) kinds.add("error")
  }
  return [...kinds]
}

function textOf(event: CaptureEvent): string {
  if (event.type === "message") return messageText(event.message)
  if (event.type === "error") return detailOf(event)
  const said = `${formOf(event)} ${detailOf(event)}`
  // The ends of a connection are found wherever it begins or ends.
  const { client, server } = event.connection
  return event.type === "close" ? `${client} → ${server} ${said}` : said
}

function messageText({ parts }: CaptureMessage): string {
  let left = SEARCHED_BYTES
  const texts = parts.map((part) => {
    if (part.error) return `${part.error.code}: ${part.error.message}`
    const searched = (contentOf(part) as Uint8Array).subarray(0, left)
    left -= searched.length
    return UTF8.decode(searched)
  })
  return texts.join("\n")
}

const UTF8 = new TextDecoder()
