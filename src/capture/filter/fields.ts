/** The fields of filters: what their values may be, and when a row matches. */
import { Pattern } from "./pattern.js"
import type { FilterKind, FilterRow } from "./row.js"
import { TIME_FORMATS, type TimeRange, timeRange } from "./time.js"

export type Matches = (row: FilterRow) => boolean
export type Operator = "=" | ">" | ">=" | "<" | "<=" | "~"

/** How the field of a condition is compared. */
export interface Context {
  /** Whether times without a zone are UTC. */
  utc: boolean
}

interface Field {
  operators: readonly Operator[]
  /** Returns undefined if the value is not allowed. */
  matches(value: string, operator: Operator, context: Context): Matches | undefined
  /** What values are allowed, after the name in a message. */
  takes: string
}

const EQUAL = ["="] as const
const ORDERED = ["=", ">", ">=", "<", "<="] as const
/** Between the ends of a range, either of which may be left out; and between values. */
const TO = ".."
const OR = ","

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
  "ZSTD",
  "ZSTA",
  "ZDICT",
]

const FIELDS: Readonly<Record<string, Field>> = {
  connection: {
    operators: ORDERED,
    matches: (value, operator) => {
      const numbers = amounts(value, operator, wholeNumber)
      if (numbers) return ({ connection }) => numbers(connection)
      return operator === "=" ? ofEnd(value) : undefined
    },
    takes: "takes a number, an IP address, :PORT or ADDRESS:PORT",
  },
  kind: {
    operators: EQUAL,
    matches: (value) => {
      const kind = KINDS.find((kind) => kind.toLowerCase() === value.toLowerCase())
      return kind && (({ kinds }) => kinds.includes(kind))
    },
    takes: `is one of ${KINDS.join(", ")}`,
  },
  from: {
    operators: EQUAL,
    matches: (value) => {
      const side = value.toLowerCase()
      return side === "client" || side === "server" ? ({ from }) => from === side : undefined
    },
    takes: "is client or server",
  },
  size: ofAmount(({ size }) => size, byteCount, "takes bytes, such as 1000, 64KiB or 1MB"),
  wire: ofAmount(({ wire }) => wire, byteCount, "takes bytes, such as 1000, 64KiB or 1MB"),
  parts: ofAmount(({ parts }) => parts, wholeNumber, "takes a number"),
  time: {
    operators: ORDERED,
    matches: (value, operator, { utc }) =>
      compared(
        value,
        operator,
        (text) => timeRange(text, utc),
        (range, row: FilterRow) => place(range, row),
      ),
    takes: `takes ${TIME_FORMATS}`,
  },
  text: {
    operators: ["~"],
    matches: (value) => {
      const pattern = new Pattern(value)
      return ({ text }) => pattern.test(text)
    },
    takes: "takes a regular expression",
  },
}

/** The names of all fields. */
export const FIELD_NAMES: readonly string[] = Object.keys(FIELDS)

/** Whether a condition on a field reads the text of rows. */
export const readsText = (name: string): boolean => name === "text"

/**
 * Returns the condition of a field. Throws a SyntaxError, which says what is allowed, if it does not
 * have this operator or value.
 */
export function fieldMatches(
  name: string,
  operator: Operator,
  value: string,
  context: Context,
): Matches {
  const field = FIELDS[name] as Field
  if (!field.operators.includes(operator))
    throw new SyntaxError(`${name} is compared with ${field.operators.join(", ")}; got ${operator}`)
  // A regular expression is one value, whatever it contains.
  const values = operator === "=" ? value.split(OR) : [value]
  const all = values.map((value) => {
    const matches = field.matches(value, operator, context)
    if (matches) return matches
    throw new SyntaxError(`${name}${operator} ${field.takes}; got ${JSON.stringify(value)}`)
  })
  return all.length === 1 ? (all[0] as Matches) : (row) => all.some((matches) => matches(row))
}

