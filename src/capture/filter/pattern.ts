/**
 * Regular expressions that take time in proportion to the text, whatever the expression and the text
 * are: a text is whatever a peer sent, and RegExp may take years for some. Only what can be decided
 * in one pass is allowed, so there are no backreferences, and no lookahead or lookbehind.
 */

/**
 * Maximum number of characters, classes, repetitions and alternatives, after repetitions are written
 * out.
 */
const NODES_MAX = 200
/** Maximum numbers of states and characters that are remembered: above them, all are forgotten. */
const STATES_MAX = 1000
const CHARACTERS_MAX = 10_000
const ASCII = 128

/** What an expression consists of. */
type Expression =
  | { type: "character"; atom: number }
  | { type: "assertion"; holds: Assertion }
  | { type: "sequence" | "choice"; of: Expression[] }
  | { type: "repeat"; of: Expression; min: number; max: number }

/** The kind of a character, for ^, $ and \b. */
type Kind = "word" | "line end" | "edge" | "other"
type Assertion = (before: Kind, after: Kind) => boolean

/** A node of the automaton, which a text takes to the nodes `next`. */
interface Node {
  /** Matches a character of this atom, or nothing if undefined. */
  atom: number | undefined
  holds: Assertion | undefined
  next: number[]
}

/** A state: the nodes that a text may have reached, and the kind of its last character. */
interface State {
  nodes: readonly number[]
  before: Kind
  /** The next state for each class of characters; "match" if the text up to here matches. */
  next: (State | "match" | undefined)[]
  /** Whether the text matches if it ends here. */
  ends: boolean | undefined
}

interface CharacterClass {
  id: number
  kind: Kind
  /** For each atom, whether it matches. */
  matches: readonly boolean[]
}

/** The node that says that the text matches. */
const MATCH = 0

/** A regular expression, which ignores case. `^` and `$` match at the ends of lines and of parts. */
export class Pattern {
  readonly #nodes: Node[] = [{ atom: undefined, holds: undefined, next: [] }]
  readonly #first: number
  readonly #atoms: readonly RegExp[]
  #classes: CharacterClasses
  #states = new Map<string, State>()

  /** Throws a SyntaxError if `source` is not a regular expression, or not allowed here. */
  constructor(source: string) {
    const { expression, atoms } = parsePattern(source)
    this.#first = this.#build(expression, MATCH)
    this.#atoms = atoms
    this.#classes = new CharacterClasses(atoms)
  }

  /** Returns whether any piece of a text matches. */
  test(text: string): boolean {
    let state = this.#state([], "edge")
    for (let at = 0; at < text.length; at++) {
      if (this.#states.size > STATES_MAX || this.#classes.characters > CHARACTERS_MAX)
        state = this.#forgetAllBut(state)
      const character = text.codePointAt(at) as number
      if (character > 0xffff) at++
      const of = this.#classes.of(character)
      const next = state.next[of.id] ?? this.#step(state, of)
      if (next === "match") return true
      state = next
    }
    state.ends ??= this.#reached(state, "edge").has(MATCH)
    return state.ends
  }

  /** Adds the nodes of an expression that is followed by a node. Returns the first. */
  #build(expression: Expression, next: number): number {
    switch (expression.type) {
      case "character":
        return this.#add(expression.atom, undefined, [next])
      case "assertion":
        return this.#add(undefined, expression.holds, [next])
      case "sequence":
        return expression.of.reduceRight((then, item) => this.#build(item, then), next)
      case "choice":
        return this.#add(
          undefined,
          undefined,
          expression.of.map((item) => this.#build(item, next)),
        )
      case "repeat": {
        const { of, min, max } = expression
        let first = next
        if (max === Number.POSITIVE_INFINITY) {
          first = this.#add(undefined, undefined, [next])
          ;(this.#nodes[first] as Node).next.push(this.#build(of, first))
        } else
          for (let i = min; i < max; i++)
            first = this.#add(undefined, undefined, [next, this.#build(of, first)])
        for (let i = 0, then = first; i < min; i++) {
          first = this.#build(of, then)
          if (first === then) break // An empty group, which may be repeated without end.
          then = first
        }
        return first
      }
    }
  }

  #add(atom: Node["atom"], holds: Node["holds"], next: number[]): number {
    if (this.#nodes.length > NODES_MAX)
      throw new SyntaxError(
        `it is too long: with repetitions written out, as aaa for a{3}, it may have ${NODES_MAX} characters`,
      )
    return this.#nodes.push({ atom, holds, next }) - 1
  }

  #step(state: State, { id, kind, matches }: CharacterClass): State | "match" {
    const reached = this.#reached(state, kind)
    if (reached.has(MATCH)) {
      state.next[id] = "match"
      return "match"
    }
    const nodes = new Set<number>()
    for (const at of reached) {
      const { atom, next } = this.#nodes[at] as Node
      if (atom !== undefined && matches[atom]) for (const node of next) nodes.add(node)
    }
    const following = this.#state([...nodes], kind)
    state.next[id] = following
    return following
  }

  /** Returns the nodes that can be reached before a character of a kind. A match may begin anywhere. */
  #reached({ nodes, before }: State, after: Kind): Set<number> {
    const reached = new Set([...nodes, this.#first])
    for (const at of reached) {
      const { atom, holds, next } = this.#nodes[at] as Node
      if (atom === undefined && (holds?.(before, after) ?? true))
        for (const node of next) reached.add(node)
    }
    return reached
  }

  #state(nodes: number[], before: Kind): State {
    const key = `${before} ${nodes.sort((a, b) => a - b).join()}`
    let state = this.#states.get(key)
    if (!state) {
      state = { nodes, before, next: [], ends: undefined }
      this.#states.set(key, state)
    }
    return state
  }

  #forgetAllBut({ nodes, before }: State): State {
    this.#states = new Map()
    this.#classes = new CharacterClasses(this.#atoms)
    return this.#state([...nodes], before)
  }
}

