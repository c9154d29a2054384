/** Indents JSON without changing its text: numbers keep their digits, and repeated names stay. */

const INDENT = "  "
/** Deeper levels are not indented further, or the text would grow with the square of its depth. */
const MAX_LEVELS = 40

// What is not a string: punctuation, and words (including numbers).
const TOKENS = /"|[[\]{},:]|[^\s"[\]{},:]+/g

/** Returns the tokens of valid JSON, one after another. A string that is cut off is the last one. */
export function* jsonTokens(text: string): Generator<{ token: string; start: number }> {
  const tokens = new RegExp(TOKENS)
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    const start = found.index
    // Not by a pattern, because those have a stack that a long string overflows.
    if (found[0] === '"') tokens.lastIndex = stringEnd(text, start)
    yield { token: text.slice(start, tokens.lastIndex), start }
  }
}

/** Returns the position after the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let before = at
    while (text[before - 1] === "\\") before--
    if ((at - before) % 2 === 0) return at + 1
  }
}

/** Indents up to a number of characters. Throws a SyntaxError if `text` is not JSON. */
export function indentJson(text: string, characters: number): { text: string; more: boolean } {
  JSON.parse(text)
  let out = ""
  let level = 0
  let opened = false
  const line = () => `\n${INDENT.repeat(Math.min(level, MAX_LEVELS))}`
  for (const { token } of jsonTokens(text)) {
    const closes = token === "}" || token === "]"
    if (closes) level--
    if (opened !== closes) out += line()
    opened = token === "{" || token === "["
    if (opened) level++
    out += token === ":" ? ": " : token
    if (token === ",") out += line()
    if (out.length > characters) return { text: out.slice(0, characters), more: true }
  }
  return { text: out, more: false }
}
