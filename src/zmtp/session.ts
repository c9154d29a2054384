import { ProtocolError } from "../codec/errors.js"
import { COMMAND, MORE } from "../codec/frames.js"
import { describeGreeting } from "../codec/greeting.js"
import { COMMAND_MAX_BYTES, commandName, HANDSHAKE_COMMAND_MAX_BYTES } from "./commands.js"
import { FrameReader } from "./frame-reader.js"
import { FrameRelay, type RelaySink } from "./frame-relay.js"
import {
  GREETING_BYTES,
  isOld,
  mayGreet,
  readGreeting,
  SIGNATURE_BYTES,
  writeGreeting,
} from "./greeting.js"
import {
  type AuthStatus,
  type Credentials,
  Handshake,
  type HandshakeFailure,
  type HandshakeSettings,
  type HandshakeSink,
} from "./handshake.js"
import type { HeadCheck } from "./plain-receiver.js"

/** Parts of one message, at most (RFC.md section 7): each takes more memory than its bytes. */
export const PARTS_MAX = 65_536

/** Events of a session. */
export interface SessionHandlers {
  /** Bytes for the peer: the greeting and commands. */
  send(bytes: Uint8Array): void
  /** Asks for `session.authenticated` to be called. */
  authenticate(credentials: Credentials): void
  refused(status: number): void
  failed(failure: HandshakeFailure): void
  /** The handshake is over; messages follow. Returns whether to go on at once. */
  ready(peerRoutingId: Buffer): boolean
  /** A message, which is the caller's. Returns whether to go on at once. */
  message(parts: Buffer[]): boolean
  /** A command after the handshake, without its name. Returns whether to go on at once. */
  command(name: string, data: Buffer): boolean
}

/** A consumer of frames as they come, in place of messages. */
export type FrameHandlers = Pick<RelaySink, "room" | "frames">

type State = "greeting" | "handshake" | "traffic" | "over"

/**
 * This side of a ZMTP 3 connection as bytes and events: greeting, handshake, then messages and
 * commands (RFC.md section 3). It does no I/O and has no timers.
 */
export class Session implements RelaySink, HandshakeSink {
  readonly #settings: HandshakeSettings
  readonly #handlers: SessionHandlers
  readonly #frames = new FrameReader()
  /** Of a session that passes on frames rather than messages. */
  readonly #frameHandlers: FrameHandlers | undefined
  readonly #relay: FrameRelay | undefined
  #state: State = "greeting"
  /** The peer's greeting, as far as it came. */
  #greeting: Uint8Array | undefined = new Uint8Array(GREETING_BYTES)
  #greetingBytes = 0
  #handshake: Handshake | undefined
  /** Whether messages are wanted that come with the end of the handshake. */
  #goesOn = true
  /** The parts of a message of which more are to come. */
  #parts: Buffer[] | undefined
  /** Whether the peer takes subscriptions as commands, which ZMTP 3.1 brought. */
  peerTakesCommands = false
  /** The revision of the format that the peer announced; undefined if it announced none. */
  peerRevision: number | undefined
  /** Checks heads, where nobody has done so before. */
  headCheck: HeadCheck | undefined

  /** @param frames takes what messages would be made of. */
  constructor(settings: HandshakeSettings, handlers: SessionHandlers, frames?: FrameHandlers) {
    this.#settings = settings
    this.#handlers = handlers
    this.#frameHandlers = frames
    this.#relay = frames && new FrameRelay()
  }

  start(): void {
    this.#handlers.send(writeGreeting(this.#settings.mechanism))
  }

  /** Whether the handshake is over, and succeeded. */
  get isReady(): boolean {
    return this.#state === "traffic"
  }

  /** Whether a peer's greeting has come as a whole. */
  get isGreeted(): boolean {
    return this.#state !== "greeting"
  }

  /**
   * Takes bytes of the stream behind the greeting, whose frame heads have been checked, unless there
   * is a `headCheck`. Returns where a handler wanted no more, or their end; the rest is to be passed again.
   *
   * @throws ProtocolError when the stream breaks a rule.
   */
  receive(bytes: Uint8Array, start = 0, copied = false): number {
    const relay = this.#relay
    if (!relay) return this.#frames.read(bytes, start, this, copied)
    this.#goesOn = true
    const from = this.isReady ? start : this.#frames.read(bytes, start, this)
    return this.isReady && this.#goesOn ? relay.read(bytes, from, this) : from
  }

