/** Bytes written as hexadecimal text, as people copy them from other tools. */

/** Maximum length of a text. */
const TEXT_MAX_CHARS = 64 << 20
/** Bytes in a line of a dump, after which comes a column of text, if no other line says so. */
const LINE_BYTES = 16

/**
 * Reads bytes in hexadecimal: digits in pairs, with or without `0x` before them, and with blanks,
 * commas, colons, dashes or line breaks between them; or a dump with offsets, as `xxd`, `hexdump -C`,
 * `tcpdump -X` and Wireshark write it, of which only the bytes are read.
 *
 * @throws SyntaxError that says what is not hexadecimal, and where.
 */
export function parseHex(text: string): Uint8Array {
  if (text.length > TEXT_MAX_CHARS)
    throw new SyntaxError(`it may have ${TEXT_MAX_CHARS} characters; got ${text.length}`)
  const lines = text.split(/\r?\n/)
  const isDump = looksLikeDump(lines)
  const leftOut = lines.findIndex((line) => isDump && line.trim() === "*")
  if (leftOut >= 0)
    throw new SyntaxError(
      `line ${leftOut + 1}: * stands for lines that were left out: use hexdump -Cv, or xxd`,
    )
  const bytes = isDump ? bytesOfDump(lines) : lines
  const digits = bytes.map((line, i) => digitsOf(line, i + 1)).join("")
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
const TCPDUMP_OFFSET = /^\s*0x([0-9a-f]{4,}):/i
const COLON_OFFSET = /^\s*([0-9a-f]{4,8}):\s/i
const BARE_OFFSET = /^\s*([0-9a-f]{4,8})\s{2}/i
const OFFSETS = [TCPDUMP_OFFSET, COLON_OFFSET, BARE_OFFSET]
/** The last line of `hexdump -C`. */
const END = /^\s*([0-9a-f]{4,8})\s*$/i
/** A line of Wireshark without its text. */
const BARE_START = /^\s*0000\s{2,}[0-9a-f]{2}(?:\s+[0-9a-f]{2})*\s*$/i
/** What is not among bytes, as digitsOf reads them. */
const NO_BYTES = /[^0-9a-fx\s,;:_\\-]/i

/** Returns whether lines begin with offsets. Without a colon they may be bytes as well. */
function looksLikeDump(lines: readonly string[]): boolean {
  if (lines.some((line) => TCPDUMP_OFFSET.test(line) || COLON_OFFSET.test(line))) return true
  const bare = lines.filter((line) => BARE_OFFSET.test(line))
  if (bare.some((line) => NO_BYTES.test(line) || BARE_START.test(line))) return true
  return (
    bare.length > 1 &&
    bare.slice(1).every((line, i) => follows(bare[i] as string, offsetOf(line) as number))
  )
}

/** Returns whether a line may have as many bytes as there are up to an offset. */
function follows(line: string, offset: number): boolean {
  const bytes = offset - (offsetOf(line) ?? offset)
  return bytes > 0 && bytes <= line.length / 2
}

const foundOffset = (line: string): RegExpExecArray | undefined =>
  OFFSETS.map((pattern) => pattern.exec(line)).find((found) => found !== null) ?? undefined

function offsetOf(line: string): number | undefined {
  const found = foundOffset(line)
  return found && Number.parseInt(found[1] as string, 16)
}

/** Returns what each line of a dump has between its offset and its text. */
function bytesOfDump(lines: readonly string[]): string[] {
  const offsets = lines.map(offsetOf)
  const last = lines.map((line) => line.trim() !== "").lastIndexOf(true)
  const end = Number.parseInt(END.exec(lines[last] as string)?.[1] ?? "", 16)
  const hasEnd = last > 0 && follows(lines[last - 1] as string, end)
  if (hasEnd) offsets[last] = end
  // tcpdump prints a heading for each packet.
  const hasHeadings = lines.some((line) => TCPDUMP_OFFSET.test(line))
  const places = [...lines.keys()].filter((i) => offsets[i] !== undefined)
  const following = new Map(places.map((i, at) => [i, offsets[places[at + 1] ?? -1]]))
  let width: number | undefined
  return lines.map((line, i) => {
    const [offset, next] = [offsets[i], following.get(i)]
    if (hasEnd && i === last) return ""
    if (offset === undefined) {
      if (line.trim() === "" || (hasHeadings && NO_BYTES.test(line))) return ""
      throw new SyntaxError(`line ${i + 1} has no offset, and others have one`)
    }
    const rest = line.slice(foundOffset(line)?.[0].length).trim()
    if (next === undefined || next <= offset) return bytesOfLast(line, rest, width)
    width = next - offset
    const bytes = firstBytes(rest, width)
    if (bytes.length === 2 * width) return bytes
    throw new SyntaxError(
      `line ${i + 1} does not have the ${width} bytes that are between its offset and the next one`,
    )
  })
}

/** Returns the bytes of a line that no other follows. `width` is what others have. */
function bytesOfLast(line: string, rest: string, width: number | undefined): string {
  // Text is between bars, after three blanks, or after as many bytes as a line has.
  const [bytes = ""] = rest.split(/\s{3,}|\|/)
  if (width !== undefined) return firstBytes(bytes, width)
  // xxd has two blanks there, but others have them after 8 bytes, too.
  const [before = "", after = ""] = bytes.split(/\s{2,}/)
  const isHalf = firstBytes(before, 9).length === 16 && /^[0-9a-f]{2}(?:\s|$)/i.test(after)
  return COLON_OFFSET.test(line) && !isHalf ? before : firstBytes(bytes, LINE_BYTES)
}

/** Returns the digits of whole words, up to a number of bytes. */
function firstBytes(text: string, bytes: number): string {
  let digits = ""
  for (const word of text.split(/\s+/)) {
    if (digits.length >= 2 * bytes) break
    digits += word
  }
  return digits
}
