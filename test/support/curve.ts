/** Keys and handshakes of CURVE for tests. */
import { createHash } from "node:crypto"

import { curveOf, secretBytes } from "../../src/curve/curve.js"
import { curveModule } from "../../src/curve/module.js"
import type { CurveSettings, HandshakeSettings } from "../../src/zmtp/mechanism.js"

export const curve = curveOf(curveModule())

let drawn = 0

/** Returns bytes that look random, and are the same each time. */
export function someBytes(length: number): Uint8Array<ArrayBuffer> {
  const digest = createHash("shake256", { outputLength: length }).update(`${drawn++}`).digest()
  return new Uint8Array(digest)
}

/** A pair of keys that any seed gives again. */
export function pair(seed: number) {
  const secretKey = secretBytes(32).fill(seed)
  return { publicKey: curve.publicKey(secretKey), secretKey }
}

const none = new Uint8Array(0)

/** Returns the settings of a side with CURVE. */
export function curveSettings(
  keys: Partial<CurveSettings>,
  rest: Partial<HandshakeSettings> = {},
): HandshakeSettings {
  return {
    socketType: "PAIR",
    mechanism: "CURVE",
    plainServer: false,
    authenticate: false,
    formats: ["lz4"],
    revision: 2,
    username: none,
    password: none,
    routingId: none,
    curve: {
      module: curveModule(),
      isServer: false,
      publicKey: none,
      secretKey: none,
      serverKey: none,
      ...keys,
    },
    ...rest,
  }
}
