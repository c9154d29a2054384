/** Keys and handshakes of CURVE for tests. */
import { curveOf, openingCurveOf, secretBytes } from "../../src/curve/curve.js"
import { curveModule } from "../../src/curve/module.js"
import type { CurveSettings, HandshakeSettings } from "../../src/zmtp/mechanism.js"

export const curve = curveOf(curveModule())
export const openingCurve = openingCurveOf(curveModule())

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
