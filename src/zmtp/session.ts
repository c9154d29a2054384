import { FRAMES_MAX } from "../base/limits.js"
import { describeGreeting } from "../codec/describe-greeting.js"
import { ProtocolError } from "../codec/errors.js"
import { COMMAND, checkHead, MORE } from "../codec/frames.js"
import { wipe } from "../curve/curve.js"
import {
  COMMAND_MAX_BYTES,
  commandName,
  commandTooLong,
  HANDSHAKE_COMMAND_MAX_BYTES,
} from "./commands.js"
import { CurveClient } from "./curve-client.js"
import { CurveServer } from "./curve-server.js"
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
import type {
  AuthStatus,
  HandshakeEvent,
  HandshakeHandlers,
  HandshakeSettings,
  Mechanism,
  Secured,
} from "./mechanism.js"
import { NullOrPlain } from "./null-plain.js"
import { type Part, receivedPart } from "./part.js"
import type { HeadCheck } from "./plain-peer-receiver.js"
import type { Announced } from "./revision.js"

/** The consumer of a session's events, messages and commands. */
export interface SessionHandlers extends HandshakeHandlers {
  /** Takes ownership of a message. Returns whether to go on at once. */
  message(parts: Part[]): boolean
  /**
   * Handles a command after the handshake; `data` does not include the name. Returns whether to go on
   * at once.
   */
  command(name: string, data: Buffer): boolean
}

/** A consumer of frames as they arrive, instead of whole messages. */
export type FrameHandlers = Pick<RelaySink, "room" | "frames" | "body">

type State = "greeting" | "handshake" | "traffic" | "over"

/**
 * One side of a ZMTP 3 connection as bytes and events: greeting, handshake, then messages and
 * commands (RFC.md section 3). It does no I/O and has no timers.
 */
export class Session implements RelaySink, HandshakeHandlers {
  readonly #settings: HandshakeSettings
  readonly #handlers: SessionHandlers
  readonly #frames = new FrameReader()
  /** Set if the session passes on frames instead of messages. */
  readonly #frameHandlers: FrameHandlers | undefined
  readonly #relay: FrameRelay | undefined
  #state: State = "greeting"
  /** The bytes received so far of the peer's greeting. */
  #greeting: Uint8Array | undefined = new Uint8Array(GREETING_BYTES)
  #greetingBytes = 0
  #handshake: Mechanism | undefined
  /** The parts received so far of an incomplete message. */
  #parts: Part[] | undefined
  /** Number of frames that may still be read in this call. */
  #framesLeft = 0
  /** Whether the peer takes subscriptions as commands, as ZMTP 3.1 does. */
  peerTakesCommands = false
  /** Whether the peer's greeting is that of libzmq. */
  peerIsLibzmq = false
  /** The format that both sides use, as the peer announced it; undefined if it announced none. */
  agreed: Announced | undefined
  /**
   * What a handshake of CURVE has agreed on. From then on, `receive` takes frames that were opened with
   * it, and what `send` is given has yet to be sealed.
   */
  secured: Secured | undefined
  /** Checks the heads of frames after the handshake if no transcoder has checked them. */
  headCheck: HeadCheck | undefined

  /** @param frames set to take frames instead of messages. */
  constructor(settings: HandshakeSettings, handlers: SessionHandlers, frames?: FrameHandlers) {
    this.#settings = settings
    this.#handlers = handlers
    this.#frameHandlers = frames
    this.#relay = frames && new FrameRelay()
  }

  start(): void {
    const { mechanism, curve } = this.#settings
    this.#handlers.send(writeGreeting(mechanism, curve?.isServer))
  }

  /** Whether the handshake has succeeded. */
  get isReady(): boolean {
    return this.#state === "traffic"
  }

  /** Whether the peer's greeting is complete. */
  get isGreeted(): boolean {
    return this.#state !== "greeting"
  }

