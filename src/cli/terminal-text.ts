/** Text and bytes of strangers, made fit for a terminal. */

// Control characters, and what is invisible or turns the direction of the text.
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** In one line, and without anything that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => NAMED[character] ?? escaped(character))
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16)
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, "0")}`
}

const ASCII = /^[ -~]*$/
const NO_COLUMN = /^[\p{Mn}\p{Me}]$/u
const TWO_COLUMNS =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])$/u

/** No wider than so many columns of a terminal: what is cut off becomes "…". */
export function cutTo(text: string, columns: number): string {
  if (text.length <= columns && ASCII.test(text)) return text
  let width = 0
  let end = 0
  let length = 0
  for (const character of text) {
    if (TWO_COLUMNS.test(character)) width += 2
    else if (!NO_COLUMN.test(character)) width += 1
    if (width > columns) return `${text.slice(0, end)}…`
    length += character.length
    if (width < columns) end = length
  }
  return text
}

/** The start of parts in so many columns: as text where it is UTF-8, otherwise in hexadecimal. */
export function startOf(parts: readonly Uint8Array[], columns: number): string {
  const pieces: string[] = []
  let length = 0
  for (const part of parts) {
    if (length > columns) break
    const piece = startOfPart(part, columns)
    pieces.push(piece)
    length += piece.length
  }
  return cutTo(pieces.join(" | "), columns)
}

const MAX_UTF8_BYTES = 4

function startOfPart(part: Uint8Array, columns: number): string {
  if (part.length === 0) return "(empty)"
  // One column more than there are, so that it shows when something is left out.
  const start = part.subarray(0, MAX_UTF8_BYTES * (columns + 1))
  const text = utf8(start, start.length < part.length)
  if (text !== undefined && !text.includes("\0")) return printable(text)
  return Array.from(start, (byte) => byte.toString(16).padStart(2, "0")).join(" ")
}

/** Undefined where bytes are not UTF-8; those that are cut may end within a character. */
export function utf8(bytes: Uint8Array, cut = false): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes, { stream: cut })
  } catch {
    return undefined
  }
}
