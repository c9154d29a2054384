import { randomFillSync } from "node:crypto"
import { type Curve, KEY_BYTES, type KeyPair, secretBytes } from "./curve.js"

/** Returns random bytes of the system. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(secretBytes(length))
}

/** Returns a new pair of keys. */
export function newKeyPair(curve: Curve): KeyPair {
  const secretKey = randomBytes(KEY_BYTES)
  return { publicKey: curve.publicKey(secretKey), secretKey }
}
