import { describeGreeting } from "../../codec/describe-greeting.js"
import { CipherError } from "../../curve/cipher.js"
import { commandName } from "../../zmtp/commands.js"
import { isOld } from "../../zmtp/greeting.js"
import { readMetadata } from "../../zmtp/metadata.js"
import { type Announced, agreed, readAnnounced } from "../../zmtp/revision.js"
import type {
  CaptureConnection,
  CaptureError,
  ConnectionEnd,
  EncryptedTraffic,
  Handshake,
  Side,
  Time,
} from "../events.js"
import type { StreamSink, TcpConnection } from "../packets/stream-sink.js"
import { shipmentIn, variousParts } from "../parts.js"
import { isSealed } from "../sealed-bytes.js"
import { other } from "../sides.js"
import { ConnectionMemory } from "./connection-memory.js"
import type { CaptureContext } from "./context.js"
import { Decryption } from "./decryption.js"
import { describeCommand, describeCurve } from "./describe-command.js"
import { Direction, type DirectionHandlers } from "./direction.js"
import type { FrameHandlers } from "./frame-reader.js"
import type { Expectation } from "./frame-search.js"
import { essentialOf, greetingHandshake, withMetadata } from "./handshake.js"
import { EVENT_BYTES, messageBytes } from "./memory.js"
import {
  formatOf,
  isDictionary,
  kindOf,
  MessageDecoder,
  type TransportName,
  transportIn,
} from "./messages.js"
import { type Mutable, newConnection } from "./new-connection.js"
import { passwordRanges, withoutPassword } from "./password.js"
import { Warnings } from "./warnings.js"

/** Errors that are kept until a connection is announced. */
const HELD_MAX = 16

/** Decodes one TCP connection, and emits events if it turns out to be ZMTP. */
export class ZmtpConnection implements StreamSink, DirectionHandlers {
  readonly #context: CaptureContext
  readonly #tcp: TcpConnection
  readonly #directions: Record<Side, Direction>
  readonly #decoders: Record<Side, MessageDecoder>
  readonly #transports: Record<Side, TransportName | undefined>
  /** Sides all of whose parts so far are plain, which are the same in both formats. */
  readonly #unsure = new Set<Side>()
  readonly #ended = new Set<Side>()
  readonly #repeatedSegments: Record<Side, number> = { client: 0, server: 0 }
  #end: ConnectionEnd | undefined
  /** The public object; undefined until the connection looks like ZMTP. */
  #connection: Mutable<CaptureConnection> | undefined
  /** Errors after the first frame was found, until it is whole. */
  #held: CaptureError[] | undefined
  /** Whether a whole greeting or a frame was read. */
  #isKnown = false
  readonly #memory: ConnectionMemory
  readonly #warnings = new Warnings()
  /** Whether the mechanism is neither NULL nor PLAIN. */
  #isEncrypted = false
  /** Set if there are keys. */
  readonly #decryption: Decryption | undefined
  #encrypted: Record<Side, EncryptedTraffic> | undefined
  /** Sides whose messages are not encrypted although the mechanism is CURVE. */
  readonly #clear = new Set<Side>()

