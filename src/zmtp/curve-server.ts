import { concat, copy } from "../codec/arrays.js"
import { type Curve, curveOf, KEY_BYTES, secretBytes, wipe } from "../curve/curve.js"
import { newKeyPair, randomBytes } from "../curve/random.js"
import { commandName, writeCommand } from "./commands.js"
import {
  COOKIE_BYTES,
  COUNTER_BYTES,
  counter,
  HELLO,
  INITIATE,
  LONG_NONCE_BYTES,
  nonce,
  VERSION,
  VOUCH_BYTES,
} from "./curve-commands.js"
import {
  type AuthStatus,
  type CurveSettings,
  type HandshakeHandlers,
  type HandshakeSettings,
  Mechanism,
  shown,
} from "./mechanism.js"

type State = "waiting for HELLO" | "waiting for INITIATE" | "authenticating" | "over"

const READY_COUNTER = counter(1)

/** CURVE on the side whose public key the other knows (RFC 26 of the ZeroMQ project). */
export class CurveServer extends Mechanism {
  readonly #curve: Curve
  readonly #keys: CurveSettings
  #state: State = "waiting for HELLO"
  /**
   * The key of the cookie, until it comes back. The connection's short-term keys are in the cookie
   * only. A key for each connection keeps the commands of one from being used on another.
   */
  #cookieKey: Uint8Array | undefined
  /** The peer's short-term public key. */
  #client: Uint8Array = new Uint8Array(0)
  /** The counter of the peer's INITIATE. */
  #received: Uint8Array = counter(0)
  /** The key that both short-term pairs share, and the peer's routing id. */
  #connectionKey: Uint8Array | undefined
  #routingId: Uint8Array | undefined
  /** The metadata of an INITIATE that has opened. */
  protected peerMetadata: Uint8Array = new Uint8Array(0)

  constructor(settings: HandshakeSettings, handlers: HandshakeHandlers) {
    super(settings, handlers)
    this.#keys = settings.curve as CurveSettings
    this.#curve = curveOf(this.#keys.module)
  }

  start(): void {}

