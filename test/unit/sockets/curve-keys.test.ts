/** CURVE's keys as text (Z85: RFC 32), read as zeromq.js reads them. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as zmq from "zeromq"
import { formatKey, parseKey } from "../../../src/curve/keys.js"
import { CurveKeys } from "../../../src/sockets/curve-keys.js"
import { OPTION } from "../../../src/sockets/zmq-numbers.js"
import { curve, someBytes } from "../../support/curve.js"

test("the example of RFC 32 is a key", () => {
  const bytes = Uint8Array.of(0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b)
  expect(formatKey(bytes)).toBe("HelloWorld")
})

test("a key as text becomes the same bytes again", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (key) => {
      expect(parseKey("curvePublicKey", formatKey(key))).toEqual(key)
    }),
  )
  for (const byte of [0, 255]) {
    const key = new Uint8Array(32).fill(byte)
    expect(parseKey("curvePublicKey", formatKey(key))).toEqual(key)
  }
})

test("pairs of keys from zeromq.js belong together", () => {
  for (let i = 0; i < 50; i++) {
    const { publicKey, secretKey } = zmq.curveKeyPair()
    const secret = parseKey("curveSecretKey", secretKey)
    expect(formatKey(secret)).toBe(secretKey)
    expect(formatKey(curve.publicKey(secret))).toBe(publicKey)
  }
})

const raw = someBytes(32)
const text = formatKey(raw)

test.each([
  ["text", text],
  ["text with a zero behind it", `${text}\0`],
  ["32 bytes", raw],
  ["text as bytes", Buffer.from(text)],
  ["32 ASCII characters, which are 32 bytes", "0123456789abcdef0123456789abcdef"],
  ["an empty value", ""],
  ["39 characters", text.slice(1)],
  ["41 characters", `${text}0`],
  ["42 characters", `${text}\0\0`],
  ["a character that is no digit", `~${text.slice(1)}`],
  ["a space", `${text.slice(1)} `],
  ["a zero inside", `${text.slice(0, 39)}\0`],
  ["more than 32 bits", `${text.slice(0, 35)}#####`],
  ["the most of 32 bits", `${text.slice(0, 35)}%nSc0`],
  ["one more", `${text.slice(0, 35)}%nSc1`],
  ["40 characters, not all in ASCII", `${text.slice(0, 39)}é`],
  ["40 bytes, not all in ASCII", `${text.slice(0, 38)}é`],
  ["31 bytes", raw.subarray(1)],
  ["null", null],
])("%s: the same as zeromq.js", (_, given) => {
  const socket = new zmq.Dealer()
  const attempt = (set: () => void) => {
    try {
      set()
      return "accepted"
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { code, message: message.split(":")[0] }
    }
  }
  const theirs = attempt(() => {
    socket.curvePublicKey = given as string
  })
  expect(attempt(() => parseKey("curvePublicKey", given))).toEqual(theirs)
  socket.close()
})

test.each([
  [undefined, /^Option value must be a string or buffer: curveServerKey is undefined; a key is 40/],
  [5, /curveServerKey is 5 \(number\)/],
  [
    "abc",
    /^Invalid argument: curveServerKey is 3 bytes long; a key is 40 digits of Z85, or 32 bytes$/,
  ],
  [`ab ${text.slice(3)}`, /no Z85: character 3 is none of its digits/],
  [`${text.slice(0, 35)}#####`, /no Z85: its characters from 36 on are over 32 bits/],
])("%s: says what was given and what is allowed", (given, message) => {
  expect(() => parseKey("curveServerKey", given)).toThrow(message)
})

test("errors do not quote what may be a secret", () => {
  for (const given of [`${text}x`, `~${text.slice(1)}`])
    expect(() => parseKey("curveSecretKey", given)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(text.slice(1, 10)) }),
    )
})

test("a key is a copy", () => {
  const given = raw.slice()
  const key = parseKey("curveSecretKey", given)
  given.fill(0)
  expect(key).toEqual(raw)
})

test("text that is a secret does not stay in the memory that Node's Buffers share", () => {
  const secret = formatKey(someBytes(32))
  const pools = new Set<ArrayBufferLike>()
  const look = () => pools.add(Buffer.from("a small one").buffer)
  look()
  parseKey("curveSecretKey", secret)
  const keys = new CurveKeys()
  keys.set(OPTION.curveSecretKey, secret)
  look()
  for (const pool of pools) expect(Buffer.from(pool as ArrayBuffer).includes(secret)).toBe(false)
})