  get room(): number {
    return (this.#frameHandlers as FrameHandlers).room
  }

  frames(piece: Uint8Array, messages: number): boolean {
    return (this.#frameHandlers as FrameHandlers).frames(piece, messages)
  }

  /** The answer to `authenticate`; undefined where there is no handler of ZAP. */
  authenticated(status: AuthStatus | undefined): void {
    this.#handshake?.authenticated(status)
  }

  // -- Frames ----------------------------------------------------------------------

  head(flags: number, bodyBytes: number): void {
    this.headCheck?.head(flags, bodyBytes)
    if (this.#state === "traffic") {
      if (flags & COMMAND && bodyBytes > COMMAND_MAX_BYTES)
        throw tooLong(bodyBytes, COMMAND_MAX_BYTES)
      if ((this.#relay?.parts ?? this.#parts?.length ?? 0) >= PARTS_MAX)
        throw new ProtocolError(
          "ERR_ZMTP_PARTS",
          `a message has over ${PARTS_MAX} parts, which is the maximum`,
        )
    } else if (bodyBytes > HANDSHAKE_COMMAND_MAX_BYTES) {
      throw tooLong(bodyBytes, HANDSHAKE_COMMAND_MAX_BYTES)
    }
  }

  frame(flags: number, body: Buffer): boolean {
    if (this.#state !== "traffic") {
      this.#handshake?.command(body, (flags & COMMAND) !== 0)
      return !this.isReady || (this.#goesOn && !this.#relay)
    }
    if (flags === 0 && this.#parts === undefined) return this.#handlers.message([body])
    if (flags & COMMAND) {
      const name = commandName(body)
      if (name === undefined) return true // libzmq passes over it as well
      return this.#handlers.command(name, body.subarray(1 + name.length))
    }
    const parts = this.#parts ?? []
    parts.push(body)
    this.#parts = flags & MORE ? parts : undefined
    return flags & MORE ? true : this.#handlers.message(parts)
  }

  // -- Handshake -------------------------------------------------------------------

  /**
   * Takes bytes of the peer's greeting, which are refused as soon as they cannot be of one. Returns
   * how many were used.
   *
   * @throws ProtocolError for what is no greeting of ZMTP 3.
   */
  greet(bytes: Uint8Array): number {
    const greeting = this.#greeting as Uint8Array
    const taken = Math.min(GREETING_BYTES - this.#greetingBytes, bytes.length)
    greeting.set(bytes.subarray(0, taken), this.#greetingBytes)
    this.#greetingBytes += taken
    const seen = greeting.subarray(0, this.#greetingBytes)
    if (!mayGreet(seen) || (seen.length > SIGNATURE_BYTES && isOld(seen)))
      throw new ProtocolError("ERR_ZMTP_GREETING", `the greeting ${describeGreeting(seen)}`)
    if (seen.length === GREETING_BYTES) this.#greeted(greeting)
    return taken
  }

  #greeted(greeting: Uint8Array): void {
    this.#greeting = undefined
    const { mechanism, major, minor } = readGreeting(greeting)
    if (mechanism !== this.#settings.mechanism) {
      const detail =
        mechanism === "NULL" || mechanism === "PLAIN"
          ? `asks for ${mechanism}; this side has ${this.#settings.mechanism}`
          : describeGreeting(greeting)
      const error = new ProtocolError("ERR_ZMTP_GREETING", `the greeting ${detail}`)
      this.fail({ error, reason: "MECHANISM_MISMATCH" })
      return
    }
    this.peerTakesCommands = major > 3 || minor > 0
    this.#state = "handshake"
    this.#handshake = new Handshake(this.#settings, this)
    this.#handshake.start()
  }

  sendCommand(frame: Uint8Array): void {
    this.#handlers.send(frame)
  }

  authenticate(credentials: Credentials): void {
    this.#handlers.authenticate(credentials)
  }

  refused(status: number): void {
    this.#handlers.refused(status)
  }

  fail(failure: HandshakeFailure): void {
    this.#end()
    this.#handlers.failed(failure)
  }

  /** Ignores everything received from now on. */
  #end(): void {
    this.#state = "over"
    this.#handshake = undefined
  }

  ready(peerRoutingId: Uint8Array): void {
    this.#state = "traffic"
    this.peerRevision = this.#handshake?.peerRevision
    this.#handshake = undefined
    this.#goesOn = this.#handlers.ready(Buffer.from(peerRoutingId))
  }
}

function tooLong(bytes: number, max: number): ProtocolError {
  return new ProtocolError(
    "ERR_ZMTP_COMMAND",
    `a command of ${bytes} bytes; at most ${max} are allowed`,
  )
}