  command(body: Uint8Array, isCommand: boolean): void {
    const name = isCommand ? commandName(body) : undefined
    const data = body.subarray(1 + (name?.length ?? 0))
    if (this.#state === "authenticating" || this.#state === "over")
      this.fail(`the command ${shown(name)} came too soon`, "UNSPECIFIED")
    else if (body.length <= 1 || body.length <= (body[0] as number))
      this.fail("a command is cut short", "MALFORMED_COMMAND_UNSPECIFIED")
    else if (name === "HELLO" && this.#state === "waiting for HELLO") this.#hello(data)
    else if (name === "INITIATE" && this.#state === "waiting for INITIATE") this.#initiate(data)
    else this.unexpected(name)
  }

  authenticated(status: AuthStatus | undefined): void {
    if (this.#state !== "authenticating" || !this.#routingId) return
    if (status !== undefined && status !== 200) {
      this.refuse(status)
      return
    }
    const key = this.#connectionKey as Uint8Array
    const box = this.#curve.box(key, nonce("CurveZMQREADY---", READY_COUNTER), this.metadata())
    this.handlers.send(writeCommand("READY", concat([READY_COUNTER, box])))
    this.#connectionKey = undefined
    const client = this.#client
    this.secured = { key, isServer: true, client, sent: READY_COUNTER, received: this.#received }
    this.ready(this.#routingId)
  }

  #hello(data: Uint8Array): void {
    if (data.length !== HELLO.bytes) {
      const what = `a HELLO has ${data.length} bytes of data; ${HELLO.bytes} are needed`
      this.fail(what, "MALFORMED_COMMAND_HELLO")
      return
    }
    const [major, minor] = data.subarray(HELLO.at.version)
    if (major !== VERSION[0] || minor !== VERSION[1]) {
      const what = `a HELLO is of version ${major}.${minor}; ${VERSION.join(".")} is needed`
      this.fail(what, "MALFORMED_COMMAND_HELLO")
      return
    }
    const client = data.subarray(HELLO.at.client, HELLO.at.client + KEY_BYTES)
    const counter = data.subarray(HELLO.at.counter, HELLO.at.counter + COUNTER_BYTES)
    const key = this.#curve.sharedKey(client, this.#keys.secretKey)
    const signature = nonce("CurveZMQHELLO---", counter)
    try {
      if (!key || !this.#curve.open(key, signature, data.subarray(HELLO.at.box))) {
        this.fail("a HELLO does not open: the peer may have another server's key", "CRYPTOGRAPHIC")
        return
      }
      this.#state = "waiting for INITIATE"
      this.#welcome(client, key)
    } finally {
      wipe(key)
    }
  }

  #welcome(client: Uint8Array, key: Uint8Array): void {
    const { publicKey, secretKey } = newKeyPair(this.#curve)
    this.#cookieKey = randomBytes(KEY_BYTES)
    const cookieNonce = randomBytes(LONG_NONCE_BYTES)
    const kept = secretBytes(2 * KEY_BYTES)
    let cookie: Uint8Array
    try {
      kept.set(client)
      kept.set(secretKey, KEY_BYTES)
      cookie = this.#curve.box(this.#cookieKey, nonce("COOKIE--", cookieNonce), kept)
    } finally {
      wipe(secretKey, kept)
    }
    const welcomeNonce = randomBytes(LONG_NONCE_BYTES)
    const box = this.#curve.box(
      key,
      nonce("WELCOME-", welcomeNonce),
      concat([publicKey, cookieNonce, cookie]),
    )
    this.handlers.send(writeCommand("WELCOME", concat([welcomeNonce, box])))
  }

  #initiate(data: Uint8Array): void {
    if (data.length < INITIATE.bytes) {
      const what = `an INITIATE has ${data.length} bytes of data; at least ${INITIATE.bytes} are needed`
      this.fail(what, "MALFORMED_COMMAND_INITIATE")
      return
    }
    const kept = this.#curve.open(
      this.#cookieKey as Uint8Array,
      nonce("COOKIE--", data.subarray(0, LONG_NONCE_BYTES)),
      data.subarray(LONG_NONCE_BYTES, COOKIE_BYTES),
    )
    wipe(this.#cookieKey)
    if (!kept) {
      this.fail("the cookie of an INITIATE is not from this connection", "CRYPTOGRAPHIC")
      return
    }
    try {
      this.#openInitiate(data, kept.subarray(0, KEY_BYTES), kept.subarray(KEY_BYTES))
    } finally {
      wipe(kept)
    }
  }

  /** @param client the peer's short-term key. @param secretKey this side's. */
  #openInitiate(data: Uint8Array, client: Uint8Array, secretKey: Uint8Array): void {
    // As in libzmq, it need not be larger than HELLO's, which was for another key: omq's are the same.
    this.#received = copy(data, INITIATE.at.counter, INITIATE.at.box)
    this.#client = copy(client, 0, KEY_BYTES)
    // HELLO has shown that the client's key is not of low order.
    this.#connectionKey = this.#curve.sharedKey(client, secretKey) as Uint8Array
    const plain = this.#curve.open(
      this.#connectionKey,
      nonce("CurveZMQINITIATE", this.#received),
      data.subarray(INITIATE.at.box),
    )
    if (!plain) {
      this.fail("an INITIATE does not open", "CRYPTOGRAPHIC")
      return
    }
    const longTerm = plain.subarray(0, KEY_BYTES)
    const vouch = plain.subarray(KEY_BYTES, KEY_BYTES + VOUCH_BYTES)
    const vouchKey = this.#curve.sharedKey(longTerm, secretKey)
    let vouched: Uint8Array | undefined
    try {
      vouched =
        vouchKey &&
        this.#curve.open(
          vouchKey,
          nonce("VOUCH---", vouch.subarray(0, LONG_NONCE_BYTES)),
          vouch.subarray(LONG_NONCE_BYTES),
        )
    } finally {
      wipe(vouchKey)
    }
    if (!vouched) {
      this.fail("the vouch of an INITIATE is not from the owner of its key", "CRYPTOGRAPHIC")
      return
    }
    if (!this.#curve.same(vouched, concat([client, this.#keys.publicKey]))) {
      this.fail("the vouch of an INITIATE was made for another connection", "KEY_EXCHANGE")
      return
    }
    this.peerMetadata = plain.subarray(KEY_BYTES + VOUCH_BYTES)
    const peer = this.checkPeer(this.peerMetadata)
    if (typeof peer !== "string") this.#routingId = peer
    this.#state = "authenticating"
    this.authenticate({ mechanism: "CURVE", values: [copy(longTerm, 0, KEY_BYTES)] })
    // As in libzmq, ZAP is asked about a peer of the wrong type, too, which is refused before the reply.
    if (typeof peer === "string") this.fail(peer, undefined)
  }

  over(): void {
    this.#state = "over"
    wipe(this.#cookieKey, this.#connectionKey)
  }
}
