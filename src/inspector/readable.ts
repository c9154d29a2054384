/** Makes bytes and text of peers readable. */
import { visible } from "../capture/visible.js"

/** Maximum size of a part that is tried as JSON. */
export const MAX_JSON_BYTES = 16 << 20
/** Bytes of a part that decide whether it is text. */
const SAMPLE_BYTES = 4096

/** Returns how a part can be shown. */
export function readsAs(bytes: Uint8Array): "json" | "text" | "bytes" {
  const text = textOf(bytes.subarray(0, SAMPLE_BYTES))
  if (text === undefined) return "bytes"
  if (!/^\s*[{[]/.test(text) || bytes.length > MAX_JSON_BYTES) return "text"
  try {
    JSON.parse(new TextDecoder().decode(bytes))
    return "json"
  } catch {
    return "text"
  }
}

/** Returns text if the bytes are UTF-8 without control characters, otherwise hexadecimal. */
export function readable(bytes: Uint8Array): string {
  return textOf(bytes) ?? hexOf(bytes)
}

/** Returns the text of bytes that may end within a character; undefined if they are not text. */
export function textOf(bytes: Uint8Array): string | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  try {
    const text = decoder.decode(bytes, { stream: true })
    return UNPRINTABLE.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

const hexOf = (bytes: Uint8Array): string => {
  let text = ""
  for (let i = 0; i < bytes.length; i++) text += (i ? " " : "") + hexByte(bytes[i]!)
  return text
}

export const hexByte = (byte: number): string => HEX[byte]!

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

// Control characters other than tab, line feed and carriage return.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/

/** Returns text in one line in which every character can be seen. */
export const inOneLine = (text: string): string =>
  visible(text.replace(/\r\n|[\n\r]/g, "⏎").replace(/\t/g, "⇥"))
