/** The encryption of a connection, and what stays of its key. */
import { expect, test } from "vitest"

import type { CurveInstance } from "../../../src/curve/instance.js"
import { curveModule } from "../../../src/curve/module.js"
import { ConnectionCipher } from "../../../src/transport/connection-cipher.js"
import type { CurveSettings, Secured } from "../../../src/zmtp/mechanism.js"
import { curve, someBytes } from "../../support/curve.js"

const settings = { module: curveModule() } as CurveSettings

const secured = (): Secured => ({
  key: someBytes(32),
  isServer: true,
  client: new Uint8Array(32),
  sent: new Uint8Array(8),
  received: new Uint8Array(8),
})

test("the key is wiped once both directions have it, or when one has no memory", () => {
  const { instance } = curve as { instance: { exports: CurveInstance["exports"] } }
  const { exports } = instance
  const open: number[] = []
  for (const rooms of [2, 1, 0]) {
    let left = rooms
    instance.exports = {
      ...exports,
      zl_cipher_open: (...args) => {
        const cipher = left-- > 0 ? exports.zl_cipher_open(...args) : (0 as never)
        if (cipher !== 0) open.push(cipher)
        return cipher
      },
      zl_cipher_close: (cipher) => {
        open.splice(open.indexOf(cipher), 1)
        exports.zl_cipher_close(cipher)
      },
    }
    try {
      const agreed = secured()
      const make = () => new ConnectionCipher(settings, agreed, -1)
      if (rooms === 2) make().close()
      else expect(make).toThrow(/^out of memory/)
      expect(agreed.key.every((byte) => byte === 0)).toBe(true)
      expect(open).toEqual([])
    } finally {
      instance.exports = exports
    }
  }
})
