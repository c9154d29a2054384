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
