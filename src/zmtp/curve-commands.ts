/** The layout of the commands of CURVE's handshake (RFC 26 of the ZeroMQ project). */
import { TextEncoder } from "../base/text.js"
import { KEY_BYTES, MAC_BYTES, NONCE_BYTES } from "../curve/curve.js"

/** Size of a short nonce, which is a counter. */
export const COUNTER_BYTES = 8
/** Size of a long nonce, which is random. */
export const LONG_NONCE_BYTES = 16

/** The fields of a command's data, and its size. */
interface Layout<Field extends string> {
  readonly at: Readonly<Record<Field, number>>
  readonly bytes: number
}

/** HELLO: a version, 72 zeros, a key, a counter, and a box of zeros. */
export const HELLO: Layout<"version" | "client" | "counter" | "box"> = {
  at: { version: 0, client: 74, counter: 106, box: 114 },
  bytes: 194,
}
/** The version 1.0. */
export const VERSION: readonly [major: number, minor: number] = [1, 0]
/** Number of zeros in HELLO's box. */
export const HELLO_ZEROS = 64

/** The cookie: a long nonce and a box with two keys. */
export const COOKIE_BYTES: number = LONG_NONCE_BYTES + MAC_BYTES + 2 * KEY_BYTES
/** The vouch: a long nonce and a box with two keys. */
export const VOUCH_BYTES: number = COOKIE_BYTES

/** Size of WELCOME's data: a long nonce and a box with a key and the cookie. */
export const WELCOME_BYTES: number = LONG_NONCE_BYTES + MAC_BYTES + KEY_BYTES + COOKIE_BYTES

/** INITIATE: the cookie, a counter, and a box with a key, the vouch and metadata, here without any. */
export const INITIATE: Layout<"counter" | "box"> = {
  at: { counter: COOKIE_BYTES, box: COOKIE_BYTES + COUNTER_BYTES },
  bytes: COOKIE_BYTES + COUNTER_BYTES + MAC_BYTES + KEY_BYTES + VOUCH_BYTES,
}

/** Minimum size of READY's data: a counter and a box with metadata. */
export const READY_MIN_BYTES: number = COUNTER_BYTES + MAC_BYTES

/** Returns a nonce: its prefix, and a counter or random bytes as they are in the command. */
export function nonce(prefix: string, rest: Uint8Array): Uint8Array {
  const whole = new Uint8Array(NONCE_BYTES)
  new TextEncoder().encodeInto(prefix, whole)
  whole.set(rest, prefix.length)
  return whole
}

/** Returns a counter as bytes. */
export function counter(value: number): Uint8Array {
  const bytes = new Uint8Array(COUNTER_BYTES)
  bytes[COUNTER_BYTES - 1] = value
  return bytes
}
