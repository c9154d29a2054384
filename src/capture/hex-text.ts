/** Bytes written as hexadecimal text, as people copy them from other tools. */

/** Maximum length of a text. */
const TEXT_MAX_CHARS = 64 << 20
/** Digits in a line of a dump, after which comes a column of text. */
const LINE_DIGITS = 32

/**
 * Reads bytes in hexadecimal: digits in pairs, with or without `0x` before them, and with blanks, commas,
 * colons, dashes or line breaks between them; or a dump with offsets, as `xxd`, `hexdump -C`, `tcpdump -X` and Wireshark
 * write it, of which only the bytes are read.
 *
 * @throws SyntaxError that says what is not hexadecimal, and where.
 */
export function parseHex(text: string): Uint8Array {
  if (text.length > TEXT_MAX_CHARS)
    throw new SyntaxError(`it may have ${TEXT_MAX_CHARS} characters; got ${text.length}`)
  const lines = text.split(/\r?\n/)
  const isDump = lines.some((line) => OFFSET.test(line))
  const leftOut = lines.findIndex((line) => isDump && line.trim() === "*")
  if (leftOut >= 0)
    throw new SyntaxError(
      `line ${leftOut + 1}: * stands for lines that were left out: use hexdump -Cv, or xxd`,
    )
  const digits = lines.map((line, i) => digitsOf(isDump ? bytesOfDump(line) : line, i + 1)).join("")
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) =>
    Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16),
  )
}

function digitsOf(line: string, number: number): string {
  // A single digit is a byte if 0x is before it.
  const words = line.replace(/0x([0-9a-f])(?![0-9a-f])/gi, " 0$1").replace(/0x/gi, " ")
  const digits = words.replace(/[\s,;:_-]|\\x/g, "")
  const wrong = /[^0-9a-f]/i.exec(digits)
  if (wrong)
    throw new SyntaxError(
      `line ${number}: ${JSON.stringify(wrong[0])} is not a hexadecimal digit; bytes are written as 01 ff, 01ff or 0x01,0xff`,
    )
  if (digits.length % 2 === 1)
    throw new SyntaxError(`line ${number} has ${digits.length} digits: half a byte is missing`)
  return digits
}

// tcpdump writes 0x0010: at the beginning of a line, xxd 00000010:, others 0010 and two blanks.
const OFFSET = /^\s*(?:0x[0-9a-f]{4,}:|[0-9a-f]{4,8}:\s|[0-9a-f]{4,8}\s{2})/i

/** Returns what a line of a dump has between its offset and its text; "" if it has no offset. */
function bytesOfDump(line: string): string {
  if (!OFFSET.test(line)) return ""
  // Text is between bars, after three blanks, or after 16 bytes.
  const [bytes = ""] = line
    .replace(OFFSET, "")
    .trim()
    .split(/\s{3,}|\|/)
  let digits = ""
  for (const word of bytes.split(/\s+/)) {
    if (digits.length >= LINE_DIGITS) break
    digits += word
  }
  return digits
}
