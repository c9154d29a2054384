import type { CaptureEvent, CaptureMessage, Handshake, PartKind, Side } from "./events.js"

/** Values of `kind=` in a filter: the kind of an event, or the form of one of a message's parts. */
export type FilterKind =
  | "connection"
  | "handshake"
  | "command"
  | "message"
  | "error"
  | "close"
  | PartKind

/** A description of the language, for --help and the page. */
export const filterHelp = `Terms between spaces, all of which must match:
  connection=2     the connection of this number; of an address, a port or both:
                   connection=10.0.0.7, connection=:5555, connection=[::1]:5555
  kind=LZ4B        messages with a part of this form: plain, LZ4B, LZ4M, LZ4A, or none (over
                   tcp://); LZ4D for dictionaries; or a kind of event: message, command, error,
                   connection, handshake, close
  from=client      sent by this side: client or server
  anything else    text in the content, ignoring case; "in quotes" if it has spaces`

/** The properties that a filter tests. `text` is only read if needed, and last. */
export interface FilterRow {
  /** The number of the connection; 0 for errors of the file itself. */
  readonly connection: number
  readonly client: string
  readonly server: string
  readonly from: Side | undefined
  readonly kinds: readonly FilterKind[]
  readonly text: string
}

export type Filter = (row: FilterRow) => boolean

const KINDS: readonly FilterKind[] = [
  "message",
  "command",
  "error",
  "connection",
  "handshake",
  "close",
  "none",
  "plain",
  "LZ4B",
  "LZ4M",
  "LZ4A",
  "LZ4D",
]

