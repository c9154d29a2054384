/** The language of filters, which docs/filters.md describes. */
import { FIELD_NAMES, fieldMatches, type Matches, type Operator, readsText } from "./fields.js"
import type { FilterRow } from "./row.js"
import { finder } from "./text.js"

/** A short description of the language, for --help and the page. */
export const filterHelp = `Conditions between spaces, all of which must match:
  hello, "two words"   text in the content, ignoring case
  text~"id: ?[0-9]+"   a regular expression, ignoring case
  kind=LZ4B            messages with a part of this form: plain, LZ4B, LZ4M, LZ4A, ZSTD, ZSTA, or
                       none (over tcp://); LZ4D or ZDICT for dictionaries; or a kind of event:
                       message, command, error, connection, handshake, close
  from=client          sent by this side: client or server
  connection=2         this connection, connection=2..5 these; or an address, a port or both:
                       connection=10.0.0.7, connection=:5555, connection=[::1]:5555
  size>1000            bytes of the message: also 64KiB, 1MB; wire>1000 on the wire; parts>1
  time>=12:35:07       also 2026-11-21T12:35:07Z; or since the start: time<1.5s
  =, !=, >, >=, <, <=  compare; size=100..200 is a range, kind=LZ4B,LZ4M one of several
  !, not, or, ( )      !SUBSCRIBE, not (hello or from=server)`

/** Options of filters. */
export interface FilterOptions {
  /** Whether times without a zone are UTC. They are local otherwise. */
  utc?: boolean
}

/** Returns whether a row matches. */
export interface Filter {
  (row: FilterRow): boolean
  /** Whether it may read the text of a row. */
  readonly readsText: boolean
}

/** A condition. Those that read text are tested last. */
interface Condition {
  matches: Matches
  readsText: boolean
}

/** Maximum depth of parentheses and negations. */
const DEPTH_MAX = 100

const SPACE = /\s*/y
const NOT = /!|not(?=[\s(]|$)/iy
const AND = /(?:and(?=[\s()]|$)|&&)\s*/iy
const OR = /(?:or(?=[\s()]|$)|\|\|)\s*/iy
const FIELD = /([a-z]+)(!?)(=|~|>=|<=|>|<)/iy

/**
 * Parses a filter. An empty one matches everything.
 *
 * @throws SyntaxError with a message for the user, which says where `expression` cannot be understood
 * and what is allowed there.
 */
export function parseFilter(expression: string, { utc = false }: FilterOptions = {}): Filter {
  return new Parser(expression, utc).filter()
}

class Parser {
  readonly #text: string
  readonly #utc: boolean
  #at = 0
  /** Parentheses that are open. */
  #open = 0
  #depth = 0

  constructor(text: string, utc: boolean) {
    this.#text = text
    this.#utc = utc
  }

  filter(): Filter {
    this.#take(SPACE)
    const condition = this.#isAtEnd ? every([]) : this.#alternatives()
    return Object.assign((row: FilterRow) => condition.matches(row), {
      readsText: condition.readsText,
    })
  }

  get #isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  #alternatives(): Condition {
    const all = [this.#conditions()]
    while (this.#take(OR)) all.push(this.#conditions())
    return some(all)
  }

  #conditions(): Condition {
    const all = [this.#condition()]
    while (!this.#isAtEnd && !this.#closes() && !this.#comes(OR)) {
      this.#take(AND)
      all.push(this.#condition())
    }
    return every(all)
  }

  #condition(): Condition {
    const start = this.#at
    if (this.#isAtEnd || this.#closes() || this.#comes(OR) || this.#comes(AND))
      this.#fail(start, `a condition is missing ${this.#isAtEnd ? "at the end" : "here"}`)
    if (this.#depth === DEPTH_MAX) this.#fail(start, `more than ${DEPTH_MAX} levels`)
    this.#depth++
    const condition = this.#negated() ?? this.#group() ?? this.#field() ?? this.#words()
    this.#depth--
    this.#take(SPACE)
    return condition
  }

  #negated(): Condition | undefined {
    if (!this.#take(NOT)) return undefined
    this.#take(SPACE)
    return not(this.#condition())
  }

  #group(): Condition | undefined {
    const start = this.#at
    if (this.#text[start] !== "(") return undefined
    this.#at++
    this.#open++
    this.#take(SPACE)
    const condition = this.#alternatives()
    if (!this.#closes()) this.#fail(start, "this parenthesis is not closed")
    this.#at++
    this.#open--
    return condition
  }

  #field(): Condition | undefined {
    const start = this.#at
    const found = this.#take(FIELD)
    if (!found) return undefined
    const [, name, negated, operator] = found as unknown as [string, string, string, Operator]
    if (negated && operator !== "=" && operator !== "~")
      this.#fail(start, `write not ${name}${operator}… instead of ${name}!${operator}`)
    const value = this.#value()
    const field = name.toLowerCase()
    if (!FIELD_NAMES.includes(field))
      this.#fail(
        start,
        `no field ${JSON.stringify(name)}, only ${FIELD_NAMES.join(", ")}; for text write '${this.#text.slice(start, this.#at)}' in quotes`,
      )
    try {
      const matches = fieldMatches(field, operator, value, { utc: this.#utc })
      const condition = { matches, readsText: readsText(field) }
      return negated ? not(condition) : condition
    } catch (error) {
      return this.#fail(start, (error as Error).message)
    }
  }

  #words(): Condition {
    const find = finder(this.#value())
    return { matches: ({ text }) => find(text), readsText: true }
  }

  /**
   * Takes text up to a space. A quote only counts if it is closed at the end of a value, so that
   * pieces of JSON are plain text; and a parenthesis closes a group if it was not opened in the value.
   */
  #value(): string {
    const quoted = this.#take(this.#open > 0 ? QUOTED_IN_GROUP : QUOTED)
    if (quoted) return quoted[2] as string
    const start = this.#at
    for (let nested = 0; !this.#isAtEnd; this.#at++) {
      const character = this.#text[this.#at] as string
      if (/\s/.test(character) || (nested === 0 && this.#closes())) break
      if (character === "(") nested++
      if (character === ")") nested--
    }
    return this.#text.slice(start, this.#at)
  }

  /** Returns whether a parenthesis closes a group here. */
  #closes(): boolean {
    return this.#open > 0 && this.#text[this.#at] === ")"
  }

  #comes(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    return pattern.test(this.#text)
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (!found) return undefined
    this.#at += found[0].length
    return found
  }

  #fail(at: number, message: string): never {
    throw new SyntaxError(`character ${[...this.#text.slice(0, at)].length + 1}: ${message}`)
  }
}

const QUOTED = /(["'])(.*?)\1(?=\s|$)/sy
const QUOTED_IN_GROUP = /(["'])(.*?)\1(?=[\s)]|$)/sy

const not = ({ matches, readsText }: Condition): Condition => ({
  matches: (row) => !matches(row),
  readsText,
})

function every(conditions: readonly Condition[]): Condition {
  const all = textLast(conditions)
  return {
    matches: (row) => all.every(({ matches }) => matches(row)),
    readsText: all.some(({ readsText }) => readsText),
  }
}

function some(conditions: readonly Condition[]): Condition {
  const all = textLast(conditions)
  return {
    matches: (row) => all.some(({ matches }) => matches(row)),
    readsText: all.some(({ readsText }) => readsText),
  }
}

const textLast = (conditions: readonly Condition[]): readonly Condition[] =>
  [false, true].flatMap((reads) => conditions.filter(({ readsText }) => readsText === reads))
