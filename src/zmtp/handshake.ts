import { ProtocolError, quoted } from "../codec/errors.js"
import { commandName, errorReason, writeCommand } from "./commands.js"
import type { MechanismName } from "./greeting.js"
import { isNamed, latin1, type Property, readProperties, writeMetadata } from "./metadata.js"
import { findRevision, revisionProperty } from "./revision.js"
import { IDENTIFIED, PEERS, type SocketTypeName } from "./socket-types.js"

/** The metadata of this side, and the peers that it accepts. */
export interface HandshakeSettings {
  socketType: SocketTypeName
  mechanism: MechanismName
  /** PLAIN: whether this side checks the peer's credentials. */
  plainServer: boolean
  username: Uint8Array
  password: Uint8Array
  /** Up to 255 bytes; empty for none. */
  routingId: Uint8Array
  /** NULL: whether peers are authenticated too. A PLAIN server always authenticates them. */
  authenticate: boolean
  /** The format revision that this side reads and announces. */
  revision: number
}

/** The peer's part of a request to a ZAP handler (RFC 27). */
export interface Credentials {
  mechanism: MechanismName
  /** PLAIN: the name and the password. */
  values: Uint8Array[]
}

/** The status of a ZAP reply. */
export type AuthStatus = 200 | 300 | 400 | 500

/** A reason of zeromq.js's event "handshake:error:protocol", without ERR_ZMTP_. */
export type HandshakeReason =
  | "UNSPECIFIED"
  | "UNEXPECTED_COMMAND"
  | "MALFORMED_COMMAND_UNSPECIFIED"
  | "MALFORMED_COMMAND_HELLO"
  | "MALFORMED_COMMAND_ERROR"
  | "MALFORMED_COMMAND_WELCOME"
  | "INVALID_METADATA"
  | "MECHANISM_MISMATCH"

/** An event of a handshake. */
export type HandshakeEvent =
  /** Requests a call of `authenticated`. */
  | { type: "authenticate"; credentials: Credentials }
  /** The peer or the ZAP handler has refused the connection, with this status. */
  | { type: "refused"; status: number }
  /**
   * The peer broke a rule. `reason` is the name of the failure in libzmq's monitor; undefined if it
   * has none.
   */
  | { type: "failed"; error: ProtocolError; reason: HandshakeReason | undefined }
  /** The handshake has succeeded. */
  | { type: "ready"; peerRoutingId: Uint8Array }

export interface HandshakeHandlers {
  /** Sends bytes to the peer. */
  send(bytes: Uint8Array): void
  onEvent(event: HandshakeEvent): void
}

type State =
  | "start"
  | "authenticating"
  | "waiting for HELLO"
  | "waiting for WELCOME"
  | "waiting for INITIATE"
  | "waiting for READY"
  | "over"

const NOTHING = new Uint8Array(0)
/** libzmq's PLAIN server sends this instead of ERROR and its length, because of a slip in a literal. */
const LIBZMQ_ERROR = "^RROR"
const encoder = new TextEncoder()

/**
 * The exchange of commands between the greeting and the first message, for NULL and PLAIN (RFC.md
 * section 3.2).
 */
export class Handshake {
  readonly #settings: HandshakeSettings
  readonly #handlers: HandshakeHandlers
  #state: State = "start"
  /** NULL: the peer's routing id from its READY, which may arrive before the reply of ZAP. */
  #peerRoutingId: Uint8Array | undefined
  #readySent = false
  /** The revision that the peer announced; undefined if none. */
  peerRevision: number | undefined

  constructor(settings: HandshakeSettings, handlers: HandshakeHandlers) {
    this.#settings = settings
    this.#handlers = handlers
  }

  start(): void {
    const { mechanism, plainServer, authenticate, username, password } = this.#settings
    if (mechanism === "PLAIN") {
      this.#state = plainServer ? "waiting for HELLO" : "waiting for WELCOME"
      if (plainServer) return
      const hello = [username.length, ...username, password.length, ...password]
      this.#handlers.send(writeCommand("HELLO", Uint8Array.from(hello)))
    } else if (authenticate) {
      this.#authenticate({ mechanism, values: [] })
    } else {
      this.#state = "waiting for READY"
      this.#sendReady()
    }
  }

