/**
 * Makes text of peers and files safe to show, in a terminal and in a page: what is invisible, breaks
 * lines, changes the direction of text or controls a terminal is written as an escape.
 */

// Control, format, private and unassigned characters, and lone surrogates (C); separators of lines;
// fillers and other characters that are shown as nothing (DI); the empty pattern of Braille; and the
// selector of an emoji's form, unless it follows one.
const INVISIBLE = /(?!\ufe0f)[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]|(?<!\p{Extended_Pictographic})\ufe0f/gu

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** Returns text in one line in which every character can be seen. */
export function visible(text: string): string {
  return replaceInvisible(text, (character) => NAMED[character] ?? escaped(character))
}

/** Does the same, but keeps tabs and line feeds, for where these have an effect. */
export function visibleLines(text: string): string {
  return replaceInvisible(text, (character) =>
    character === "\n" || character === "\t" ? character : (NAMED[character] ?? escaped(character)),
  )
}

/** Characters to replace at once: the engine takes much memory for each match until it joins them. */
const PIECE_CHARS = 1 << 16
const SELECTOR = 0xfe0f

const ASCII = /^[ -~]*$/

/** Replaces each character that cannot be seen. */
export function replaceInvisible(text: string, replace: (character: string) => string): string {
  // The other pattern takes five times as long.
  if (ASCII.test(text)) return text
  if (text.length <= PIECE_CHARS) return text.replace(INVISIBLE, replace)
  let replaced = ""
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = Math.min(at + PIECE_CHARS, text.length)
    // Not between the halves of a character, nor before its selector.
    if ((text.charCodeAt(end) & 0xfc00) === 0xdc00) end++
    if (text.charCodeAt(end) === SELECTOR) end++
    replaced += text.slice(at, end).replace(INVISIBLE, replace)
  }
  return replaced
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16)
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, "0")}`
}
