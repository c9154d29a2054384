import { concat } from "../codec/arrays.js"
import { ProtocolError } from "../codec/errors.js"
import { type Curve, curveOf, KEY_BYTES, type KeyPair, wipe } from "../curve/curve.js"
import { newKeyPair, randomBytes } from "../curve/random.js"
import { commandName, writeCommand } from "./commands.js"
import {
  COOKIE_BYTES,
  COUNTER_BYTES,
  counter,
  HELLO,
  HELLO_ZEROS,
  LONG_NONCE_BYTES,
  nonce,
  READY_MIN_BYTES,
  VERSION,
  WELCOME_BYTES,
} from "./curve-commands.js"
import {
  type CurveSettings,
  type HandshakeHandlers,
  type HandshakeSettings,
  Mechanism,
} from "./mechanism.js"

type State = "waiting for WELCOME" | "waiting for READY" | "over"

/** This side's counters: one command each. */
const HELLO_COUNTER = counter(1)
const INITIATE_COUNTER = counter(2)

/** CURVE on the side that knows the other's public key (RFC 26 of the ZeroMQ project). */
export class CurveClient extends Mechanism {
  readonly #curve: Curve
  readonly #keys: CurveSettings
  #state: State = "waiting for WELCOME"
  /** The keys of this connection, until the handshake is over. */
  readonly #shortTerm: KeyPair
  /** The key that the short-term pair shares with the server's long-term pair. */
  #serverKey: Uint8Array | undefined
  /** The key that both short-term pairs share. */
  #connectionKey: Uint8Array | undefined

  constructor(settings: HandshakeSettings, handlers: HandshakeHandlers) {
    super(settings, handlers)
    this.#keys = settings.curve as CurveSettings
    this.#curve = curveOf(this.#keys.module)
    this.#shortTerm = newKeyPair(this.#curve)
  }

  start(): void {
    const { publicKey, secretKey } = this.#shortTerm
    this.#serverKey = this.#curve.sharedKey(this.#keys.serverKey, secretKey)
    if (!this.#serverKey) {
      this.over()
      const what = "the server's key is of low order, so it protects nothing"
      const error = new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
      // As in libzmq, which only notices that it has nothing to send.
      this.handlers.onEvent({ type: "failed", error, reason: "CRYPTOGRAPHIC", waits: true })
      return
    }
    const hello = new Uint8Array(HELLO.bytes)
    hello.set(VERSION, HELLO.at.version)
    hello.set(publicKey, HELLO.at.client)
    hello.set(HELLO_COUNTER, HELLO.at.counter)
    const signature = nonce("CurveZMQHELLO---", HELLO_COUNTER)
    hello.set(
      this.#curve.box(this.#serverKey, signature, new Uint8Array(HELLO_ZEROS)),
      HELLO.at.box,
    )
    this.handlers.send(writeCommand("HELLO", hello))
  }

  command(body: Uint8Array, isCommand: boolean): void {
    const name = isCommand ? commandName(body) : undefined
    const data = body.subarray(1 + (name?.length ?? 0))
    if (name === "ERROR" && this.#state !== "over") this.readError(data)
    else if (name === "WELCOME" && this.#state === "waiting for WELCOME") this.#welcome(data)
    else if (name === "READY" && this.#state !== "over") this.#ready(data)
    else this.unexpected(name)
  }

  authenticated(): void {}

  #welcome(data: Uint8Array): void {
    if (data.length !== WELCOME_BYTES) {
      const what = `a WELCOME has ${data.length} bytes of data; ${WELCOME_BYTES} are needed`
      this.fail(what, "CRYPTOGRAPHIC")
      return
    }
    const plain = this.#curve.open(
      this.#serverKey as Uint8Array,
      nonce("WELCOME-", data.subarray(0, LONG_NONCE_BYTES)),
      data.subarray(LONG_NONCE_BYTES),
    )
    if (!plain) {
      this.fail(
        "a WELCOME does not open: it is not from the owner of the server's key",
        "CRYPTOGRAPHIC",
      )
      return
    }
    const server = plain.subarray(0, KEY_BYTES)
    const cookie = plain.subarray(KEY_BYTES, KEY_BYTES + COOKIE_BYTES)
    this.#connectionKey = this.#curve.sharedKey(server, this.#shortTerm.secretKey)
    const vouchKey = this.#curve.sharedKey(server, this.#keys.secretKey)
    if (!this.#connectionKey || !vouchKey) {
      this.fail("the server's short-term key is of low order", "CRYPTOGRAPHIC")
      return
    }
    this.#state = "waiting for READY"
    const vouchNonce = randomBytes(LONG_NONCE_BYTES)
    let vouch: Uint8Array
    try {
      const both = concat([this.#shortTerm.publicKey, this.#keys.serverKey])
      vouch = this.#curve.box(vouchKey, nonce("VOUCH---", vouchNonce), both)
    } finally {
      wipe(vouchKey)
    }
    const box = this.#curve.box(
      this.#connectionKey,
      nonce("CurveZMQINITIATE", INITIATE_COUNTER),
      concat([this.#keys.publicKey, vouchNonce, vouch, this.metadata()]),
    )
    this.handlers.send(writeCommand("INITIATE", concat([cookie, INITIATE_COUNTER, box])))
  }

  #ready(data: Uint8Array): void {
    if (data.length < READY_MIN_BYTES) {
      const what = `a READY has ${data.length} bytes of data; at least ${READY_MIN_BYTES} are needed`
      this.fail(what, "MALFORMED_COMMAND_READY")
      return
    }
    const key = this.#connectionKey
    const received = data.slice(0, COUNTER_BYTES)
    const signature = nonce("CurveZMQREADY---", received)
    const metadata = key && this.#curve.open(key, signature, data.subarray(COUNTER_BYTES))
    // As in libzmq, one that comes before WELCOME does not open, either.
    if (!key || !metadata) {
      this.fail("a READY does not open", "CRYPTOGRAPHIC")
      return
    }
    const routingId = this.readPeer(metadata, "INVALID_METADATA")
    if (!routingId) return
    this.#connectionKey = undefined
    const { publicKey: client } = this.#shortTerm
    this.secured = { key, isServer: false, client, sent: INITIATE_COUNTER, received }
    this.ready(routingId)
  }

  over(): void {
    this.#state = "over"
    wipe(this.#shortTerm.secretKey, this.#serverKey, this.#connectionKey)
  }
}