// A quote only counts if it is closed at the end of a term, so that pieces of JSON are plain text.
const TERM = /(?:([a-z]+)=)?(?:(["'])(.*?)\2(?=\s|$)|(\S+)|(?=\s|$))/isy
const SPACE = /\s*/y

/**
 * Parses a filter. Throws a SyntaxError, with a message for the user, if `expression` is invalid.
 * An empty one matches everything.
 */
export function parseFilter(expression: string): Filter {
  const fields: Filter[] = []
  const texts: Filter[] = []
  for (let at = skip(SPACE, expression, 0); at < expression.length; ) {
    TERM.lastIndex = at
    const [term, field, , quoted, bare = ""] = TERM.exec(expression) as RegExpExecArray
    const value = quoted ?? bare
    if (field === undefined) texts.push(contains(value))
    else fields.push(fieldFilter(field, value, term as string))
    at = skip(SPACE, expression, at + (term as string).length)
  }
  const all = [...fields, ...texts]
  return (row) => all.every((matches) => matches(row))
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  pattern.exec(text)
  return pattern.lastIndex
}

function fieldFilter(field: string, value: string, term: string): Filter {
  switch (field.toLowerCase()) {
    case "connection":
      return ofConnection(value)
    case "kind":
      return ofKind(value)
    case "from":
      return ofSide(value)
    default:
      throw new SyntaxError(
        `no field ${JSON.stringify(field)}, only connection, kind and from; for text write '${term}' in quotes`,
      )
  }
}

function ofConnection(value: string): Filter {
  if (/^\d+$/.test(value)) {
    const id = Number(value)
    return ({ connection }) => connection === id
  }
  if (!isEnd(value))
    throw new SyntaxError(
      `connection= takes a number, an IP address, :PORT or ADDRESS:PORT; got ${JSON.stringify(value)}`,
    )
  const matches = endMatcher(value.toLowerCase())
  return ({ client, server }) => matches(client) || matches(server)
}

const WITH_PORT = /^(?:\d+(?:\.\d+){3}|\[[0-9a-f.:]+\])?(?::\d+)?$/i
const BARE_IPV6 = /^[0-9a-f.:]+$/i

/** Returns whether this is an address, a port or both, as parsed by URL. */
function isEnd(value: string): boolean {
  if (value === "") return false
  if (WITH_PORT.test(value))
    return URL.canParse(`http://${value.startsWith(":") ? "0.0.0.0" : ""}${value}`)
  return BARE_IPV6.test(value) && URL.canParse(`http://[${value}]`)
}

/** Returns a matcher for the ends of a connection, such as "127.0.0.1:5555" and "[::1]:5555". */
function endMatcher(value: string): (end: string) => boolean {
  if (/^:\d+$/.test(value)) return (end) => end.endsWith(value)
  return (end) => end === value || end.startsWith(`${value}:`) || end.startsWith(`[${value}]:`)
}

function ofKind(value: string): Filter {
  const kind = KINDS.find((kind) => kind.toLowerCase() === value.toLowerCase())
  if (kind === undefined)
    throw new SyntaxError(`kind= is one of ${KINDS.join(", ")}; got ${JSON.stringify(value)}`)
  return ({ kinds }) => kinds.includes(kind)
}

function ofSide(value: string): Filter {
  const side = value.toLowerCase()
  if (side !== "client" && side !== "server")
    throw new SyntaxError(`from= is client or server; got ${JSON.stringify(value)}`)
  return ({ from }) => from === side
}

/** Characters in one pattern: engines refuse patterns that are too large, when these are first used. */
const PATTERN_CHARS = 1000

function contains(text: string): Filter {
  // Patterns instead of toLowerCase(), which would copy the text of each row.
  const [first = "", ...others] = piecesOf(text).map(escaped)
  const beginning = new RegExp(first, "giu")
  const rest = others.map((piece) => new RegExp(piece, "iuy"))
  return ({ text }) => {
    for (beginning.lastIndex = 0; ; ) {
      const found = beginning.exec(text)
      if (!found) return false
      let at = beginning.lastIndex
      const follows = (piece: RegExp) => {
        piece.lastIndex = at
        const does = piece.test(text)
        at = piece.lastIndex
        return does
      }
      if (rest.every(follows)) return true
      // The next match may overlap with this one. A character may take two units.
      beginning.lastIndex =
        found.index + ((text.codePointAt(found.index) as number) > 0xffff ? 2 : 1)
    }
  }
}

function piecesOf(text: string): string[] {
  const characters = Array.from(text)
  return Array.from({ length: Math.ceil(characters.length / PATTERN_CHARS) }, (_, i) =>
    characters.slice(i * PATTERN_CHARS, (i + 1) * PATTERN_CHARS).join(""),
  )
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")

/** Bytes of a message that are searched: a whole message may be longer than the longest string. */
const SEARCHED_BYTES = 16 << 20

/** Returns the properties of an event for filters. */
export function filterRow(event: CaptureEvent): FilterRow {
  const { connection } = event
  return {
    connection: connection?.id ?? 0,
    client: connection?.client ?? "",
    server: connection?.server ?? "",
    from: senderOf(event),
    kinds: kindsOf(event),
    get text() {
      return textOf(event)
    },
  }
}

function senderOf(event: CaptureEvent): Side | undefined {
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
  switch (event.type) {
    case "message":
      return messageText(event.message)
    case "command":
      return `${event.command.name} ${event.command.detail}`
    case "error":
      return `${event.error.code} ${event.error.message}`
    case "handshake":
      return handshakeText(event.handshake)
    default:
      return `${event.connection.client} ${event.connection.server}`
  }
}

function messageText({ parts }: CaptureMessage): string {
  let left = SEARCHED_BYTES
  const texts = parts.map(({ plain, error }) => {
    if (!plain) return error ? `${error.code} ${error.message}` : ""
    const searched = plain.subarray(0, left)
    left -= searched.length
    return UTF8.decode(searched)
  })
  return texts.join("\n")
}

function handshakeText({ version, mechanism, socketType = "" }: Handshake): string {
  return `ZMTP ${version} ${mechanism} ${socketType}`
}

const UTF8 = new TextDecoder()