function ofAmount(
  amountOf: (row: FilterRow) => number | undefined,
  parse: (text: string) => number | undefined,
  takes: string,
): Field {
  return {
    operators: ORDERED,
    matches: (value, operator) => {
      const matches = amounts(value, operator, parse)
      return (
        matches &&
        ((row) => {
          const amount = amountOf(row)
          return amount !== undefined && matches(amount)
        })
      )
    },
    takes,
  }
}

const amounts = (
  value: string,
  operator: Operator,
  parse: (text: string) => number | undefined,
): ((amount: number) => boolean) | undefined =>
  compared(value, operator, parse, (wanted, amount: number) => Math.sign(amount - wanted))

/**
 * Returns a comparison with a value or a range of values. `order` returns whether what is compared
 * is before a value (-1), equal to it, or after it (1); undefined if it is neither.
 */
function compared<Value, Compared>(
  text: string,
  operator: Operator,
  parse: (text: string) => Value | undefined,
  order: (value: Value, compared: Compared) => number | undefined,
): ((compared: Compared) => boolean) | undefined {
  const at = operator === "=" ? text.indexOf(TO) : -1
  if (at >= 0) {
    const [least, most] = [text.slice(0, at), text.slice(at + TO.length)]
    if (least === "" && most === "") return undefined
    const tests = [
      least === "" ? () => true : compared(least, ">=", parse, order),
      most === "" ? () => true : compared(most, "<=", parse, order),
    ]
    return tests.every((test) => test) ? (row) => tests.every((test) => test?.(row)) : undefined
  }
  const value = parse(text)
  if (value === undefined) return undefined
  const fits = FITS[operator]
  return (compared) => {
    const placed = order(value, compared)
    return placed !== undefined && fits(placed)
  }
}

const FITS: Record<Operator, (order: number) => boolean> = {
  "=": (order) => order === 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  "~": () => false,
}

function place(range: TimeRange, row: FilterRow): number | undefined {
  const time = range.of(row)
  if (time === undefined) return undefined
  if (time < range.from) return -1
  return time < range.to ? 0 : 1
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

const BYTES: Record<string, number> = { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }
for (const [i, unit] of ["k", "m", "g"].entries())
  BYTES[unit] = BYTES[`${unit}ib`] = 1024 ** (i + 1)

function byteCount(text: string): number | undefined {
  const found = /^(\d{1,15}(?:\.\d{1,9})?)([a-z]*)$/i.exec(text)
  const unit = BYTES[found?.[2]?.toLowerCase() ?? "none"]
  return unit === undefined ? undefined : Number(found?.[1]) * unit
}

function ofEnd(value: string): Matches | undefined {
  if (!isEnd(value)) return undefined
  const matches = endMatcher(value.toLowerCase())
  return ({ client, server }) => matches(client) || matches(server)
}

const WITH_PORT = /^(?:\d+(?:\.\d+){3}|\[[0-9a-f.:]+\])?(?::\d+)?$/i
const BARE_IPV6 = /^[0-9a-f.:]+$/i

/** Returns whether this is an address, a port or both, as parsed by URL. */
function isEnd(value: string): boolean {
  if (value === "") return false
  if (WITH_PORT.test(value))
    return isUrl(`http://${value.startsWith(":") ? "0.0.0.0" : ""}${value}`)
  return BARE_IPV6.test(value) && isUrl(`http://[${value}]`)
}

/** Safari before 17 has no URL.canParse. */
function isUrl(text: string): boolean {
  try {
    return new URL(text) !== undefined
  } catch {
    return false
  }
}

/** Returns a matcher for the ends of a connection, such as "127.0.0.1:5555" and "[::1]:5555". */
function endMatcher(value: string): (end: string) => boolean {
  if (/^:\d+$/.test(value)) return (end) => end.endsWith(value)
  return (end) => end === value || end.startsWith(`${value}:`) || end.startsWith(`[${value}]:`)
}
