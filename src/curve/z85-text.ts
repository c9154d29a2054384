import { shown, wrongType, wrongValue } from "../codec/errors.js"
import { checkView } from "../codec/options.js"
import { decodeGroups, encodeGroups, GROUP_BYTES, GROUP_DIGITS } from "./z85.js"

/**
 * Returns bytes as text in Z85 (RFC 32 of the ZeroMQ project), such as the key of a client that a ZAP
 * handler is given.
 *
 * @param bytes their number must be a multiple of 4, as that of a key, 32, is.
 * @throws TypeError if `bytes` is not a Uint8Array, or has another number of bytes.
 */
export function z85Encode(bytes: Uint8Array): string {
  checkView("bytes", bytes)
  if (bytes.length % GROUP_BYTES !== 0)
    throw wrongValue(
      `the number of bytes must be a multiple of ${GROUP_BYTES}; got ${bytes.length}`,
    )
  return encodeGroups(bytes)
}

/**
 * Returns the bytes of text in Z85 (RFC 32 of the ZeroMQ project), such as a key that `curveKeyPair()`
 * has made. Errors do not quote the text, which may be a secret.
 *
 * @throws TypeError if `text` is not a string, or not Z85.
 */
export function z85Decode(text: string): Buffer {
  if (typeof text !== "string") throw wrongType(`text must be a string; got ${shown(text)}`)
  const digits = Buffer.from(text, "utf8")
  if (digits.length % GROUP_DIGITS !== 0)
    throw wrongValue(
      `text in Z85 has a multiple of ${GROUP_DIGITS} characters; got ${digits.length}`,
    )
  const bytes = Buffer.alloc((digits.length / GROUP_DIGITS) * GROUP_BYTES)
  const wrong = decodeGroups(digits, bytes)
  if (wrong !== undefined) throw wrongValue(`the text is no Z85: ${wrong}`)
  return bytes
}
