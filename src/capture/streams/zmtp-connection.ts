import { describeGreeting } from "../../codec/greeting.js"
import type { Instance } from "../../codec/instance.js"
import { commandName } from "../../zmtp/commands.js"
import { isOld } from "../../zmtp/greeting.js"
import { readMetadata } from "../../zmtp/metadata.js"
import type {
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CapturePart,
  Handshake,
  Side,
  Time,
} from "../events.js"
import type { StreamSink, TcpConnection } from "../packets/stream-sink.js"
import { describeCommand, withoutPassword } from "./describe-command.js"
import { Direction, type DirectionHandlers } from "./direction.js"
import type { Expectation } from "./frame-search.js"
import { greetingHandshake, withMetadata } from "./handshake.js"
import { kindOf, MessageDecoder, shippedIn, type TransportName } from "./messages.js"

/** Settings that all connections of a capture share. */
export interface CaptureContext {
  instance: Instance
  budgetBytes: number
  /** The dictionary for connections whose beginning is not in the capture. */
  dictionary: Uint8Array | undefined
  emit(event: CaptureEvent): void
  /** Returns the number of the next connection. */
  nextId(): number
  /** A connection has ended and freed its memory. */
  ended(connection: ZmtpConnection): void
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

const other = (side: Side): Side => (side === "client" ? "server" : "client")

/** Decodes one TCP connection, and emits events if it turns out to be ZMTP. */
export class ZmtpConnection implements StreamSink, DirectionHandlers {
  readonly #context: CaptureContext
  readonly #tcp: TcpConnection
  readonly #directions: Record<Side, Direction>
  readonly #decoders: Record<Side, MessageDecoder>
  readonly #transports: Record<Side, TransportName | undefined>
  readonly #ended = new Set<Side>()
  /** The public object; undefined until the connection looks like ZMTP. */
  #connection: Mutable<CaptureConnection> | undefined
  /** Whether a whole greeting or a frame was read. */
  #isKnown = false
  /** Whether the mechanism is neither NULL nor PLAIN. */
  #isEncrypted = false

