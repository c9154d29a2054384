/** Indents JSON without changing its text: numbers keep their digits, and repeated names stay. */

const INDENT = "  "
/** Deeper levels are not indented further, or the text would grow with the square of its depth. */
const MAX_LEVELS = 40

// The tokens of valid JSON: strings, punctuation, and words (including numbers).
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s"[\]{},:]+/g

/** Indents up to a number of characters. Throws a SyntaxError if `text` is not JSON. */
export function indentJson(text: string, characters: number): { text: string; more: boolean } {
  JSON.parse(text)
  let out = ""
  let level = 0
  let opened = false
  const line = () => `\n${INDENT.repeat(Math.min(level, MAX_LEVELS))}`
  for (const [token] of text.matchAll(TOKENS)) {
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
