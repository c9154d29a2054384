import { frameHeadLength, MORE, writeFrameHead } from "../../codec/frames.js"
import { writeCommand } from "../../zmtp/commands.js"
import { GREETING_BYTES, type MechanismName, writeGreeting } from "../../zmtp/greeting.js"
import { isNamed, readProperties, writeMetadata } from "../../zmtp/metadata.js"
import { REVISION_NAMES } from "../../zmtp/revision.js"
import type {
  CaptureCommand,
  CaptureConnection,
  CaptureEvent,
  CaptureMessage,
  Handshake,
  Side,
  Time,
} from "../events.js"
import { shipmentIn } from "../parts.js"
import { sealedBytes } from "../sealed-bytes.js"
import { PackedMessage } from "../streams/packed-message.js"
import { TcpConversation } from "./tcp-conversation.js"

const REVISIONS = Object.values(REVISION_NAMES)
/** Offset of the version in a greeting. */
const VERSION = 10

/** An IP packet. */
export interface PlainPacket {
  time: Time
  bytes: Uint8Array
}

/** Numbers of what was written, and of what was left out. */
export interface PlainCounts {
  connections: number
  messages: number
  commands: number
  packets: number
  leftOut: {
    dictionaries: number
    /** Messages with a part that does not decode. */
    undecodable: number
    /** Connections with a mechanism other than NULL and PLAIN, and no key that opens them. */
    encrypted: number
    /** Connections of ZMTP 1 and 2. */
    old: number
  }
  /** Errors in the recording, where more may be missing. */
  errors: number
}

type HandshakeEvent = Extract<CaptureEvent, { type: "handshake" }>

/** What is known of a connection. */
interface State {
  isLeftOut: boolean
  /** The greetings of a connection with CURVE, as long as there is no key for it. */
  readonly held: HandshakeEvent[]
  /** Undefined until something is written. */
  tcp: TcpConversation | undefined
  /** Whether a side's greeting was written, or the room of one that is missing. */
  readonly greeted: Record<Side, boolean>
  /** The time of its first packet. */
  readonly begun: Time
}

/**
 * Turns the events of a capture into the packets of the same connections with plain ZMTP: without
 * dictionaries, arenas, envelopes and the property that announces them.
 */
export class PlainPackets {
  readonly counts: PlainCounts = {
    connections: 0,
    messages: 0,
    commands: 0,
    packets: 0,
    leftOut: { dictionaries: 0, undecodable: 0, encrypted: 0, old: 0 },
    errors: 0,
  }
  readonly #states = new WeakMap<CaptureConnection, State>();

