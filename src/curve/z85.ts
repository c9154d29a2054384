/** Z85 (RFC 32 of the ZeroMQ project): bytes as text, five printable characters for each four. */

const DIGITS =
  "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
const VALUES = new Map(Array.from(DIGITS, (digit, value) => [digit.charCodeAt(0), value]))
/** Each group of bytes, a number in big-endian order, becomes a group of digits. */
export const GROUP_BYTES = 4
export const GROUP_DIGITS = 5
const GROUP_MAX = 2 ** 32 - 1

/** Returns bytes as text. Their number must be a multiple of 4. */
export function encodeGroups(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let text = ""
  for (let at = 0; at < bytes.length; at += GROUP_BYTES) {
    let value = view.getUint32(at)
    let group = ""
    for (let i = 0; i < GROUP_DIGITS; i++) {
      group = DIGITS.charAt(value % DIGITS.length) + group
      value = Math.floor(value / DIGITS.length)
    }
    text += group
  }
  return text
}

/**
 * Writes the bytes of digits into `target`, which has room for all of them. Returns what is wrong with
 * the digits, without quoting them; undefined if nothing is.
 */
export function decodeGroups(digits: Uint8Array, target: Uint8Array): string | undefined {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength)
  for (let group = 0; group < digits.length / GROUP_DIGITS; group++) {
    let value = 0
    for (let i = GROUP_DIGITS * group; i < GROUP_DIGITS * (group + 1); i++) {
      const digit = VALUES.get(digits[i] as number)
      if (digit === undefined) return `character ${i + 1} is none of its digits`
      value = value * DIGITS.length + digit
    }
    if (value > GROUP_MAX)
      return `its characters from ${GROUP_DIGITS * group + 1} on are over 32 bits`
    view.setUint32(GROUP_BYTES * group, value)
  }
  return undefined
}
