/** Characters in one pattern: engines refuse patterns that are too large, when these are first used. */
const PATTERN_CHARS = 1000

/** Returns a function that looks for text in another, ignoring case. */
export function finder(wanted: string): (text: string) => boolean {
  // Patterns instead of toLowerCase(), which would copy the text of each row.
  const [first = "", ...others] = piecesOf(wanted).map(escaped)
  const beginning = new RegExp(first, "giu")
  const rest = others.map((piece) => new RegExp(piece, "iuy"))
  return (text) => {
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