  constructor(context: CaptureContext, tcp: TcpConnection) {
    this.#context = context
    this.#tcp = tcp
    const { instance, budgetBytes } = context
    this.#directions = {
      client: new Direction(this, "client", tcp.begun, budgetBytes),
      server: new Direction(this, "server", tcp.begun, budgetBytes),
    }
    this.#decoders = {
      client: new MessageDecoder(instance, budgetBytes),
      server: new MessageDecoder(instance, budgetBytes),
    }
    this.#transports = { client: undefined, server: undefined }
  }

  data(from: Side, bytes: Uint8Array, offset: number, time: Time): boolean {
    this.#directions[from].data(bytes, offset, time)
    if (!this.#directions.client.isForeign || !this.#directions.server.isForeign) return true
    this.#context.ended(this)
    return false
  }

  gap(from: Side, bytes: number, offset: number, time: Time): void {
    this.#directions[from].gap(bytes, offset, time)
  }

  end(from: Side, time: Time, cut: boolean): void {
    this.#directions[from].end(time, cut)
    this.#decoders[from].close()
    this.#ended.add(from)
    if (this.#ended.size < 2) return
    this.#context.ended(this)
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
    return { sentinels: !known || known.transport === "lz4+tcp", messages: !known }
  }

  signature(): void {
    this.#announce()
  }

  framesFound(): void {
    this.#isKnown = true
    this.#announce()
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
      const why =
        mechanism === "CURVE"
          ? "the connection is encrypted with CURVE"
          : `the greeting ${describeGreeting(bytes)}`
      const message = `${why}: its messages cannot be read`
      this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
    }
  }

  command(from: Side, whole: Uint8Array, time: Time, offset: number): void {
    this.#isKnown = true
    const connection = this.#announce()
    const name = commandName(whole)
    if (name === undefined) {
      const message = "a command has no name"
      this.error({ code: "ERR_CAPTURE_UNREADABLE", message, time, from, offset })
      return
    }
    let body = whole.subarray(1 + name.length)
    let detail = "encrypted"
    if (!this.#isEncrypted) {
      if (name === "HELLO") body = withoutPassword(body)
      detail = describeCommand(name, body)
      const metadata = name === "READY" || name === "INITIATE" ? readMetadata(body) : undefined
      const handshake = connection.handshakes[from]
      if (metadata && handshake)
        this.#emitHandshake(connection, time, from, withMetadata(handshake, metadata))
    }
    this.#context.emit({
      type: "command",
      connection,
      command: { time, from, name, body, detail },
    })
  }

  message(from: Side, wire: Uint8Array[], ranges: number[], time: Time): void {
    this.#isKnown = true
    const connection = this.#announce()
    const offset = ranges[0] as number
    if (this.#isEncrypted) {
      // libzmq sends the command MESSAGE without the command flag.
      for (const part of wire)
        if (commandName(part) !== undefined) this.command(from, part, time, offset)
      return
    }
    this.#transports[from] ??= this.#judge(connection, from, wire, time, offset)
    const transport = this.#transports[from]
    const decoder = this.#decoders[from]
    const traffic = connection.traffic[from]
    for (const decoded of decoder.decode(wire, transport, { time, from, offset })) {
      const { parts, wireBytes, plainBytes, arena } = decoded
      // A dictionary is either alone in its message or refused.
      const shipped = shippedIn(parts[0] as CapturePart)
      if (shipped) connection.dictionaries[from] = shipped
      else traffic.messages++
      traffic.wireBytes += wireBytes
      traffic.plainBytes += plainBytes
      this.#context.emit({
        type: "message",
        connection,
        message: { time, from, parts, wireBytes, plainBytes, arena, ranges },
      })
    }
  }

  missed(from: Side): void {
    this.#decoders[from].hint =
      "; a dictionary may have been among the bytes that are missing from the capture"
  }

  error(error: CaptureError): void {
    const connection = this.#connection
    if (connection) this.#context.emit({ type: "error", connection, error })
  }

  #announce(): Mutable<CaptureConnection> {
    if (this.#connection) return this.#connection
    const none = () => ({ messages: 0, plainBytes: 0, wireBytes: 0 })
    const connection: Mutable<CaptureConnection> = {
      id: this.#context.nextId(),
      client: this.#tcp.client,
      server: this.#tcp.server,
      begun: this.#tcp.begun,
      transport: undefined,
      handshakes: { client: undefined, server: undefined },
      dictionaries: { client: undefined, server: undefined },
      traffic: { client: none(), server: none() },
    }
    this.#connection = connection
    this.#context.emit({ type: "connection", connection, time: this.#tcp.time })
    this.#directions.client.describeForeign()
    this.#directions.server.describeForeign()
    return connection
  }

  #emitHandshake(
    connection: CaptureConnection,
    time: Time,
    from: Side,
    handshake: Handshake,
  ): void {
    connection.handshakes[from] = handshake
    this.#context.emit({ type: "handshake", connection, time, from, handshake })
  }

  /** Detects the transport of a side by its first message. */
  #judge(
    connection: Mutable<CaptureConnection>,
    from: Side,
    wire: Uint8Array[],
    time: Time,
    offset: number,
  ): TransportName {
    const transport = kindOf(wire[0] as Uint8Array) === "none" ? "tcp" : "lz4+tcp"
    connection.transport ??= transport
    const others = this.#transports[other(from)]
    if (others && others !== transport) {
      const bare = transport === "tcp" ? from : other(from)
      const message = `parts of the ${bare} have no sentinel, while those of the ${other(bare)} do: one side uses tcp:// by mistake, the other lz4+tcp:// (RFC.md section 2)`
      this.error({ code: "ERR_LZ4_UNKNOWN_SENTINEL", message, time, from: bare, offset })
    }
    // A greeting is the beginning of its direction, wherever the capture began.
    const { dictionary } = this.#context
    if (transport === "lz4+tcp" && !connection.begun && !connection.handshakes[from]) {
      const decoder = this.#decoders[from]
      decoder.hint =
        '; a dictionary may have been shipped before the capture began: the option "dictionary" takes it'
      if (dictionary) {
        decoder.give(dictionary)
        connection.dictionaries[from] = dictionary
      }
    }
    return transport
  }
}
