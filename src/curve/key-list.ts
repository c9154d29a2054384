import { formatKey, KEY_DIGITS, keyInText } from "./keys.js"

/** Maximum size of a list, in bytes: more than 20,000 keys. */
export const LIST_MAX_BYTES: number = 1024 * 1024

/** Returns a file read as latin1 without the mark that editors of Windows put before a text. */
export const withoutMark = (text: string): string => text.replace(/^\xef\xbb\xbf/, "")

/**
 * Reads a list of public keys, one a line, with a comment after it, or behind `#` in a line of its
 * own. Returns them in Z85, each once.
 *
 * @param what what the text is, for the error
 * @throws Error that says which line is wrong. It does not quote it, as it may be a secret key.
 */
export function parseKeyList(what: string, text: string): Set<string> {
  const keys = new Set<string>()
  for (const [i, line] of text.split(/\r\n?|\n/).entries()) {
    const [key = ""] = line.trim().split(/\s+/)
    // A key may begin with #, too.
    const isComment = key.startsWith("#") && key.length !== KEY_DIGITS
    if (key !== "" && !isComment) keys.add(formatKey(keyInText(`${what}, line ${i + 1}`, key)))
  }
  if (keys.size === 0) throw new Error(`${what}: there is no key in it`)
  return keys
}
