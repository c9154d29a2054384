import type { Socket } from "node:net"
import { clearTimeout, clockMs } from "../base/runtime.js"
import type { Chunk } from "../codec/chunk.js"
import { ProtocolError } from "../codec/errors.js"
import type { FormatName } from "../codec/format.js"
import { NO_EFFORT } from "../codec/no-effort.js"
import { ARENAS_REVISION, type Settings, settingsFor } from "../codec/options.js"
import type { Packing } from "../codec/packing.js"
import type { Sender } from "../codec/sender.js"
import { writeCommand } from "../zmtp/commands.js"
import type { AuthStatus, HandshakeEvent, HandshakeReason } from "../zmtp/mechanism.js"
import { Session, type SessionHandlers } from "../zmtp/session.js"
import type { Channel, ChannelHandlers } from "./channel.js"
import { ConnectionCipher } from "./connection-cipher.js"
import type { ConnectionEncoding } from "./connection-encoding.js"
import { Deadline } from "./deadline.js"
import { destroyLater, QUIET_MS } from "./farewell.js"
import { Heartbeat } from "./heartbeat.js"
import { isRecent } from "./last-poll.js"
import { SocketReader } from "./socket-reader.js"
import { SocketWriter } from "./socket-writer.js"
import type {
  ConnectionCounts,
  ConnectionEvent,
  ConnectionOptions,
  Departure,
  Ending,
  FrameRelaySink,
  MessageSink,
  PeerConnection,
  PeerScheme,
  Waiting,
} from "./transport.js"
import { zmqError } from "./zmq-error.js"

/**
 * A TCP connection that speaks lz4+tcp. Received bytes go through the reader, its transcoder and the
 * ZMTP session to the sink. Messages to send were encoded before, and go through the writer.
 */
export class Connection implements PeerConnection, ChannelHandlers, SessionHandlers {
  sink: MessageSink | undefined
  #packing: Packing = "parts"
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  /** Encodes in the format that both sides use; in the endpoint's own until the handshake is over. */
  #sender: Sender
  readonly #emit: (event: ConnectionEvent<Connection>) => void
  readonly #session: Session
  readonly #reader: SocketReader
  readonly #writer: SocketWriter
  #heartbeat: Heartbeat | undefined
  /** The limit of the handshake, and of the peer's silence after the end. */
  #limit: Deadline | undefined
  #farewell: NodeJS.Timeout | undefined
  #closed = false
  /** The time when bytes last arrived after the handshake. */
  #heardMs = Number.NEGATIVE_INFINITY
  #stage: Ending["stage"] = "handshaking"
  #retries: Ending["retries"] = "soon"
  #error: Error | undefined

  constructor(
    channel: Channel,
    options: ConnectionOptions,
    onEvent: (event: ConnectionEvent<Connection>) => void,
  ) {
    const { socket } = channel
    const { handshakeMs, handshake, relays } = options
    this.#socket = socket
    this.#options = options
    this.#sender = options.sender
    this.#emit = onEvent
    this.#session = new Session(handshake, this, relays ? this : undefined)
    this.#reader = new SocketReader(socket, this.#session, options, this)
    this.#writer = new SocketWriter(socket, options, this)
    channel.handlers = this
    if (handshakeMs > 0) this.#limit = new Deadline(handshakeMs, () => this.timedOut())
    this.#session.start()
    socket.resume()
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort
  }

  get peerTakesCommands(): boolean {
    return this.#session.peerTakesCommands
  }

  get peerIsLibzmq(): boolean {
    return this.#session.peerIsLibzmq
  }

  get peerRevision(): number | undefined {
    return this.#session.agreed?.revision
  }

  get scheme(): PeerScheme | undefined {
    if (this.#stage !== "traffic") return undefined
    return this.packing === "frames" ? "tcp" : `${this.#format}+tcp`
  }

  get #format(): FormatName {
    return this.#session.agreed?.format ?? this.#options.settings.format
  }

