/** Makes bytes and text of peers readable. */
import { visible } from "../capture/visible.js"

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