/** Groups characters that no atom of a pattern distinguishes. */
class CharacterClasses {
  readonly #atoms: readonly RegExp[]
  readonly #ascii = new Array<CharacterClass | undefined>(ASCII)
  readonly #others = new Map<number, CharacterClass>()
  readonly #known = new Map<string, CharacterClass>()

  constructor(atoms: readonly RegExp[]) {
    this.#atoms = atoms
  }

  of(character: number): CharacterClass {
    const known = character < ASCII ? this.#ascii[character] : this.#others.get(character)
    if (known) return known
    const text = String.fromCodePoint(character)
    const matches = this.#atoms.map((atom) => atom.test(text))
    const kind = kindOf(text)
    const key = `${kind} ${matches.map(Number).join("")}`
    let found = this.#known.get(key)
    if (!found) {
      found = { id: this.#known.size, kind, matches }
      this.#known.set(key, found)
    }
    if (character < ASCII) this.#ascii[character] = found
    else this.#others.set(character, found)
    return found
  }

  get characters(): number {
    return this.#others.size
  }
}

const kindOf = (character: string): Kind =>
  character === "\n" ? "line end" : /\w/.test(character) ? "word" : "other"

const ofEdge: Record<string, Assertion | undefined> = {
  "^": (before) => before === "edge" || before === "line end",
  $: (_, after) => after === "edge" || after === "line end",
  "\\b": (before, after) => (before === "word") !== (after === "word"),
  "\\B": (before, after) => (before === "word") === (after === "word"),
}

// One character or class, as it is written in an expression that RegExp has accepted.
const ATOM =
  /\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\x..|\\c.|\\.|./suy
const GROUP = /\((?:\?:|\?<[^=!][^>]*>)?/y
const REPEAT = /(?:\*|\+|\?|\{(\d+)(,(\d*))?\})\??/y
const TIMES: Record<string, [number, number]> = {
  "*": [0, Number.POSITIVE_INFINITY],
  "+": [1, Number.POSITIVE_INFINITY],
  "?": [0, 1],
}

function parsePattern(source: string): { expression: Expression; atoms: RegExp[] } {
  if (source.length > NODES_MAX)
    throw new SyntaxError(`it may have ${NODES_MAX} characters; got ${source.length}`)
  try {
    new RegExp(source, "iu")
  } catch (error) {
    // The message repeats the expression.
    const reason = (error as Error).message.replace(/^.*: (?=[^:]*$)/s, "")
    throw new SyntaxError(`${JSON.stringify(source)} is not a regular expression: ${reason}`)
  }
  const atoms: RegExp[] = []
  const known = new Map<string, number>()
  let at = 0

  function take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(source) ?? undefined
    at = found ? pattern.lastIndex : at
    return found
  }

  function choice(): Expression {
    const of = [sequence()]
    while (source[at] === "|") {
      at++
      of.push(sequence())
    }
    return of.length === 1 ? (of[0] as Expression) : { type: "choice", of }
  }

  function sequence(): Expression {
    const of: Expression[] = []
    while (at < source.length && source[at] !== "|" && source[at] !== ")") of.push(repeated(item()))
    return { type: "sequence", of }
  }

  function repeated(of: Expression): Expression {
    const found = take(REPEAT)
    if (!found) return of
    const [text, least, comma, most] = found
    const [min, max] =
      least === undefined
        ? (TIMES[text[0] as string] as [number, number])
        : [Number(least), comma ? Number(most || Number.POSITIVE_INFINITY) : Number(least)]
    // Too long for any pattern: refused before it is written out.
    if (min > NODES_MAX || (max > NODES_MAX && max < Number.POSITIVE_INFINITY))
      throw new SyntaxError(`a repetition may be of up to ${NODES_MAX} times; got ${text}`)
    return { type: "repeat", of, min, max }
  }

  function item(): Expression {
    if (source[at] === "(") {
      const start = at
      take(GROUP)
      if (source[at] === "?")
        throw new SyntaxError(`${source.slice(start, at + 2)} is not allowed: only groups are`)
      const inner = choice()
      at++
      return inner
    }
    const [text] = take(ATOM) as RegExpExecArray
    const holds = ofEdge[text]
    if (holds) return { type: "assertion", holds }
    if (/^\\[1-9k]$/.test(text))
      throw new SyntaxError(`${text} is not allowed: what a group matched cannot be referred to`)
    let atom = known.get(text)
    if (atom === undefined) {
      atom = atoms.push(new RegExp(`^${text}$`, "iu")) - 1
      known.set(text, atom)
    }
    return { type: "character", atom }
  }

  return { expression: choice(), atoms }
}
