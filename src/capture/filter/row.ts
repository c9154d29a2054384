import { timeOf } from "../event-time.js"
import type { CaptureEvent, CaptureMessage, PartKind, Side, Time } from "../events.js"
import { partCount, variousParts } from "../parts.js"
import { senderOf } from "../rows.js"
import { isDictionary } from "../streams/messages.js"
import { searchedText } from "./searched-text.js"

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
    parts: message && partCount(message),
    size: event.type === "command" ? event.command.body.length : sizeOf(message, kinds),
    wire: message?.wireBytes,
    get text() {
      return searchedText(event)
    },
  }
}

/** A dictionary has no plaintext. */
const sizeOf = (message: CaptureMessage | undefined, kinds: readonly FilterKind[]) =>
  kinds.includes("message") ? message?.plainBytes : undefined

function kindsOf(event: CaptureEvent): readonly FilterKind[] {
  if (event.type !== "message") return [event.type]
  const kinds = new Set<FilterKind>()
  for (const { kind, error } of variousParts(event.message)) {
    if (!isDictionary(kind)) kinds.add("message")
    kinds.add(kind)
    if (error) kinds.add("error")
  }
  return [...kinds]
}
