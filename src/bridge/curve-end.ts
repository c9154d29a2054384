import { describeGreeting } from "../codec/describe-greeting.js"
import { ProtocolError, quoted } from "../codec/errors.js"
import { COMMAND, checkHead } from "../codec/frames.js"
import { formatKey } from "../curve/keys.js"
import { ConnectionCipher } from "../transport/connection-cipher.js"
import { zmqError } from "../transport/zmq-error.js"
import {
  commandName,
  commandTooLong,
  errorReason,
  HANDSHAKE_COMMAND_MAX_BYTES,
  writeCommand,
} from "../zmtp/commands.js"
import { CurveClient } from "../zmtp/curve-client.js"
import { CurveServer } from "../zmtp/curve-server.js"
import { FrameReader, type FrameSink } from "../zmtp/frame-reader.js"
import {
  GREETING_BYTES,
  isOld,
  type MechanismName,
  mayGreet,
  notLibzmq,
  readGreeting,
  SIGNATURE_BYTES,
  withMechanism,
  writeGreeting,
} from "../zmtp/greeting.js"
import type { HandshakeEvent, HandshakeSettings } from "../zmtp/mechanism.js"
import { type Credentials, type CurveSettings, shown } from "../zmtp/mechanism.js"
import { WholeFrames } from "./whole-frames.js"

const NOTHING = new Uint8Array(0)

/** The keys of one side of a bridge. */
export interface BridgeCurve extends CurveSettings {
  /** The public keys, in Z85, of the clients that a server accepts; undefined for all. */
  clientKeys?: ReadonlySet<string>
  /** The option that the list is from. */
  clientKeysOption?: string
}

/** The greeting that the other side of a bridge is expected to send: the one that it sent last. */
export interface Expected {
  greeting: Uint8Array
}

/** Returns what is expected at first: ZMTP 3.1. */
export const expected = (): Expected => ({ greeting: notLibzmq(writeGreeting("NULL"), 0) })

/**
 * CURVE on one of the two connections of a link. To the rest of the link it looks like a connection
 * without encryption: the peer's stream is passed on with the mechanism NULL and with the peer's own
 * metadata in READY, and what the other side sends is taken in the same form. So the programs at both
 * ends still see each other's socket type, identity and version of ZMTP.
 */
export class CurveEnd {
  readonly #settings: BridgeCurve
  readonly #budgetBytes: number
  readonly #expected: Expected
  readonly #send: (bytes: Uint8Array) => void
  readonly #peer = new GreetingReader("CURVE")
  readonly #other = new GreetingReader("NULL")
  /** The commands of the peer's handshake, and the READY of the other side. */
  readonly #commands = new FrameReader()
  readonly #answer = new FrameReader()
  /** Undefined on a client until the other side's metadata is known, which INITIATE contains. */
  #mechanism: RelayedClient | RelayedServer | undefined
  /** The READY with the peer's metadata that the current call of `open` has found. */
  #found: Uint8Array = NOTHING
  #cipher: ConnectionCipher | undefined
  readonly #frames = new WholeFrames()
  #isAnswered = false
  /** The greeting that was sent before the other side's was there. */
  #greeted: Uint8Array | undefined
  /** What is answered while the greeting, which is the other side's, is not sent whole. */
  #early: Uint8Array[] = []
  /** An error of the peer that was noticed outside `open`. */
  #late: ProtocolError | undefined

  /**
   * @param budgetBytes maximum bytes of one message from the peer; -1 is no limit.
   * @param send takes ownership of bytes for the peer.
   */
  constructor(
    settings: BridgeCurve,
    budgetBytes: number,
    expected: Expected,
    send: (bytes: Uint8Array) => void,
  ) {
    this.#settings = settings
    this.#budgetBytes = budgetBytes
    this.#expected = expected
    this.#send = send
    if (settings.isServer) this.#mechanism = new RelayedServer(settings, this)
  }

  get isServer(): boolean {
    return this.#settings.isServer
  }

  /** Whether the handshake has succeeded. */
  get isSecured(): boolean {
    return this.#cipher !== undefined
  }

  /**
   * Whether a server that has greeted has still to answer: one that refuses a client may just close the
   * connection.
   */
  get isAwaitingServer(): boolean {
    const isAsked = !this.#settings.isServer && this.#mechanism !== undefined
    return isAsked && this.#peer.isComplete && !this.isSecured
  }

  /** The error if the peer broke a rule of MESSAGE commands. `open` has returned what came before. */
  get violation(): ProtocolError | undefined {
    return this.#cipher?.violation?.error
  }