  /**
   * Reads bytes of the stream after the greeting. After the handshake, their frame heads have been
   * checked, unless there is a `headCheck`. Returns the position of the rest, which the caller passes
   * again: where the handshake ended, a handler stopped, or so many frames were read that the caller
   * should look at the clock; otherwise the end. After the handshake, the rest has to be decoded first,
   * unless the peer speaks plain tcp://.
   *
   * @throws ProtocolError if the stream breaks a rule.
   */
  receive(bytes: Uint8Array, start = 0): number {
    if (this.#relay && this.isReady) return this.#relay.read(bytes, start, this)
    this.#framesLeft = FRAMES_MAX
    return this.#frames.read(bytes, start, this)
  }

  /** Bytes missing of the body that is being collected after the handshake; 0 if there is none. */
  get missingBytes(): number {
    if (this.secured) return 0
    return (this.#relay ?? this.#frames).missingBytes
  }

  /** Size of the body that is being collected. */
  get bodyBytes(): number {
    return (this.#relay ?? this.#frames).bodyBytes
  }

  /** Returns where the next bytes of that body go, for `landed()`. Call only if some are missing. */
  bodyRoom(): Uint8Array {
    return (this.#relay ?? this.#frames).bodyRoom()
  }

  /** Goes on after decoded bytes were read into that room. */
  landed(bytes: number): void {
    if (this.#relay) {
      this.#relay.landed(bytes, this)
      return
    }
    this.#framesLeft = FRAMES_MAX
    this.#frames.landed(bytes, this)
  }

  /** Wipes the secrets of a handshake that is not over. */
  close(): void {
    this.#handshake?.over()
    this.#handshake = undefined
  }

  get room(): number {
    return (this.#frameHandlers as FrameHandlers).room
  }

  frames(piece: Uint8Array, messages: number, frames: number): boolean {
    return (this.#frameHandlers as FrameHandlers).frames(piece, messages, frames)
  }

  body(flags: number, body: Buffer): boolean {
    return (this.#frameHandlers as FrameHandlers).body(flags, body)
  }

  /** Handles the reply to `authenticate`; undefined if there is no ZAP handler. */
  authenticated(status: AuthStatus | undefined): void {
    this.#handshake?.authenticated(status)
  }

  // -- Frames ----------------------------------------------------------------------

  head(flags: number, bodyBytes: number): void {
    if (this.#state === "traffic") {
      this.headCheck?.head(flags, bodyBytes)
      if (flags & COMMAND && bodyBytes > COMMAND_MAX_BYTES)
        throw commandTooLong(bodyBytes, COMMAND_MAX_BYTES)
      return
    }
    checkHead(flags, bodyBytes)
    if (bodyBytes <= HANDSHAKE_COMMAND_MAX_BYTES) return
    if (flags & COMMAND) throw commandTooLong(bodyBytes, HANDSHAKE_COMMAND_MAX_BYTES)
    throw new ProtocolError(
      "ERR_ZMTP_HANDSHAKE",
      `a message frame of ${bodyBytes} bytes came before the handshake was over`,
    )
  }

  frame(flags: number, body: Buffer): boolean {
    if (this.#state !== "traffic") {
      this.#handshake?.command(body, (flags & COMMAND) !== 0)
      return !this.isReady
    }
    const goesOn = --this.#framesLeft > 0
    if (flags === 0 && this.#parts === undefined) return this.#handlers.message([body]) && goesOn
    if (flags & COMMAND) {
      const name = commandName(body)
      if (name === undefined) return goesOn // libzmq ignores it too
      return this.#handlers.command(name, body.subarray(1 + name.length)) && goesOn
    }
    const parts = this.#parts ?? []
    parts.push(receivedPart(flags, body))
    this.#parts = flags & MORE ? parts : undefined
    return (flags & MORE ? true : this.#handlers.message(parts)) && goesOn
  }

  // -- Handshake -------------------------------------------------------------------

  /**
   * Reads bytes of the peer's greeting, and refuses them as soon as they cannot be one. Returns the
   * number of bytes used.
   *
   * @throws ProtocolError if this is no greeting of ZMTP 3.
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
    const { mechanism, major, minor, isLibzmq } = readGreeting(greeting)
    this.peerIsLibzmq = isLibzmq
    if (mechanism !== this.#settings.mechanism) {
      const detail =
        mechanism === "NULL" || mechanism === "PLAIN" || mechanism === "CURVE"
          ? `asks for ${mechanism}; this side has ${this.#settings.mechanism}`
          : describeGreeting(greeting, "NULL, PLAIN and CURVE")
      const error = new ProtocolError("ERR_ZMTP_GREETING", `the greeting ${detail}`)
      this.onEvent({ type: "failed", error, reason: "MECHANISM_MISMATCH" })
      return
    }
    this.peerTakesCommands = major > 3 || minor > 0
    this.#state = "handshake"
    this.#handshake = mechanismOf(this.#settings, this)
    this.#handshake.start()
  }

  send(frame: Uint8Array): void {
    this.#handlers.send(frame)
  }

  /** Passes on an event of the handshake, which "ready" and "failed" end. */
  onEvent(event: HandshakeEvent): void {
    if (event.type === "ready") {
      // The next reader would take the rest of a frame for the beginning of another.
      if (this.#frames.insideFrame) {
        wipe(this.#handshake?.secured?.key)
        const what = "a frame began before the handshake was over"
        const error = new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
        this.onEvent({ type: "failed", error, reason: "UNEXPECTED_COMMAND" })
        return
      }
      this.#state = "traffic"
      this.agreed = this.#handshake?.agreed
      this.secured = this.#handshake?.secured
      this.#handshake = undefined
    } else if (event.type === "failed") {
      this.#state = "over" // everything received from now on is ignored
      this.#handshake = undefined
    }
    this.#handlers.onEvent(event)
  }
}

function mechanismOf(settings: HandshakeSettings, handlers: HandshakeHandlers): Mechanism {
  if (!settings.curve) return new NullOrPlain(settings, handlers)
  return settings.curve.isServer
    ? new CurveServer(settings, handlers)
    : new CurveClient(settings, handlers)
}
