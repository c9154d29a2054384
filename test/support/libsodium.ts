/** Reads the vectors that libsodium publishes with its tests. */
import { readFileSync } from "node:fs"

const directory = new URL(
  "../../node_modules/sodium-native/libsodium/test/default/",
  import.meta.url,
)
const read = (file: string): string => readFileSync(new URL(file, directory), "utf8")
const BYTE = /0x([0-9a-f]{2})|\b0\b/g

const bytesIn = (text: string): Uint8Array =>
  Uint8Array.from(text.matchAll(BYTE), ([, digits = "0"]) => Number.parseInt(digits, 16))

/** Returns an array of bytes from the source of a test. */
export function vector(test: string, name: string): Uint8Array {
  const [, values = ""] =
    new RegExp(`\\b${name}\\[[^\\]]*\\] = \\{([^}]*)\\}`).exec(read(`${test}.c`)) ?? []
  if (!values) throw new Error(`${test}.c has no ${name}`)
  return bytesIn(values)
}

/** Returns all bytes that a test has to print. */
export const printed = (test: string): Uint8Array => bytesIn(read(`${test}.exp`))

/** Returns the points of low order that X25519 refuses, from the list in its source. */
export function lowOrderPoints(): Uint8Array[] {
  const source = readFileSync(
    new URL("../../src/libsodium/crypto_scalarmult/curve25519/ref10/x25519_ref10.c", directory),
    "utf8",
  )
  const list = source.slice(source.indexOf("blacklist[][32]"), source.indexOf("unsigned char c[7]"))
  return Array.from(list.matchAll(/\{ (0x[^}]*)\}/g), ([, point = ""]) => bytesIn(point))
}
