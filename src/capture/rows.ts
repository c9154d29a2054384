/** What a row says about an event, in the terminal and in the page. */
import type { CaptureEvent, CaptureMessage, Handshake, Side } from "./events.js"
import { variousParts } from "./parts.js"
import { endText } from "./summary.js"

/** The columns of rows, in order. The page has one more before them, with the number of the row. */
export const COLUMNS = {
  time: { name: "Time", title: "Seconds since the first event" },
  packet: {
    name: "Packet",
    title:
      "Number of the packet that completed it, over all files in the order in which they are read",
  },
  connection: { name: "Conn", title: "Number of the connection" },
  from: { name: "", title: "From: → from the client, ← from the server" },
  form: { name: "Form", title: "Form of the parts, or what else it is" },
  parts: { name: "Parts", title: "Number of parts" },
  plain: { name: "Plain", title: "Size of the plaintext" },
  wire: { name: "Wire", title: "Size on the wire" },
  ratio: { name: "Ratio", title: "Plaintext by bytes on the wire" },
  content: { name: "Content", title: "The beginning of the content" },
} as const

export type ColumnName = keyof typeof COLUMNS

/** Formats the ratio of plaintext to wire bytes in at most 6 characters, as it is at most 255. */
export function ratioText(plainBytes: number, wireBytes: number): string {
  const times = plainBytes / wireBytes
  return `${times.toFixed(times < 100 ? 2 : 1)}×`
}

/** Returns whether an event has a row: not a READY's handshake, whose command has one. */
export const hasRow = (event: CaptureEvent): boolean =>
  event.type !== "handshake" || event.handshake.identity === undefined

/** Returns the form of a message, or what else an event is. It may have a name that a peer chose. */
export function formOf(event: CaptureEvent): string {
  switch (event.type) {
    case "message":
      return formsOf(event.message)
    case "command":
      return event.command.name
    case "handshake":
      return "greeting"
    case "connection":
      return "open"
    default:
      return event.type
  }
}

/** Returns the forms of a message's parts, without repetition. */
export const formsOf = (message: CaptureMessage): string =>
  Array.from(new Set(variousParts(message).map(({ kind }) => kind))).join("+")

export function senderOf(event: CaptureEvent): Side | undefined {
  switch (event.type) {
    case "handshake":
      return event.from
    case "command":
      return event.command.from
    case "message":
      return event.message.from
    case "error":
      return event.error.from
    default:
      return undefined
  }
}

/** Returns in words what an event other than a message says. It may contain what a peer sent. */
export function detailOf(event: Exclude<CaptureEvent, { type: "message" }>): string {
  switch (event.type) {
    case "command":
      return event.command.detail
    case "handshake":
      return handshakeText(event.handshake)
    case "error":
      return `${event.error.code}: ${event.error.message}`
    case "connection": {
      const { client, server, begun } = event.connection
      const note = begun ? "" : ", began before the capture: which of them is the client is a guess"
      return `${client} → ${server}${note}`
    }
    case "close": {
      const { ended } = event.connection
      return ended ? endText(ended) : "the recording ends"
    }
  }
}

function handshakeText({ version, mechanism, asServer, socketType }: Handshake): string {
  const words = [`ZMTP ${version}`, `${mechanism}${asServer ? " server" : ""}`]
  return [...words, ...(socketType === undefined ? [] : [socketType])].join(", ")
}