  /** Handles a command of the peer, or a message frame sent in its place. */
  command(body: Uint8Array, isCommand: boolean): void {
    const name = isCommand ? commandName(body) : undefined
    const data = body.subarray(1 + (name?.length ?? 0))
    const isLibzmqError = latin1(body.subarray(0, LIBZMQ_ERROR.length)) === LIBZMQ_ERROR
    if (this.#settings.mechanism === "NULL") this.#null(name, data)
    else if (this.#settings.plainServer) this.#server(name, data, body)
    else if (isLibzmqError) this.#client("ERROR", body.subarray(LIBZMQ_ERROR.length))
    else this.#client(name, data)
  }

  /** Handles the reply of ZAP; undefined if there is no handler, in which case NULL accepts the peer. */
  authenticated(status: AuthStatus | undefined): void {
    if (this.#state !== "authenticating") return
    if (status !== undefined && status !== 200) {
      this.#refuse(status)
    } else if (this.#settings.mechanism === "PLAIN") {
      this.#state = "waiting for INITIATE"
      this.#handlers.send(writeCommand("WELCOME", NOTHING))
    } else {
      this.#state = "waiting for READY"
      this.#sendReady()
      this.#checkReady()
    }
  }

  #null(name: string | undefined, data: Uint8Array): void {
    if (this.#peerRoutingId !== undefined) this.#unexpected(name)
    else if (name === "READY") {
      // The peer may have sent this before it learned of the refusal.
      this.#peerRoutingId = this.#readPeer(data, undefined)
      this.#checkReady()
    } else if (name === "ERROR") this.#readError(data)
    else this.#unexpected(name)
  }

  #client(name: string | undefined, data: Uint8Array): void {
    const welcomed = this.#state === "waiting for READY"
    if (name === "ERROR" && this.#state !== "over") this.#readError(data)
    else if (name === "WELCOME" && !welcomed) {
      if (data.length > 0) {
        this.#fail("a WELCOME has data", "MALFORMED_COMMAND_WELCOME")
        return
      }
      this.#state = "waiting for READY"
      this.#handlers.send(writeCommand("INITIATE", this.#metadata()))
    } else if (name === "READY" && welcomed) {
      const routingId = this.#readPeer(data, "INVALID_METADATA")
      if (routingId) this.#ready(routingId)
    } else this.#unexpected(name)
  }

  #server(name: string | undefined, data: Uint8Array, body: Uint8Array): void {
    if (this.#state === "waiting for HELLO") {
      if (body.length <= 1 || body.length <= (body[0] as number))
        this.#fail("a command is cut short", "MALFORMED_COMMAND_UNSPECIFIED")
      else if (name === "HELLO") this.#readHello(data)
      else this.#unexpected(name)
    } else if (this.#state === "waiting for INITIATE") {
      if (name !== "INITIATE") {
        this.#unexpected(name)
        return
      }
      const routingId = this.#readPeer(data, undefined)
      if (!routingId) return
      this.#sendReady()
      this.#ready(routingId)
    } else {
      this.#fail(`the command ${shown(name)} came too soon`, "UNSPECIFIED")
    }
  }

  #readHello(data: Uint8Array): void {
    const nameEnd = 1 + (data[0] ?? 0)
    if (data.length < nameEnd + 1 || data.length !== nameEnd + 1 + (data[nameEnd] as number)) {
      this.#fail("a HELLO is not well-formed", "MALFORMED_COMMAND_HELLO")
      return
    }
    const values = [data.slice(1, nameEnd), data.slice(nameEnd + 1)]
    this.#authenticate({ mechanism: "PLAIN", values })
  }

  #authenticate(credentials: Credentials): void {
    this.#state = "authenticating"
    this.#handlers.onEvent({ type: "authenticate", credentials })
  }

  /** Checks the peer's metadata and returns its routing id; undefined if the handshake has failed. */
  #readPeer(data: Uint8Array, reason: HandshakeReason | undefined): Uint8Array | undefined {
    const read = readProperties(data)
    if (!read) {
      this.#fail("metadata is not well-formed", reason)
      return undefined
    }
    const { socketType } = this.#settings
    const peers: readonly string[] = PEERS[socketType]
    let identity: Uint8Array = NOTHING
    // As in libzmq, a peer that does not name its type is accepted, every type that it names counts,
    // and the last of its identities.
    for (const [name, value] of read) {
      if (isNamed(name, "Identity")) identity = value
      if (!isNamed(name, "Socket-Type") || peers.includes(latin1(value))) continue
      this.#fail(`the peer is ${quoted(value)}, which does not go with ${socketType}`, reason)
      return undefined
    }
    this.peerRevision = findRevision(read)
    return identity
  }

  #readError(data: Uint8Array): void {
    const words = errorReason(data)
    if (!words) {
      this.#fail("an ERROR is not well-formed", "MALFORMED_COMMAND_ERROR")
      return
    }
    const text = latin1(words)
    if (/^[345]00$/.test(text)) this.#handlers.onEvent({ type: "refused", status: Number(text) })
    this.#fail(`the peer refused with ${quoted(words)}`, undefined)
  }

  #sendReady(): void {
    this.#readySent = true
    this.#handlers.send(writeCommand("READY", this.#metadata()))
  }

  #metadata(): Uint8Array {
    const { socketType, routingId, revision } = this.#settings
    const properties: Property[] = [["Socket-Type", encoder.encode(socketType)]]
    if (IDENTIFIED.has(socketType)) properties.push(["Identity", routingId])
    properties.push(revisionProperty(revision))
    return writeMetadata(properties)
  }

  #checkReady(): void {
    if (this.#peerRoutingId && this.#readySent && this.#state !== "over")
      this.#ready(this.#peerRoutingId)
  }

  #ready(peerRoutingId: Uint8Array): void {
    this.#state = "over"
    this.#handlers.onEvent({ type: "ready", peerRoutingId })
  }

  #refuse(status: AuthStatus): void {
    this.#state = "over"
    this.#handlers.onEvent({ type: "refused", status })
    // A temporary failure is not sent to the peer. The peer closes the connection, or the handshake
    // times out.
    if (status === 300) return
    const reason = encoder.encode(String(status))
    this.#handlers.send(writeCommand("ERROR", Uint8Array.of(reason.length, ...reason)))
  }

  #unexpected(name: string | undefined): void {
    this.#fail(`the command ${shown(name)} was not expected`, "UNEXPECTED_COMMAND")
  }

  #fail(what: string, reason: HandshakeReason | undefined): void {
    this.#state = "over"
    const error = new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
    this.#handlers.onEvent({ type: "failed", error, reason })
  }
}

function shown(name: string | undefined): string {
  return name === undefined ? "without a name" : name.slice(0, 32)
}
