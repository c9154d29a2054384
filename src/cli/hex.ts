/** Bytes written in hexadecimal, in the forms in which programs print them. */
import { InputError } from "./errors.js"

/** A line of `hexdump -C`: an offset, bytes, and the same as characters between bars; or the last offset. */
const HEXDUMP = /^[\da-f]{7,16}(?:((?: {1,3}[\da-f]{2})+) +\|.*\|)?\s*$/i
/** A line of `xxd`: an offset with a colon, and bytes up to two spaces. */
const XXD = /^[\da-f]{7,16}: ((?:[\da-f]{2,8} ?)+)(?: .*)?$/i
/** What may stand between digits. */
const SEPARATOR = /[\s:,;_-]|0x|\\x/gi

/**
 * Parses bytes in hexadecimal: with spaces, lines, colons, `0x` or nothing between them, or as
 * `hexdump -C` and `xxd` print them.
 *
 * @throws InputError that says what is no hexadecimal digit.
 */
export function parseHex(text: string): Uint8Array {
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  if (lines.some((line) => line.trim() === "*"))
    throw new InputError("a line * stands for lines that were left out: use hexdump -Cv, or xxd")
  const digits = bytesIn(lines).replace(SEPARATOR, "")
  const wrong = /[^\da-f]/i.exec(digits)
  if (wrong) throw notHex(text, wrong[0])
  if (digits === "") throw new InputError("there are no bytes to decode")
  if (digits.length % 2 === 1)
    throw new InputError(`${digits.length} hexadecimal digits; each byte has two`)
  return Buffer.from(digits, "hex")
}

/** Removes the offsets and characters of the programs that print them. */
function bytesIn(lines: readonly string[]): string {
  for (const form of [XXD, HEXDUMP])
    if (form.exec(lines[0] ?? "")?.[1] && lines.every((line) => form.test(line)))
      return lines.map((line) => form.exec(line)?.[1] ?? "").join("")
  return lines.join("\n")
}

function notHex(text: string, character: string): InputError {
  const at = text.indexOf(character)
  const line = text.slice(0, at).split("\n").length
  const column = at - text.lastIndexOf("\n", at - 1)
  return new InputError(
    `line ${line}, character ${column}: ${JSON.stringify(character)} is no hexadecimal digit`,
  )
}
