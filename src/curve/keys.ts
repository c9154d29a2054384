import { constants } from "node:os"
import { shown } from "../codec/errors.js"
import { TextEncoder } from "../codec/text.js"
import { KEY_BYTES, secretBytes, wipe } from "./curve.js"

/** The digits of Z85 (RFC 32 of the ZeroMQ project). */
const DIGITS =
  "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
const VALUES = new Map(Array.from(DIGITS, (digit, value) => [digit.charCodeAt(0), value]))
const NUL = 0
/** Each group of bytes, a number in big-endian order, becomes a group of digits. */
const GROUP_BYTES = 4
const GROUP_DIGITS = 5
const KEY_DIGITS = (KEY_BYTES / GROUP_BYTES) * GROUP_DIGITS
const GROUP_MAX = 2 ** 32 - 1

/** Returns a key as text. */
export function formatKey(key: Uint8Array): string {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength)
  let text = ""
  for (let at = 0; at < key.length; at += GROUP_BYTES) {
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
 * Reads a key as zeromq.js does: 40 digits of Z85, or 32 bytes. The result is a copy. An error does not
 * quote the value, which may be a secret.
 *
 * @param name the option's name, for the error
 * @throws TypeError if this is neither text nor bytes. @throws Error with the code EINVAL if it is no key.
 */
export function parseKey(name: string, given: unknown): Uint8Array {
  if (given === null) throw noKey(name, "null")
  if (typeof given !== "string" && !ArrayBuffer.isView(given))
    throw new TypeError(
      `Option value must be a string or buffer: ${name} is ${shown(given)}; a key is 40 digits of Z85, or 32 bytes`,
    )
  if (typeof given !== "string")
    return readKey(name, new Uint8Array(given.buffer, given.byteOffset, given.byteLength))
  const bytes = utf8(given)
  try {
    return readKey(name, bytes)
  } finally {
    wipe(bytes)
  }
}

/** Returns text as bytes, in memory of their own: Node's Buffers share theirs, where a secret would stay. */
function utf8(text: string): Uint8Array {
  const bytes = secretBytes(Buffer.byteLength(text))
  new TextEncoder().encodeInto(text, bytes)
  return bytes
}

function readKey(name: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length === KEY_BYTES) {
    const key = secretBytes(KEY_BYTES)
    key.set(bytes)
    return key
  }
  // libzmq takes the zero at the end of a C string, too.
  const digits = bytes[KEY_DIGITS] === NUL ? bytes.subarray(0, KEY_DIGITS) : bytes
  if (digits.length !== KEY_DIGITS || bytes.length > KEY_DIGITS + 1)
    throw noKey(name, `${bytes.length} bytes long`)
  const key = secretBytes(KEY_BYTES)
  const view = new DataView(key.buffer)
  for (let group = 0; group < KEY_BYTES / GROUP_BYTES; group++) {
    let value = 0
    for (let i = GROUP_DIGITS * group; i < GROUP_DIGITS * (group + 1); i++) {
      const digit = VALUES.get(digits[i] as number)
      if (digit === undefined) throw noKey(name, `no Z85: character ${i + 1} is none of its digits`)
      value = value * DIGITS.length + digit
    }
    if (value > GROUP_MAX)
      throw noKey(
        name,
        `no Z85: its characters from ${GROUP_DIGITS * group + 1} on are over 32 bits`,
      )
    view.setUint32(GROUP_BYTES * group, value)
  }
  return key
}

function noKey(name: string, what: string): Error {
  const message = `Invalid argument: ${name} is ${what}; a key is 40 digits of Z85, or 32 bytes`
  return Object.assign(new Error(message), { code: "EINVAL", errno: constants.errno.EINVAL })
}