  /** Returns the packets of an event. */
  *add(event: CaptureEvent): Generator<PlainPacket> {
    const { type, connection } = event
    if (type === "error") {
      this.counts.errors++
      return
    }
    if (type === "connection") {
      const greeted = { client: false, server: false }
      this.#states.set(connection, {
        isLeftOut: false,
        held: [],
        tcp: undefined,
        greeted,
        begun: event.time,
      })
      return
    }
    const state = this.#states.get(connection)
    if (!state || state.isLeftOut) return
    if (connection.encrypted && !connection.curveKey) {
      this.#hold(connection, state, event)
      return
    }
    for (const greeting of state.held.splice(0)) yield* this.#handshake(connection, state, greeting)
    if (type === "handshake") yield* this.#handshake(connection, state, event)
    else if (type === "command") yield* this.#command(connection, state, event.command)
    else if (type === "message") yield* this.#message(connection, state, event.message)
    else if (state.tcp && connection.ended) {
      const { by, how } = connection.ended
      yield* this.#packets(state.tcp.close(by, how), event.time)
    }
  }

  /** Keeps greetings, and leaves the connection out at its first message: there is no key for it. */
  #hold(connection: CaptureConnection, state: State, event: CaptureEvent): void {
    if (event.type === "handshake") state.held.push(event)
    else if (event.type !== "command" || isMessage(connection, event.command)) {
      state.isLeftOut = true
      this.counts.leftOut.encrypted++
    }
  }

  *#handshake(
    connection: CaptureConnection,
    state: State,
    { from, time, handshake: read }: HandshakeEvent,
  ): Generator<PlainPacket> {
    // What was decrypted is written as if it had never been encrypted.
    const handshake: Handshake = connection.curveKey
      ? { ...read, mechanism: "NULL", asServer: false }
      : read
    const reason = leftOutFor(handshake)
    if (reason) {
      state.isLeftOut = true
      this.counts.leftOut[reason]++
    } else if (!state.greeted[from]) {
      // The second event of a side is that of its READY, which is a command as well.
      state.greeted[from] = true
      yield* this.#send(connection, state, from, time, [greetingOf(handshake)])
    }
  }

  *#command(
    connection: CaptureConnection,
    state: State,
    command: CaptureCommand,
  ): Generator<PlainPacket> {
    const { from, time, name, body } = command
    if (isMessage(connection, command)) {
      this.counts.leftOut.undecodable++
      return
    }
    if (connection.curveKey && (name === "HELLO" || name === "WELCOME")) return
    this.counts.commands++
    const hasMetadata = name === "READY" || name === "INITIATE"
    const written = connection.curveKey && hasMetadata ? "READY" : name
    const frame = writeCommand(written, hasMetadata ? withoutRevision(body) : body)
    yield* this.#send(connection, state, from, time, [frame])
  }

  *#message(
    connection: CaptureConnection,
    state: State,
    message: CaptureMessage,
  ): Generator<PlainPacket> {
    const { leftOut } = this.counts
    const { from, time } = message
    if (shipmentIn(message)) {
      leftOut.dictionaries++
      return
    }
    const frames = plainFrames(message)
    if (!frames) {
      leftOut.undecodable++
      return
    }
    this.counts.messages++
    yield* this.#send(connection, state, from, time, frames)
  }

  *#send(
    { client, server, id, begun }: CaptureConnection,
    state: State,
    from: Side,
    time: Time,
    pieces: readonly Uint8Array[],
  ): Generator<PlainPacket> {
    if (!state.tcp) {
      state.tcp = new TcpConversation(client, server, id)
      this.counts.connections++
      if (begun) yield* this.#packets(state.tcp.open(), state.begun)
    }
    // A greeting that the recording does not have is missing here as well.
    if (begun && !state.greeted[from]) {
      state.greeted[from] = true
      state.tcp.skip(from, GREETING_BYTES)
    }
    yield* this.#packets(state.tcp.send(from, pieces), time)
  }

  *#packets(packets: Iterable<Uint8Array>, time: Time): Generator<PlainPacket> {
    for (const bytes of packets) {
      this.counts.packets++
      yield { time, bytes }
    }
  }
}

/** Returns whether a command is a message of CURVE that was not opened. */
const isMessage = (connection: CaptureConnection, command: CaptureCommand): boolean =>
  sealedBytes(connection, command) !== undefined

/** Returns why a connection with this greeting is left out; undefined if it is not. */
function leftOutFor({ version, mechanism }: Handshake): "encrypted" | "old" | undefined {
  if (Number.parseInt(version, 10) < 3) return "old"
  return mechanism === "NULL" || mechanism === "PLAIN" ? undefined : "encrypted"
}

function greetingOf({ version, mechanism, asServer }: Handshake): Uint8Array {
  const greeting = writeGreeting(mechanism as MechanismName, asServer)
  greeting.set(version.split(".").map(Number), VERSION)
  return greeting
}

/** Returns metadata without the properties that announce a format (RFC.md section 3.9). */
function withoutRevision(body: Uint8Array): Uint8Array {
  const properties = readProperties(body) ?? []
  const others = properties.filter(([name]) => !REVISIONS.some((one) => isNamed(name, one)))
  return others.length < properties.length ? writeMetadata(others) : body
}

/** Returns the frames of a message as over plain ZMTP, in pieces; undefined if it does not decode. */
function plainFrames(message: CaptureMessage): Uint8Array[] | undefined {
  const packed = PackedMessage.of(message)
  if (packed) return [packed.frames]
  const { parts } = message
  const bodies = parts.flatMap(({ plain }) => plain ?? [])
  if (bodies.length < parts.length) return undefined
  const last = bodies.length - 1
  return bodies.flatMap((body, i) => [headOf(body, i < last ? MORE : 0), body])
}

function headOf({ length }: Uint8Array, flags: number): Uint8Array {
  const head = new Uint8Array(frameHeadLength(length))
  writeFrameHead(head, 0, flags, length)
  return head
}
