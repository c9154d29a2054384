/** Both sides of CURVE (RFC 26), command by command, so that a raw peer can send any of them wrong. */
import { newKeyPair } from "../../src/curve/random.js"
import { curve, someBytes } from "../support/curve.js"
import { z85 } from "../support/z85.js"
import { clientKeys, otherKeys, serverKeys } from "./curve.js"
import { property, type RawPeer } from "./raw-peer.js"

export interface Keys {
  publicKey: Uint8Array
  secretKey: Uint8Array
}

const decoded = ({ publicKey, secretKey }: { publicKey: string; secretKey: string }): Keys => ({
  publicKey: z85(publicKey),
  secretKey: z85(secretKey),
})
export const SERVER_KEYS: Keys = decoded(serverKeys)
export const CLIENT_KEYS: Keys = decoded(clientKeys)
export const OTHER_KEYS: Keys = decoded(otherKeys)

/** The flags inside a MESSAGE. */
export const INSIDE = { more: 1, command: 2 } as const

/** A key that everybody knows whatever the other one is. */
export const LOW_ORDER = new Uint8Array(32)

const ZEROS = new Uint8Array(64)

export const counterOf = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

const box = (keys: [publicKey: Uint8Array, secretKey: Uint8Array], nonce: Buffer, plain: Buffer) =>
  Buffer.from(curve.box(shared(...keys), nonce, plain))

function shared(publicKey: Uint8Array, secretKey: Uint8Array): Uint8Array {
  // What a key of low order shares is zero.
  return curve.sharedKey(publicKey, secretKey) ?? new Uint8Array(32)
}

function opened(key: Uint8Array, nonce: Buffer, sealed: Uint8Array): Buffer {
  const plain = curve.open(key, nonce, sealed)
  if (!plain) throw new Error(`a box with the nonce ${nonce.toString("latin1")} does not open`)
  return Buffer.from(plain)
}

const nonceOf = (prefix: string, rest: Uint8Array) => Buffer.concat([Buffer.from(prefix), rest])

/** What is wrong with a HELLO. */
export interface HelloOptions {
  version?: [number, number]
  padding?: number
  key?: Uint8Array
  counter?: number
  serverKey?: Uint8Array
  plain?: Buffer
}

/** What is wrong with an INITIATE. */
export interface InitiateOptions {
  cookie?: Buffer
  counter?: number
  keys?: Keys
  /** The key that the client vouches for, and the one that it vouches with. */
  vouched?: Uint8Array
  vouchKeys?: Keys
  metadata?: Buffer
}

/** A connection with CURVE, once a handshake has begun. */
abstract class RawCurve {
  readonly peer: RawPeer
  readonly shortTerm: Keys = newKeyPair(curve)
  /** The key that both sides' short-term keys share. */
  protected key: Uint8Array | undefined
  protected abstract readonly sends: string
  protected abstract readonly receives: string
  #counter = 2

  constructor(peer: RawPeer) {
    this.peer = peer
  }

  /** Returns the data of a MESSAGE. A part has the form of this scheme. */
  sealed(
    flags: number,
    body: Uint8Array | string,
    counter: number | bigint = ++this.#counter,
  ): Buffer {
    const sent = counterOf(counter)
    const isCommand = (flags & INSIDE.command) !== 0
    const plain = Buffer.concat([
      Buffer.from([flags]),
      isCommand ? Buffer.from(body as string, "latin1") : this.peer.formed(body),
    ])
    const key = this.key as Uint8Array
    return Buffer.concat([
      sent,
      curve.box(key, nonceOf(`CurveZMQMESSAGE${this.sends}`, sent), plain),
    ])
  }

  /** Sends a MESSAGE, with the flags of its frame. */
  send(data: Uint8Array, flags = 0): void {
    this.peer.command("MESSAGE", data, flags)
  }

  /** Sends a message as MESSAGEs. */
  message(...parts: readonly (Uint8Array | string)[]): void {
    for (const [i, part] of parts.entries())
      this.send(this.sealed(i < parts.length - 1 ? INSIDE.more : 0, part))
  }

  /** Sends a command as a MESSAGE. */
  command(name: string, data = ""): void {
    const body = `${String.fromCharCode(name.length)}${name}${data}`
    this.send(this.sealed(INSIDE.command, body))
  }

  /** Returns what has come in MESSAGEs: the flags, and the bodies. */
  get received(): [flags: number, body: Buffer][] {
    return this.peer.encrypted().map((data) => {
      const nonce = nonceOf(`CurveZMQMESSAGE${this.receives}`, data.subarray(0, 8))
      const plain = opened(this.key as Uint8Array, nonce, data.subarray(8))
      const [flags = 0, ...body] = plain
      const bytes = Buffer.from(body)
      return [flags, flags & INSIDE.command ? bytes : this.peer.bare(bytes)]
    })
  }
}

