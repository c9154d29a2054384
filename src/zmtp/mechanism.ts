import { TextEncoder } from "../base/text.js"
import { ProtocolError, quoted } from "../codec/errors.js"
import type { FormatName } from "../codec/format.js"
import { errorReason, writeCommand } from "./commands.js"
import type { MechanismName } from "./greeting.js"
import {
  isNamed,
  latin1,
  type Property,
  readProperties,
  writeMetadata,
  wrongType,
} from "./metadata.js"
import { type Announced, agreed, readAnnounced, revisionProperty } from "./revision.js"
import { IDENTIFIED, type SocketTypeName } from "./socket-types.js"

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
  /** The formats of compressed parts that this side takes, its own first, as it announces them. */
  formats: readonly FormatName[]
  /** Their revision that this side reads and announces. */
  revision: number
  /** The keys of CURVE; undefined with other mechanisms. */
  curve?: CurveSettings | undefined
}

/** The long-term keys of CURVE, each of 32 bytes, and the module that works with them. */
export interface CurveSettings {
  module: WebAssembly.Module
  /** Whether this side is the server. */
  isServer: boolean
  publicKey: Uint8Array
  secretKey: Uint8Array
  /** The server's public key, which the client has to know; empty for a server. */
  serverKey: Uint8Array
  /** The file that the keys of connections are written to, if that was asked for. */
  keyLog?: string | undefined
}

/** What a handshake of CURVE has agreed on. */
export interface Secured {
  /** The key that both sides' short-term keys share. Whoever takes it wipes it. */
  key: Uint8Array
  isServer: boolean
  /** The client's short-term public key, by which the connection can be recognised in a recording. */
  client: Uint8Array
  /** The last counters of this side and of the peer, as 8 bytes each. */
  sent: Uint8Array
  received: Uint8Array
}

/** The peer's part of a request to a ZAP handler (RFC 27). */
export interface Credentials {
  mechanism: MechanismName
  /** PLAIN: the name and the password. CURVE: the long-term key. */
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
  | "MALFORMED_COMMAND_INITIATE"
  | "MALFORMED_COMMAND_READY"
  | "MALFORMED_COMMAND_MESSAGE"
  | "CRYPTOGRAPHIC"
  | "KEY_EXCHANGE"
  | "INVALID_SEQUENCE"
  | "MECHANISM_MISMATCH"

/** An event of a handshake. */
export type HandshakeEvent =
  /** Requests a call of `authenticated`. */
  | { type: "authenticate"; credentials: Credentials }
  /** The peer or the ZAP handler has refused the connection, with this status. */
  | { type: "refused"; status: number }
  /**
   * The peer broke a rule, or speaks the other format only. `reason` is the name of the failure in
   * libzmq's monitor; undefined if it has none. With `waits`, the connection only ends when the time for
   * the handshake is over.
   */
  | {
      type: "failed"
      error: ProtocolError
      reason: HandshakeReason | undefined
      isOtherFormat?: boolean
      waits?: true
    }
  /** The handshake has succeeded. */
  | { type: "ready"; peerRoutingId: Uint8Array }

export interface HandshakeHandlers {
  /** Sends bytes to the peer. */
  send(bytes: Uint8Array): void
  onEvent(event: HandshakeEvent): void
}

const NOTHING = new Uint8Array(0)

/** A security mechanism: the exchange of commands between the greeting and the first message. */
export abstract class Mechanism {
  protected readonly settings: HandshakeSettings
  protected readonly handlers: HandshakeHandlers
  /** The format that both sides use, as the peer announced it; undefined if it announced none. */
  agreed: Announced | undefined
  /** Set when a handshake of CURVE has succeeded. */
  secured: Secured | undefined
  #isOtherFormat = false

  constructor(settings: HandshakeSettings, handlers: HandshakeHandlers) {
    this.settings = settings
    this.handlers = handlers
  }

  abstract start(): void
  /** Handles a command of the peer, or a message frame sent in its place. */
  abstract command(body: Uint8Array, isCommand: boolean): void
  /** Handles the reply of ZAP; undefined if there is no handler. */
  abstract authenticated(status: AuthStatus | undefined): void
  /** Ends the exchange, whether it has succeeded or not, and wipes its secrets. */
  abstract over(): void

  protected authenticate(credentials: Credentials): void {
    this.handlers.onEvent({ type: "authenticate", credentials })
  }

  /** Checks the peer's metadata and returns its routing id; undefined if the handshake has failed. */
  protected readPeer(
    data: Uint8Array,
    reason: HandshakeReason | undefined,
  ): Uint8Array | undefined {
    const peer = this.checkPeer(data)
    if (typeof peer !== "string") return peer
    this.fail(peer, reason)
    return undefined
  }

  /** Checks the peer's metadata and returns its routing id, or what is wrong. */
  protected checkPeer(data: Uint8Array): Uint8Array | string {
    const read = readProperties(data)
    if (!read) return "metadata is not well-formed"
    const { socketType, formats } = this.settings
    const wrong = wrongType(read, socketType)
    if (wrong) return `the peer is ${quoted(wrong)}, which does not go with ${socketType}`
    const announced = readAnnounced(read)
    this.agreed = agreed(formats, announced)
    if (announced[0] && !this.agreed) {
      this.#isOtherFormat = true
      return `the peer speaks ${announced[0].format}+tcp://, and this side ${formats[0]}+tcp:// without acceptPlain`
    }
    // As in libzmq, the last of its identities counts.
    return read.filter(([name]) => isNamed(name, "Identity")).at(-1)?.[1] ?? NOTHING
  }

  protected readError(data: Uint8Array): void {
    const words = errorReason(data)
    if (!words) {
      this.fail("an ERROR is not well-formed", "MALFORMED_COMMAND_ERROR")
      return
    }
    const text = latin1(words)
    if (/^[345]00$/.test(text)) this.handlers.onEvent({ type: "refused", status: Number(text) })
    this.fail(`the peer refused with ${quoted(words)}`, undefined)
  }

  protected metadata(): Uint8Array {
    const { socketType, routingId, formats, revision } = this.settings
    const properties: Property[] = [["Socket-Type", new TextEncoder().encode(socketType)]]
    if (IDENTIFIED.has(socketType)) properties.push(["Identity", routingId])
    properties.push(...formats.map((format) => revisionProperty(format, revision)))
    return writeMetadata(properties)
  }

  protected ready(peerRoutingId: Uint8Array): void {
    this.over()
    this.handlers.onEvent({ type: "ready", peerRoutingId })
  }

  protected refuse(status: AuthStatus): void {
    this.over()
    this.handlers.onEvent({ type: "refused", status })
    // A temporary failure is not sent to the peer. The peer closes the connection, or the handshake
    // times out.
    if (status === 300) return
    const reason = new TextEncoder().encode(String(status))
    this.handlers.send(writeCommand("ERROR", Uint8Array.of(reason.length, ...reason)))
  }

  protected unexpected(name: string | undefined): void {
    this.fail(`the command ${shown(name)} was not expected`, "UNEXPECTED_COMMAND")
  }

  protected fail(what: string, reason: HandshakeReason | undefined): void {
    this.over()
    const error = new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
    this.handlers.onEvent({ type: "failed", error, reason, isOtherFormat: this.#isOtherFormat })
  }
}

/** Shortens a command's name for an error. */
export function shown(name: string | undefined): string {
  return name === undefined ? "without a name" : name.slice(0, 32)
}
