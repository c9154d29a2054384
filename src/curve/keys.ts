import { constants } from "node:os"
import { TextEncoder } from "../base/text.js"
import { shown } from "../codec/errors.js"
import { KEY_BYTES, secretBytes, wipe } from "./curve.js"
import { decodeGroups, encodeGroups, GROUP_BYTES, GROUP_DIGITS } from "./z85.js"

const NUL = 0
/** Characters of a key in Z85. */
export const KEY_DIGITS: number = (KEY_BYTES / GROUP_BYTES) * GROUP_DIGITS

/** Returns a key as text. */
export const formatKey: (key: Uint8Array) => string = encodeGroups

/**
 * Reads a key as zeromq.js does: 40 digits of Z85, or 32 bytes. The result is a copy. An error does not
 * quote the value, which may be a secret.
 *
 * @param name the option's name, for the error
 * @throws TypeError if this is neither text nor bytes. @throws Error with the code EINVAL if it is no
 * key.
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

/** Returns text as bytes in memory of their own: a secret would stay in that of Node's Buffers. */
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
  const wrong = decodeGroups(digits, key)
  if (wrong !== undefined) throw noKey(name, `no Z85: ${wrong}`)
  return key
}

/**
 * Reads a key in Z85 from an argument or a file.
 *
 * @throws Error that does not quote it, as it may be a secret.
 */
export function keyInText(what: string, text: string): Uint8Array {
  if (text.length !== KEY_DIGITS)
    throw new Error(
      `${what}: ${text.length} characters; a key has ${KEY_DIGITS} (Z85), as zeromq-lz4 keygen makes it`,
    )
  try {
    return parseKey(what, text)
  } catch (error) {
    const [, why] = /: .* is (no Z85: .*);/.exec((error as Error).message) ?? []
    throw new Error(`${what}: ${why ?? "no Z85: it has other characters"}`)
  }
}

function noKey(name: string, what: string): Error {
  const message = `Invalid argument: ${name} is ${what}; a key is 40 digits of Z85, or 32 bytes`
  return Object.assign(new Error(message), { code: "EINVAL", errno: constants.errno.EINVAL })
}