  /** Greets a client as the other side is expected to: it shows its keys before that is dialled. */
  greet(): void {
    this.#greeted = this.#expected.greeting
    this.#sendGreeting(this.#greeted, 0)
  }

  /**
   * Takes a chunk of the peer's stream. Returns what it is without encryption.
   *
   * @throws ProtocolError if the peer breaks a rule of the greeting or of the handshake.
   */
  open(chunk: Uint8Array): Uint8Array {
    if (this.#late) throw this.#late
    if (this.#cipher) return framesIn(this.#cipher, chunk)
    const greeting = this.#peer.read(chunk)
    this.#found = NOTHING
    const rest = chunk.subarray(this.#commands.read(chunk, greeting.length, this.#handshake))
    const opened = rest.length > 0 ? this.open(rest) : NOTHING
    const start = this.#peer.length - greeting.length
    return Buffer.concat([withMechanism(greeting, start, "NULL"), this.#found, opened])
  }

  /**
   * Takes a piece of what the other side sends, and sends it to the peer, in whole frames.
   *
   * @throws ProtocolError if the other side breaks a rule.
   */
  seal(piece: Uint8Array): void {
    let rest = piece
    if (!this.#other.isComplete) {
      const greeting = this.#other.read(piece)
      rest = piece.subarray(greeting.length)
      if (!this.#greeted) this.#passGreeting(greeting)
      else if (this.#other.isComplete) this.#checkVersion(this.#greeted)
    }
    if (!this.#isAnswered) rest = rest.subarray(this.#answer.read(rest, 0, this.#readAnswer))
    if (rest.length === 0) return
    const cipher = this.#cipher
    if (!cipher)
      throw new ProtocolError("ERR_ZMTP_HANDSHAKE", "a message came before the handshake was over")
    this.#frames.push(rest, (frames) => this.#send(cipher.seal(frames) as Uint8Array))
  }

  #sendGreeting(bytes: Uint8Array, start: number): void {
    this.#send(withMechanism(bytes, start, "CURVE", this.#settings.isServer))
  }

  #passGreeting(bytes: Uint8Array): void {
    this.#sendGreeting(bytes, this.#other.length - bytes.length)
    if (this.#other.isComplete) for (const early of this.#early.splice(0)) this.#send(early)
  }

  /** Ends the handshake of a client that was told another version than the other side's. */
  #checkVersion(greeted: Uint8Array): void {
    this.#expected.greeting = this.#other.bytes
    const [told, is] = [versionOf(greeted), versionOf(this.#other.bytes)]
    if (told === is) return
    const what = `this side speaks ZMTP ${is}; the client was told ${told}, and has to connect again`
    throw zmqError("EAGAIN", undefined, what)
  }

  /** Wipes the keys. */
  close(): void {
    this.#mechanism?.over()
    this.#cipher?.close()
  }

  readonly #handshake: FrameSink = {
    head: checkCommand,
    frame: (flags, body) => {
      if (!this.#mechanism)
        throw new ProtocolError("ERR_ZMTP_HANDSHAKE", "a command came before this side's HELLO")
      this.#mechanism.command(body, (flags & COMMAND) !== 0)
      return !this.isSecured
    },
  }

  readonly #readAnswer: FrameSink = {
    head: checkCommand,
    frame: (_flags, body) => {
      const name = commandName(body)
      const data = body.subarray(1 + (name?.length ?? 0))
      if (name !== "READY") throw noReady(name, data)
      this.#isAnswered = true
      this.#mechanism ??= new RelayedClient(handshakeOf(this.#settings), this)
      this.#mechanism.answer(data)
      return false
    },
  }

  // -- The mechanism ------------------------------------------------------------------

  send(bytes: Uint8Array): void {
    if (this.#greeted || this.#other.isComplete) this.#send(bytes)
    else this.#early.push(bytes)
  }

  /** Passes the peer's metadata on. */
  metadataFound(metadata: Uint8Array): void {
    this.#found = writeCommand("READY", metadata)
  }

  onEvent(event: HandshakeEvent): void {
    if (event.type === "failed") throw event.error
    if (event.type !== "ready") return
    const secured = this.#mechanism?.secured
    if (!secured) return
    this.#cipher = new ConnectionCipher(this.#settings, secured, this.#budgetBytes)
    // The bytes of a frame that began too early cannot be opened any more.
    if (this.#commands.insideFrame)
      this.#late = new ProtocolError(
        "ERR_ZMTP_HANDSHAKE",
        "a frame began before the handshake was over",
      )
  }
}

/** Returns the frames in a chunk, in memory of their own. */
function framesIn(cipher: ConnectionCipher, chunk: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = []
  cipher.open(chunk, (frames) => pieces.push(frames.slice()))
  return Buffer.concat(pieces)
}

class GreetingReader {
  readonly #mechanism: MechanismName
  readonly bytes: Uint8Array = new Uint8Array(GREETING_BYTES)
  /** Number of bytes received so far. */
  length = 0

  /** @param mechanism the one that it has to ask for. */
  constructor(mechanism: MechanismName) {
    this.#mechanism = mechanism
  }

  get isComplete(): boolean {
    return this.length === GREETING_BYTES
  }

  /** Returns the bytes of a chunk that belong to the greeting. @throws ProtocolError */
  read(chunk: Uint8Array): Uint8Array {
    const taken = chunk.subarray(0, GREETING_BYTES - this.length)
    this.bytes.set(taken, this.length)
    this.length += taken.length
    const seen = this.bytes.subarray(0, this.length)
    if (!mayGreet(seen) || (seen.length > SIGNATURE_BYTES && isOld(seen)))
      throw new ProtocolError("ERR_ZMTP_GREETING", `the greeting ${describeGreeting(seen)}`)
    const asked = this.isComplete ? readGreeting(seen).mechanism : this.#mechanism
    if (asked === this.#mechanism) return taken
    throw new ProtocolError(
      "ERR_ZMTP_GREETING",
      `the greeting asks for ${quoted(Buffer.from(asked))}; with CURVE on ${
        this.#mechanism === "CURVE" ? "this" : "the other"
      } side, the bridge needs ${this.#mechanism}`,
    )
  }
}

function versionOf(greeting: Uint8Array): string {
  const { major, minor } = readGreeting(greeting)
  return `${major}.${minor}`
}

/** CURVE with the metadata of others in the place of its own. */
class RelayedClient extends CurveClient {
  readonly #end: CurveEnd
  #metadata: Uint8Array = NOTHING

  constructor(settings: HandshakeSettings, end: CurveEnd) {
    super(settings, end)
    this.#end = end
  }

  /** Begins, because the metadata that INITIATE needs has come. */
  answer(metadata: Uint8Array): void {
    this.#metadata = metadata
    this.start()
  }

  protected override metadata(): Uint8Array {
    return this.#metadata
  }

  protected override readPeer(metadata: Uint8Array): Uint8Array {
    this.#end.metadataFound(metadata)
    return NOTHING
  }
}

class RelayedServer extends CurveServer {
  readonly #end: CurveEnd
  readonly #keys: BridgeCurve
  #metadata: Uint8Array | undefined

  constructor(keys: BridgeCurve, end: CurveEnd) {
    super(handshakeOf(keys), end)
    this.#keys = keys
    this.#end = end
  }

  /** Goes on if INITIATE has come: READY needs the metadata. */
  answer(metadata: Uint8Array): void {
    this.#metadata = metadata
    this.authenticated(undefined)
  }

  /** Looks the client up in the list. The other side's metadata may not be there yet. */
  protected override authenticate({ values }: Credentials): void {
    const { clientKeys, clientKeysOption } = this.#keys
    const key = formatKey(values[0] as Uint8Array)
    if (clientKeys && !clientKeys.has(key)) {
      this.refuse(400)
      throw new ProtocolError(
        "ERR_ZMTP_HANDSHAKE",
        `the client ${key} is not in ${clientKeysOption}`,
      )
    }
    this.#end.metadataFound(this.peerMetadata)
    if (this.#metadata) this.authenticated(undefined)
  }

  protected override metadata(): Uint8Array {
    return this.#metadata ?? NOTHING
  }

  protected override checkPeer(): Uint8Array {
    return NOTHING
  }
}

/** Settings of a handshake in which only the keys matter. */
function handshakeOf(curve: CurveSettings): HandshakeSettings {
  return {
    socketType: "PAIR",
    mechanism: "CURVE",
    plainServer: false,
    username: NOTHING,
    password: NOTHING,
    routingId: NOTHING,
    authenticate: false,
    formats: [],
    revision: 0,
    curve,
  }
}

function checkCommand(flags: number, bodyBytes: number): void {
  checkHead(flags, bodyBytes)
  if (bodyBytes > HANDSHAKE_COMMAND_MAX_BYTES)
    throw commandTooLong(bodyBytes, HANDSHAKE_COMMAND_MAX_BYTES)
}

/** Returns the error for what came in the place of READY. */
function noReady(name: string | undefined, data: Uint8Array): ProtocolError {
  const reason = name === "ERROR" ? errorReason(data) : undefined
  const what = reason
    ? `the peer refused with ${quoted(reason)}`
    : `the command ${shown(name)} was not expected`
  return new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
}