/** The side that knows the other's public key. */
export class RawCurveClient extends RawCurve {
  protected readonly sends = "C"
  protected readonly receives = "S"
  readonly role = "client"

  /** Returns the data of a HELLO. */
  hello({
    version = [1, 0],
    padding = 0,
    key = this.shortTerm.publicKey,
    counter = 1,
    serverKey = SERVER_KEYS.publicKey,
    plain = Buffer.from(ZEROS),
  }: HelloOptions = {}): Buffer {
    const sent = counterOf(counter)
    const keys: [Uint8Array, Uint8Array] = [serverKey, this.shortTerm.secretKey]
    return Buffer.concat([
      Buffer.from(version),
      Buffer.alloc(72, padding),
      key,
      sent,
      box(keys, nonceOf("CurveZMQHELLO---", sent), plain),
    ])
  }

  /** Opens the WELCOME that was received, and returns the data of an INITIATE. */
  initiate({
    cookie,
    counter = 2,
    keys = CLIENT_KEYS,
    vouched = this.shortTerm.publicKey,
    vouchKeys = keys,
    metadata = property("Socket-Type", "PUSH"),
  }: InitiateOptions = {}): Buffer {
    const { server, cookie: given } = this.welcome()
    this.key = shared(server, this.shortTerm.secretKey)
    const vouchNonce = Buffer.from(someBytes(16))
    const vouch = box(
      [server, vouchKeys.secretKey],
      nonceOf("VOUCH---", vouchNonce),
      Buffer.concat([vouched, SERVER_KEYS.publicKey]),
    )
    const sent = counterOf(counter)
    const plain = Buffer.concat([keys.publicKey, vouchNonce, vouch, metadata])
    const sealed = curve.box(this.key, nonceOf("CurveZMQINITIATE", sent), plain)
    return Buffer.concat([cookie ?? given, sent, sealed])
  }

  /** Returns the content of the WELCOME that was received. */
  welcome(): { server: Buffer; cookie: Buffer } {
    const welcome = this.peer.commands("WELCOME")[0] as Buffer
    const key = shared(SERVER_KEYS.publicKey, this.shortTerm.secretKey)
    const plain = opened(key, nonceOf("WELCOME-", welcome.subarray(0, 16)), welcome.subarray(16))
    return { server: plain.subarray(0, 32), cookie: plain.subarray(32) }
  }

  /** Returns the metadata of the READY that was received. */
  metadata(): Buffer {
    const ready = this.peer.commands("READY")[0] as Buffer
    const nonce = nonceOf("CurveZMQREADY---", ready.subarray(0, 8))
    return this.peer.withoutRevision(opened(this.key as Uint8Array, nonce, ready.subarray(8)))
  }
}

/** The side whose public key the other knows. */
export class RawCurveServer extends RawCurve {
  protected readonly sends = "S"
  protected readonly receives = "C"
  readonly role = "server"
  #client: Uint8Array = LOW_ORDER

  /** Checks the HELLO that was received, and returns the data of a WELCOME. */
  welcome(key: Uint8Array = this.shortTerm.publicKey, secretKey = SERVER_KEYS.secretKey): Buffer {
    const hello = this.peer.commands("HELLO")[0] as Buffer
    this.#client = hello.subarray(74, 106)
    const nonce = nonceOf("CurveZMQHELLO---", hello.subarray(106, 114))
    opened(shared(this.#client, SERVER_KEYS.secretKey), nonce, hello.subarray(114))
    const random = Buffer.from(someBytes(16))
    const plain = Buffer.concat([key, someBytes(96)])
    return Buffer.concat([
      random,
      box([this.#client, secretKey], nonceOf("WELCOME-", random), plain),
    ])
  }

  /** Returns the metadata of the INITIATE that was received. */
  metadata(): Buffer {
    const initiate = this.peer.commands("INITIATE")[0] as Buffer
    this.key = shared(this.#client, this.shortTerm.secretKey)
    const nonce = nonceOf("CurveZMQINITIATE", initiate.subarray(96, 104))
    return this.peer.withoutRevision(opened(this.key, nonce, initiate.subarray(104)).subarray(128))
  }

  /** Opens the INITIATE that was received, and returns the data of a READY. */
  ready(metadata = property("Socket-Type", "PUSH"), counter = 1): Buffer {
    this.metadata()
    const sent = counterOf(counter)
    const key = this.key as Uint8Array
    return Buffer.concat([sent, curve.box(key, nonceOf("CurveZMQREADY---", sent), metadata)])
  }
}
