/** Keys of CURVE for scenarios. They are the same over both transports. */
import { curveKeyPair } from "zeromq"

export const serverKeys = curveKeyPair()
export const clientKeys = curveKeyPair()
export const otherKeys = curveKeyPair()

/** The options of a server. */
export const SERVER = { curveServer: true, curveSecretKey: serverKeys.secretKey }

/** The options of its clients. */
export const CLIENT = {
  curvePublicKey: clientKeys.publicKey,
  curveSecretKey: clientKeys.secretKey,
  curveServerKey: serverKeys.publicKey,
}

/** Decodes Z85. */
export function z85(text: string): Buffer {
  const digits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
  const bytes = Buffer.alloc(32)
  for (let group = 0; group < 8; group++) {
    let value = 0
    for (const digit of text.slice(5 * group, 5 * group + 5))
      value = value * 85 + digits.indexOf(digit)
    bytes.writeUInt32BE(value, 4 * group)
  }
  return bytes
}