  /** A peer that announces nothing, and sends arenas, reads them as well (RFC.md section 3.9). */
  get packing(): Packing {
    const isUnsure = this.#packing === "parts" && this.peerRevision === undefined
    if (isUnsure && !this.#closed && this.#reader.hasArenas)
      this.#packing = this.#sender.packingFor(ARENAS_REVISION)
    return this.#packing
  }

  get encoding(): ConnectionEncoding | undefined {
    return this.#writer.encoding
  }

  get effort(): number {
    return this.encoding?.effort ?? NO_EFFORT
  }

  effortChanged(): void {
    this.#emit({ type: "effortChanged", connection: this })
  }

  get counts(): ConnectionCounts {
    return { sent: this.#writer.counts, received: this.#reader.counts }
  }

  // -- Sending ---------------------------------------------------------------------

  get waiting(): Waiting {
    return this.#writer.waiting
  }

  get blocked(): boolean {
    return this.#writer.blocked
  }

  write(chunk: Chunk): void {
    this.#writer.write(chunk)
  }

  sendCommand(name: string, data: Uint8Array): void {
    this.send(writeCommand(name, data))
  }

  send(frame: Uint8Array): void {
    this.#writer.send(frame)
  }

  waitToSend(): void {
    if (this.#writer.hasFailed && this.#reader.isWaiting && this.sink?.waitsToSend)
      this.#writer.destroy()
  }

  get untakenBytes(): number {
    return this.#writer.untakenBytes
  }

  flush(done: () => void): void {
    this.#writer.flush(done)
  }

  get hasPeerEnded(): boolean {
    return this.#writer.hasPeerEnded
  }

  depart(departure: Departure): boolean {
    return this.#writer.depart(departure)
  }

  drained(): void {
    this.#writer.drained()
    if (this.#writer.isOver) return
    this.#heartbeat?.drained()
    if (!this.blocked) this.sink?.drained()
  }

  // -- Receiving -------------------------------------------------------------------

  data(chunk: Uint8Array): void {
    this.#heard()
    this.#reader.read(chunk)
  }

  #heard(): void {
    if (this.#stage === "traffic") this.#heardMs = clockMs()
    this.#heartbeat?.heard()
  }

  isUpToDate(nowMs: number): boolean {
    return isRecent(this.#heardMs, nowMs)
  }

  landing(): Uint8Array | undefined {
    return this.#reader.landing()
  }

  landed(bytes: number): void {
    this.#heard()
    this.#reader.landed(bytes)
  }

  message(parts: Buffer[]): boolean {
    return this.#reader.isDiscarding || this.#stopUnless((this.sink as MessageSink).message(parts))
  }

  #stopUnless(wantsMore: boolean): boolean {
    if (!wantsMore) this.#reader.stop()
    return wantsMore
  }

  get room(): number {
    return (this.sink as FrameRelaySink).room
  }

  frames(piece: Uint8Array, messages: number, frames: number): boolean {
    const sink = this.sink as FrameRelaySink
    return this.#reader.isDiscarding || this.#stopUnless(sink.frames(piece, messages, frames))
  }

  body(flags: number, body: Buffer): boolean {
    const sink = this.sink as FrameRelaySink
    return this.#reader.isDiscarding || this.#stopUnless(sink.body(flags, body))
  }

  command(name: string, data: Buffer): boolean {
    if (this.#reader.isDiscarding || name === "PONG") return true
    if (name === "PING") {
      this.#heartbeat ??= new Heartbeat(this, this.#options.heartbeat)
      this.#heartbeat.answer(data)
      return true
    }
    return this.#stopUnless((this.sink as MessageSink).command(name, data))
  }

  paused(): void {
    this.waitToSend()
  }

  get isBehind(): boolean {
    return this.sink?.isBehind ?? false
  }

  get keepsForms(): boolean {
    return this.sink?.keepsForms ?? false
  }

  stop(): void {
    this.#reader.hold()
  }

  resume(): void {
    this.#reader.resume()
  }

  // -- Handshake -------------------------------------------------------------------

  authenticated(status: AuthStatus | undefined): void {
    if (this.#closed || this.#reader.isDiscarding) return
    try {
      this.#session.authenticated(status)
    } catch (error) {
      this.failed(error as Error) // there is no memory to encrypt
    }
  }

  onEvent(event: HandshakeEvent): void {
    if (event.type === "failed" && !event.waits) {
      this.#stage = "refused"
      this.#retries = event.isOtherFormat ? "later" : "never"
      this.failed(event.error, event.reason, event.isOtherFormat)
      return
    }
    if (event.type === "refused") this.#stage = "refused"
    else if (event.type === "ready") this.#ready()
    this.#emit({ ...event, connection: this })
  }

  #ready(): void {
    this.#limit?.clear()
    this.#limit = undefined
    this.#stage = "traffic"
    const { handshake, settings } = this.#options
    if (this.#format !== settings.format) this.#changeFormat(settingsFor(settings, this.#format))
    const { secured } = this.#session
    if (handshake.curve && secured) {
      const cipher = new ConnectionCipher(handshake.curve, secured, settings.budgetBytes)
      this.#writer.encrypt(cipher)
      this.#reader.decrypt(cipher)
    }
    if (this.#options.heartbeat.intervalMs > 0)
      this.#heartbeat = new Heartbeat(this, this.#options.heartbeat)
    this.#packing = this.#sender.packingFor(this.peerRevision)
    if (this.#packing === "frames") {
      this.#reader.receivePlain()
      this.#writer.sendPlain()
    }
  }

  #changeFormat(settings: Settings): void {
    this.#sender = this.#sender.for(settings.format)
    this.#reader.receiveAs(settings)
    this.#writer.encodeWith(this.#sender, settings)
  }

  // -- End -------------------------------------------------------------------------

  end(): void {
    if (this.#closed) return
    this.#reader.discard()
    this.sink = undefined
    this.#heartbeat?.stop()
    this.#socket.resume()
    this.#writer.end()
  }

  destroy(): void {
    this.#reader.discard()
    this.#writer.destroy()
  }

  timedOut(): void {
    this.#error ??= zmqError("ETIMEDOUT")
    this.destroy()
  }

  reject(error: ProtocolError): void {
    if (!this.#reader.isDiscarding) this.#retries = "later"
    this.failed(error)
  }

  refuse(): void {
    this.#stage = "refused"
    this.#retries = "never"
    this.destroy()
  }

  /**
   * Ends the connection after an error. One that the peer has caused is reported afterwards, so that no
   * handler can keep the connection alive.
   */
  failed(error: Error, reason?: HandshakeReason, isOtherFormat = false): void {
    if (this.#reader.isDiscarding) return
    this.#error = error
    this.destroy()
    if (error instanceof ProtocolError)
      this.#emit({ type: "failed", connection: this, error, reason, isOtherFormat })
  }

  /**
   * Goes on reading if the peer has gone, as libzmq does: it may have sent much, and ended before this
   * side noticed. But a program that does not receive before it has sent needs a new connection.
   */
  writeFailed(error: NodeJS.ErrnoException): boolean {
    if (!this.#writer.failed(error)) return false
    this.#error ??= error
    this.waitToSend()
    return true
  }

  /**
   * The peer closed its sending side, so nobody reads any more. This side ends at once, or else it would
   * be sent messages that nobody gets. If it is ending itself, it first writes what is left.
   */
  ended(): void {
    if (!this.#reader.isDiscarding || this.#writer.waiting.bytes === 0) {
      this.#writer.destroy()
      return
    }
    this.#writer.end()
    this.#awaitFarewell()
  }

  finished(): void {
    this.#awaitFarewell()
    if (!this.#reader.isDiscarding) return
    this.#emit({ type: "sent", connection: this, isQuiet: false })
    this.#awaitQuiet()
  }

  #awaitFarewell(): void {
    this.#writer.flushed()
    this.#limit?.clear()
    clearTimeout(this.#farewell)
    this.#farewell = destroyLater(this.#socket)
  }

  /** Waits until the peer has sent nothing for a while. */
  #awaitQuiet(): void {
    const leftMs = () => Math.max(0, this.#heardMs + QUIET_MS - clockMs())
    this.#limit = new Deadline(leftMs(), () => {
      if (leftMs() > 0) this.#awaitQuiet()
      else this.#emit({ type: "sent", connection: this, isQuiet: true })
    })
  }

  closed(): void {
    this.#limit?.clear()
    clearTimeout(this.#farewell)
    this.#closed = true
    this.#writer.closed()
    this.#reader.readRest()
    this.#heartbeat?.stop() // readRest() may have started it, with a PING
    this.encoding?.close()
    this.#session.close()
    const error = this.#error ?? this.#socket.errored ?? undefined
    const ending = { error, stage: this.#stage, retries: this.#retries, counts: this.counts }
    this.#reader.close()
    this.#emit({ type: "closed", connection: this, ...ending })
    this.sink = undefined
    this.#writer.flushed()
  }
}
