import { curveOf, KEY_BYTES } from "../curve/curve.js"
import { parseKey } from "../curve/keys.js"
import { curveModule } from "../curve/module.js"
import { keyLogFile } from "../transport/key-log.js"
import type { CurveSettings } from "../zmtp/mechanism.js"
import { OPTION } from "./zmq-numbers.js"

/** The options that hold keys, which cannot be read back. */
const NAMES: Readonly<Record<number, "publicKey" | "secretKey" | "serverKey" | undefined>> = {
  [OPTION.curvePublicKey]: "publicKey",
  [OPTION.curveSecretKey]: "secretKey",
  [OPTION.curveServerKey]: "serverKey",
}
/** libzmq's value of a key that was never set. */
const UNSET: Uint8Array = new Uint8Array(KEY_BYTES)

/** The CURVE keys of a socket. */
export class CurveKeys {
  readonly #keys = { publicKey: UNSET, secretKey: UNSET, serverKey: UNSET }

  /** Sets a key that zeromq.js has accepted. Returns whether the option is one. */
  set(option: number, value: string | Uint8Array | null): boolean {
    const name = NAMES[option]
    if (name) this.#keys[name] = parseKey(name, value)
    return name !== undefined
  }

  /** Returns the settings of handshakes with these keys. */
  settings(isServer: boolean): CurveSettings {
    const module = curveModule()
    const { publicKey, secretKey, serverKey } = this.#keys
    // A server's own public key need not be set.
    const own = isServer ? curveOf(module).publicKey(secretKey) : publicKey
    return { module, isServer, publicKey: own, secretKey, serverKey, keyLog: keyLogFile() }
  }
}