  constructor(context: CaptureContext, tcp: TcpConnection) {
    this.#context = context
    this.#tcp = tcp
    const { instanceOf, budgetBytes, memory } = context
    this.#memory = new ConnectionMemory(memory)
    this.#directions = {
      client: new Direction(this, "client", tcp.begun, budgetBytes, memory.unfinished),
      server: new Direction(this, "server", tcp.begun, budgetBytes, memory.unfinished),
    }
    this.#decoders = {
      client: new MessageDecoder(instanceOf, budgetBytes),
      server: new MessageDecoder(instanceOf, budgetBytes),
    }
    this.#transports = { client: undefined, server: undefined }
    if (context.keys)
      this.#decryption = new Decryption(context.keys, this.#opened, budgetBytes, memory.unfinished)
  }

  data(from: Side, bytes: Uint8Array, offset: number, time: Time): boolean {
    this.#directions[from].data(bytes, offset, time)
    if (!this.#directions.client.isForeign || !this.#directions.server.isForeign) return true
    this.#free()
    return false
  }

  gap(from: Side, bytes: number, offset: number, time: Time): void {
    this.#directions[from].gap(bytes, offset, time)
  }

  cut(from: Side, bytes: number, offset: number, time: Time): void {
    const { told } = this.#context
    const isTold = this.isAnnounced
    if (isTold && !told.isCut) {
      told.isCut = true
      const message = `packets were cut when they were recorded, this one by ${bytes} bytes, so messages are lost here and wherever that happened: record whole packets, as tcpdump -s 0 and Wireshark without a limit do`
      this.error({ code: "ERR_CAPTURE_CUT", message, time, from, offset })
    }
    this.#directions[from].gap(bytes, offset, time, isTold)
  }

  repeated(from: Side): void {
    this.#repeatedSegments[from]++
  }

  ending(by: Side, how: "FIN" | "RST"): void {
    this.#end ??= { by, how, inMessage: false }
    if (this.#connection) this.#connection.ended = this.#end
  }

  end(from: Side, time: Time, cut: boolean): void {
    let isComplete = this.#directions[from].end(time, cut)
    const place = this.#decryption?.end(from)
    if (isComplete && place) {
      isComplete = false
      const what = cut ? "the capture" : "the connection"
      const message = `${what} ends ${place}`
      this.error({ code: "ERR_CAPTURE_TRUNCATED", message, time, from, offset: 0 })
    }
    // With `cut` only the recording ends, and the rest may have been sent.
    if (this.#end && !isComplete && !cut) this.#end.inMessage = true
    this.#decoders[from].close()
    this.#ended.add(from)
    if (this.#ended.size < 2) return
    this.#free()
    const connection = this.#connection
    if (connection) this.#context.emit({ type: "close", connection, time })
  }

  /** Frees the memory of the connection. Emits nothing. */
  close(): void {
    this.#decoders.client.close()
    this.#decoders.server.close()
  }

  get isAnnounced(): boolean {
    return this.#connection !== undefined
  }

  // Half a greeting is not enough, because a port scan could fill the memory with them.
  get isKnown(): boolean {
    return this.#isKnown
  }

  get expectation(): Expectation {
    const known = this.#connection
    return { sentinels: !known || !["tcp", undefined].includes(known.transport), messages: !known }
  }

  signature(): void {
    this.#announce()
  }

  // Other protocols have such bytes as well: OpenFlow's, for example, where they seem to begin a large
  // message. So the connection is announced with the first whole frame, and errors wait for it.
  framesFound(): void {
    this.#isKnown = true
    this.#held ??= []
  }

  greeting(from: Side, bytes: Uint8Array, time: Time, offset: number): void {
    this.#isKnown = true
    const connection = this.#announce()
    const handshake = greetingHandshake(bytes)
    this.#emitHandshake(connection, time, from, handshake)
    const { mechanism } = handshake
    if (isOld(bytes)) {
      const message = `the greeting ${describeGreeting(bytes)}`
      this.error({ code: "ERR_ZMTP_GREETING", message, time, from, offset })
      this.#directions.client.stop()
      this.#directions.server.stop()
    } else if (mechanism !== "NULL" && mechanism !== "PLAIN" && !this.#isEncrypted) {
      this.#isEncrypted = true
      if (mechanism === "CURVE") {
        this.#countEncrypted(connection)
        return
      }
      const message = `the greeting ${describeGreeting(bytes)}: its messages cannot be read`
      this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
    }
  }

  command(
    from: Side,
    whole: Uint8Array,
    time: Time,
    offset: number,
    ranges: readonly number[] = [],
  ): void {
    this.#isKnown = true
    const connection = this.#announce()
    const { marks } = this.#context
    if (marks) {
      if (commandName(whole) === "HELLO" && !this.#usesCurve(from))
        marks.secret(passwordRanges(whole, ranges))
      return
    }
    if (!this.#hasRoom(connection, from, time, offset)) return
    this.#context.memory.pending.use(EVENT_BYTES + whole.length)
    const name = commandName(whole)
    if (name === undefined) {
      const message = "a command has no name"
      this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
      return
    }
    let body = whole.subarray(1 + name.length)
    let detail = this.#encrypted ? describeCurve(name, body) : "encrypted"
    let isOpen = !this.#isEncrypted
    if (this.#encrypted && name === "HELLO") this.#decryption?.hello(from, body)
    if (this.#encrypted && (name === "INITIATE" || name === "READY")) {
      const opened = this.#decryption?.metadata(name, body)
      if (opened) [body, isOpen] = [opened, true]
      this.#noteKey(connection)
    }
    // libzmq's greeting does not say who is the server.
    if (this.#encrypted && name === "WELCOME" && connection.handshakes[from])
      connection.handshakes[from] = { ...connection.handshakes[from], asServer: true }
    if (this.#encrypted && name === "MESSAGE") {
      this.#encrypted[from].messages++
      this.#encrypted[from].bytes += whole.length
    }
    // A client may send its password to a server that does not want one.
    if (name === "HELLO" && !this.#usesCurve(from)) body = withoutPassword(body)
    if (isOpen) {
      detail = describeCommand(name, body)
      const metadata = name === "READY" || name === "INITIATE" ? readMetadata(body) : undefined
      const handshake = connection.handshakes[from]
      if (metadata && handshake)
        this.#emitHandshake(
          connection,
          time,
          from,
          this.#bounded(withMetadata(handshake, metadata), from, time, offset),
        )
    }
    this.#context.emit({
      type: "command",
      connection,
      command: { time, from, name, body, detail },
    })
  }

  isAlone(from: Side, body: Uint8Array): boolean {
    return this.#isEncrypted || this.#isCurveFromInside(from, [body])
  }

  message(from: Side, wire: Uint8Array[], ranges: number[], time: Time, hasMore: boolean): void {
    this.#isKnown = true
    const connection = this.#announce()
    if (this.#context.marks) return
    const offset = ranges[0] as number
    if (this.#isCurveFromInside(from, wire)) {
      this.#isEncrypted = true
      this.#countEncrypted(connection)
    } else if (this.#isGuess && !wire.every(isSealed)) {
      // It was not CURVE, but looked like it.
      this.#isEncrypted = false
      this.#encrypted = connection.encrypted = undefined
    }
    if (this.#isEncrypted) {
      // libzmq sends the command MESSAGE without the command flag.
      for (const part of wire)
        if (commandName(part) !== "MESSAGE") this.#reportClear(from, time, offset)
        else if (!this.#open(connection, from, part, hasMore, ranges, time)) {
          this.#mayLackDictionary(
            from,
            "a dictionary may have been in a message that was not opened",
          )
          this.command(from, part, time, offset)
        }
      return
    }
    this.#decode(connection, from, wire, ranges, time)
  }

  /** Opens a MESSAGE command of CURVE. Returns whether there was a key for it. */
  #open(
    connection: Mutable<CaptureConnection>,
    from: Side,
    part: Uint8Array,
    hasMore: boolean,
    ranges: readonly number[],
    time: Time,
  ): boolean {
    try {
      const isOpen = this.#decryption?.message(from, part, hasMore, ranges, time) ?? false
      this.#noteKey(connection)
      return isOpen
    } catch (error) {
      if (!(error instanceof CipherError)) throw error
      const [offset = 0] = ranges
      this.error({ code: "ERR_ZMTP_CURVE", message: error.message, time, from, offset })
      return false
    }
  }

  /** Returns whether a first message shows that this is CURVE, whose handshake is not in the capture. */
  #isCurveFromInside(from: Side, [part, ...others]: readonly Uint8Array[]): boolean {
    if (this.#isEncrypted || this.#tcp.begun || this.#connection?.handshakes[from]) return false
    const isFirst = !this.#transports.client && !this.#transports.server
    return isFirst && others.length === 0 && !!part && isSealed(part)
  }

  /** Whether nothing but the looks of messages says that this is CURVE. */
  get #isGuess(): boolean {
    const { client, server } = this.#connection?.handshakes ?? {}
    return this.#isEncrypted && !client && !server && !this.#decryption?.key
  }

  #countEncrypted(connection: Mutable<CaptureConnection>): void {
    const none = () => ({ messages: 0, bytes: 0 })
    this.#encrypted = connection.encrypted = { client: none(), server: none() }
  }

  #noteKey(connection: Mutable<CaptureConnection>): void {
    connection.curveKey = this.#decryption?.key
  }

  /** Takes what was in the MESSAGE commands of CURVE. */
  readonly #opened: FrameHandlers = {
    command: (from, whole, time, offset) => {
      const connection = this.#announce()
      const name = commandName(whole)
      if (name === undefined || !this.#hasRoom(connection, from, time, offset)) return
      this.#context.memory.pending.use(EVENT_BYTES + whole.length)
      const body = whole.subarray(1 + name.length)
      const command = { time, from, name, body, detail: describeCommand(name, body) }
      this.#context.emit({ type: "command", connection, command })
    },
    commandLost: () => {},
    isAlone: () => false,
    message: (from, wire, ranges, time) => this.#decode(this.#announce(), from, wire, ranges, time),
    error: (error) => this.error(error),
  }

  /** Decodes a message, and emits it. */
  #decode(
    connection: Mutable<CaptureConnection>,
    from: Side,
    wire: Uint8Array[],
    ranges: number[],
    time: Time,
  ): void {
    const [offset = 0] = ranges
    if (!this.#hasRoom(connection, from, time, offset)) return
    const transport = this.#judge(connection, from, wire, time, offset)
    const decoder = this.#decoders[from]
    const traffic = connection.traffic[from]
    if (traffic.messages === 0) this.#warnings.compareTransports(connection, this.#transports)
    if (!this.#mayKeep(wire, from, time, offset)) return
    for (const decoded of decoder.decode(wire, transport, { time, from, offset })) {
      const { wireBytes, plainBytes } = decoded
      // A dictionary is either alone in its message or refused.
      const shipped = shipmentIn(decoded)
      if (shipped) connection.dictionaries[from] = shipped
      else traffic.messages++
      traffic.wireBytes += wireBytes
      traffic.plainBytes += plainBytes
      if (variousParts(decoded).some(({ dictionary }) => dictionary === "missing"))
        this.#warnings.missDictionary(connection, from)
      this.#context.memory.pending.use(messageBytes(decoded))
      // Not copied, because a packed message makes its parts when they are read.
      const message = Object.assign(decoded, { time, from, ranges })
      this.#context.emit({ type: "message", connection, message })
    }
  }

  #mayLackDictionary(from: Side, why: string): void {
    this.#warnings.noteLack(from, why)
    this.#decoders[from].mayLackDictionary = true
  }

  /** Reports once for each side that it sends messages that are not encrypted, as they ought to be. */
  #reportClear(from: Side, time: Time, offset: number): void {
    if (!this.#encrypted || this.#clear.has(from)) return
    this.#clear.add(from)
    const message = "a message is not encrypted, in a connection with CURVE"
    this.error({ code: "ERR_ZMTP_CURVE", message, time, from, offset })
  }

  /** Returns whether there is room for the dictionary that a message may ship. */
  #mayKeep(wire: readonly Uint8Array[], from: Side, time: Time, offset: number): boolean {
    const [part] = wire
    if (!part || this.#transports[from] === "tcp" || !isDictionary(kindOf(part))) return true
    if (this.#memory.takeDictionary(from, part.length)) return true
    const { dictionaries } = this.#context.memory
    const message = `the dictionaries of all connections take more than ${dictionaries.maxBytes} bytes: this one is left out`
    this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
    this.#mayLackDictionary(from, "its dictionary was left out")
    return false
  }

  /** Returns a handshake, without most of its properties if those of all take too much memory. */
  #bounded(handshake: Handshake, from: Side, time: Time, offset: number): Handshake {
    if (this.#memory.takeHandshake(from, handshake)) return handshake
    const { handshakes } = this.#context.memory
    const message = `the handshakes of all connections take more than ${handshakes.maxBytes} bytes: of this one, only the beginning of the socket type and the routing id are kept`
    this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
    return essentialOf(handshake)
  }

  #free(): void {
    this.#memory.giveBack()
    this.#context.ended(this)
  }

  commandLost(ranges: readonly number[]): void {
    this.#context.marks?.secret(ranges)
  }

  skipped(start: number, end: number): void {
    this.#context.marks?.skipped(start, end)
  }

  read(start: number, end: number): void {
    this.#context.marks?.read(start, end)
  }

  /** Returns whether a HELLO of this side has no password, but a key. */
  #usesCurve(from: Side): boolean {
    return this.#connection?.handshakes[from]?.mechanism === "CURVE"
  }

  missed(from: Side): void {
    this.#mayLackDictionary(
      from,
      "a dictionary may have been among the bytes that are missing from the capture",
    )
  }

  error(error: CaptureError): void {
    const connection = this.#connection
    if (!connection) {
      if (this.#held && this.#held.length < HELD_MAX) this.#held.push(error)
      return
    }
    if (!this.#hasRoom(connection, error.from, error.time, error.offset)) return
    this.#context.memory.pending.use(EVENT_BYTES)
    this.#context.emit({ type: "error", connection, error })
  }

  /** Returns whether there is room for an event of the current bytes; if not, counts it as left out. */
  #hasRoom(
    connection: CaptureConnection,
    from: Side | undefined,
    time: Time,
    offset: number,
  ): boolean {
    if (!this.#context.memory.pending.isUsedUp) return true
    this.#context.leaveOut(connection, from, time, offset)
    return false
  }

  #announce(): Mutable<CaptureConnection> {
    if (this.#connection) return this.#connection
    const connection = newConnection(this.#tcp, this.#context.nextId(), this.#repeatedSegments)
    connection.ended = this.#end
    this.#connection = connection
    this.#context.emit({ type: "connection", connection, time: this.#tcp.time })
    this.#directions.client.describeForeign()
    this.#directions.server.describeForeign()
    for (const error of this.#held ?? []) this.error(error)
    this.#held = undefined
    return connection
  }

  #emitHandshake(
    connection: CaptureConnection,
    time: Time,
    from: Side,
    handshake: Handshake,
  ): void {
    connection.handshakes[from] = handshake
    this.#warnings.compareTransports(connection, this.#transports)
    this.#context.emit({ type: "handshake", connection, time, from, handshake })
  }

  /** Detects the transport of a side by its first message or, if that is plain, by a later one. */
  #judge(
    connection: Mutable<CaptureConnection>,
    from: Side,
    wire: Uint8Array[],
    time: Time,
    offset: number,
  ): TransportName {
    const before = this.#transports[from]
    if (before && !this.#unsure.has(from)) return before
    const shown = transportIn(wire)
    if (before && (!shown || shown === "tcp")) return before
    const others = this.#transports[other(from)]
    const theirs = others === "tcp" ? undefined : others
    const transport = shown ?? theirs ?? announcedBy(connection) ?? "lz4+tcp"
    this.#transports[from] = transport
    connection.transport ??= transport
    if (connection.transport === before) connection.transport = transport
    if (others && this.#unsure.has(other(from)) && shown && shown !== "tcp")
      this.#transports[other(from)] = shown
    else if (others && others !== transport) this.#reportMix(from, transport, others, time, offset)
    if (!shown) this.#unsure.add(from)
    else {
      this.#unsure.delete(from)
      if (transport !== "tcp") this.#beginInside(connection, from, transport, time, offset)
    }
    return transport
  }

  #reportMix(
    from: Side,
    transport: TransportName,
    others: TransportName,
    time: Time,
    offset: number,
  ): void {
    const isBare = transport === "tcp" || others === "tcp"
    const bare = transport === "tcp" ? from : other(from)
    const message = isBare
      ? `parts of the ${bare} have no sentinel, while those of the ${other(bare)} do: one side uses tcp:// by mistake, the other ${transport === "tcp" ? others : transport}:// (RFC.md section 2)`
      : `parts of the ${from} are those of ${transport}://, and those of the ${other(from)} of ${others}:// (RFC.md section 13.1)`
    this.error({ code: "ERR_LZ4_UNKNOWN_SENTINEL", message, time, from: bare, offset })
  }

  /** Notes that the beginning of a side may be missing, and with it a dictionary. */
  #beginInside(
    connection: Mutable<CaptureConnection>,
    from: Side,
    transport: TransportName,
    time: Time,
    offset: number,
  ): void {
    // A greeting is the beginning of its direction, wherever the capture began.
    if (connection.begun || connection.handshakes[from]) return
    this.#mayLackDictionary(
      from,
      'a dictionary may have been shipped before the capture began: the option "dictionary" takes it',
    )
    const dictionary = this.#context.dictionary?.(connection, from)
    if (!dictionary) return
    try {
      this.#decoders[from].give(formatOf(transport), dictionary, "given")
      connection.dictionaries[from] = dictionary
    } catch (error) {
      const message = `the given dictionary is not one of ${transport}://: ${(error as Error).message}`
      this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
    }
  }
}

/** Returns the transport on which both sides have agreed, or the one that only one of them announced. */
function announcedBy({ handshakes }: CaptureConnection): TransportName | undefined {
  const [client, server] = [handshakes.client, handshakes.server].map((handshake) =>
    readAnnounced(handshake?.properties ?? []),
  ) as [Announced[], Announced[]]
  const own = client.map(({ format }) => format)
  const found = server.length > 0 && own.length > 0 ? agreed(own, server) : (client[0] ?? server[0])
  return found && `${found.format}+tcp`
}
