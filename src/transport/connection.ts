import type { Socket } from "node:net"
import { clearTimeout, clockMs } from "../base/runtime.js"
import { Chunk } from "../codec/chunk.js"
import { ProtocolError, partDetached } from "../codec/errors.js"
import { FrameHead } from "../codec/frames.js"
import { ARENAS_REVISION, NO_EFFORT } from "../codec/options.js"
import type { Packing } from "../codec/packing.js"
import { writeCommand } from "../zmtp/commands.js"
import type { AuthStatus, HandshakeEvent, HandshakeReason } from "../zmtp/mechanism.js"
import { Session, type SessionHandlers } from "../zmtp/session.js"
import type { Channel, ChannelHandlers } from "./channel.js"
import { ConnectionCipher } from "./connection-cipher.js"
import { ConnectionEncoding } from "./connection-encoding.js"
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

/** Codes of write errors that mean that the peer has gone. What it sent before may still be unread. */
const PEER_HAS_GONE: ReadonlySet<string | undefined> = new Set([
  "EPIPE",
  "ECONNRESET",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
])

/**
 * A TCP connection that speaks lz4+tcp. Received bytes go from the socket through the transcoder
 * and the ZMTP session to the sink. Messages to send were already encoded by the endpoint's sender.
 */
export class Connection implements PeerConnection, ChannelHandlers, SessionHandlers {
  sink: MessageSink | undefined
  #packing: Packing = "parts"
  /** Undefined from the end of the handshake on for a peer that is served as over tcp://. */
  encoding: ConnectionEncoding | undefined
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  readonly #emit: (event: ConnectionEvent<Connection>) => void
  readonly #session: Session
  readonly #reader: SocketReader
  readonly #writer: SocketWriter
  /** Set with CURVE once the handshake is over. */
  #cipher: ConnectionCipher | undefined
  #heartbeat: Heartbeat | undefined
  /** The limit of the handshake, and of the peer's silence after the end. */
  #limit: Deadline | undefined
  #farewell: NodeJS.Timeout | undefined
  #closed = false
  /** The time when bytes last arrived after the handshake. */
  #heardMs = Number.NEGATIVE_INFINITY
  #stage: Ending["stage"] = "handshaking"
  #final = false
  #error: Error | undefined
  #sentMessages = 0
  #sentPlainBytes = 0
  #sentWireBytes = 0

  constructor(
    channel: Channel,
    options: ConnectionOptions,
    onEvent: (event: ConnectionEvent<Connection>) => void,
  ) {
    const { socket } = channel
    const { handshakeMs, handshake, relays } = options
    this.#socket = socket
    this.#options = options
    this.#emit = onEvent
    this.#session = new Session(handshake, this, relays ? this : undefined)
    this.#reader = new SocketReader(socket, this.#session, options, this)
    this.#writer = new SocketWriter(socket)
    this.encoding = new ConnectionEncoding(options, this)
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
    return this.#session.peerRevision
  }

  get scheme(): PeerScheme | undefined {
    if (this.#stage !== "traffic") return undefined
    return this.packing === "frames" ? "tcp" : "lz4+tcp"
  }

  /**
   * How the peer is sent messages. One that announces nothing, and sends arenas, has shown that it reads
   * them (RFC.md section 3.9).
   */
  get packing(): Packing {
    const isUnsure = this.#packing === "parts" && this.peerRevision === undefined
    if (isUnsure && !this.#closed && this.#reader.hasArenas)
      this.#packing = this.#options.sender.packingFor(ARENAS_REVISION)
    return this.#packing
  }

  get effort(): number {
    return this.encoding?.effort ?? NO_EFFORT
  }

  effortChanged(): void {
    this.#emit({ type: "effortChanged", connection: this })
  }

  get counts(): ConnectionCounts {
    return {
      sent: {
        messages: this.#sentMessages,
        plainBytes: this.#sentPlainBytes,
        wireBytes: this.#sentWireBytes,
        dictionary: this.encoding?.shipped !== undefined,
      },
      received: this.#reader.counts,
    }
  }

  // -- Sending ---------------------------------------------------------------------

  get waiting(): Waiting {
    return this.#writer.waiting
  }

  get blocked(): boolean {
    return this.#writer.blocked
  }

  /** Writes a chunk of encoded messages, after the dictionary if the chunk needs it. */
  write(chunk: Chunk): void {
    const { detached } = chunk
    if (this.#closed || detached) {
      if (detached) this.failed(partDetached(detached.length))
      chunk.release()
      return
    }
    const { encoding } = this
    if (encoding && chunk.dictionary) this.#shipOnce(chunk.dictionary, encoding)
    this.#sentMessages += chunk.messages
    this.#sentPlainBytes += chunk.plainBytes
    this.#sentWireBytes += chunk.wireBytes
    const begunAt = encoding?.isMeasured ? clockMs() : 0
    this.#pass(chunk)
    encoding?.wrote(chunk, begunAt, this.#writer.isFull)
  }

  /**
   * Writes bytes, sealed if the connection is encrypted. It ends if that fails, for want of memory or
   * counters: the peer would miss a message.
   */
  #pass(item: Chunk | Uint8Array): void {
    let sealed = item
    try {
      if (this.#cipher) sealed = this.#cipher.seal(item)
    } catch (error) {
      if (item instanceof Chunk) item.release()
      this.failed(error as Error)
      return
    }
    this.#writer.write(sealed)
  }

  /** Sends a dictionary, unless the peer has it. `frame` is the message with it. */
  #shipOnce(frame: Uint8Array, encoding: ConnectionEncoding): void {
    if (encoding.shipped === frame) return
    // The peer would decode the chunk to other bytes.
    if (encoding.shipped) throw new Error("a chunk was encoded for another connection")
    encoding.shipped = frame
    this.send(frame)
    this.#sentWireBytes += frame.length - new FrameHead().read(frame, 0)
  }

  sendCommand(name: string, data: Uint8Array): void {
    this.send(writeCommand(name, data))
  }

  /** Sends a frame that is not part of a message. */
  send(bytes: Uint8Array): void {
    if (this.#closed) return
    this.#pass(bytes)
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
    this.encoding?.drained()
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

  /** A socket is read at the time, and not when the event loop polls. */
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

  /** Stops reading unless the sink wants more now. */
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
      this.#final = true
      this.failed(event.error, event.reason)
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
    const { handshake, sender, settings } = this.#options
    const { secured } = this.#session
    if (handshake.curve && secured) {
      this.#cipher = new ConnectionCipher(handshake.curve, secured, settings.budgetBytes)
      this.#reader.decrypt(this.#cipher)
    }
    if (this.#options.heartbeat.intervalMs > 0)
      this.#heartbeat = new Heartbeat(this, this.#options.heartbeat)
    this.#packing = sender.packingFor(this.peerRevision)
    if (this.#packing === "frames") {
      this.#reader.receivePlain()
      this.encoding?.close()
      this.encoding = undefined
    }
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

  /** The peer was silent for too long. */
  timedOut(): void {
    this.#error ??= zmqError("ETIMEDOUT")
    this.destroy()
  }

  /**
   * Ends the connection of a peer that broke a rule, and then reports it, so that no handler can
   * keep the connection alive. An endpoint that connected to it tries again later.
   */
  reject(error: ProtocolError): void {
    this.failed(error)
  }

  refuse(): void {
    this.#stage = "refused"
    this.#final = true
    this.destroy()
  }

  /** Ends the connection after an error, which is reported if the peer has caused it. */
  failed(error: Error, reason?: HandshakeReason): void {
    if (this.#reader.isDiscarding) return
    this.#error = error
    this.destroy()
    if (error instanceof ProtocolError)
      this.#emit({ type: "failed", connection: this, error, reason })
  }

  /**
   * Goes on reading if the peer has gone, as libzmq does: it may have sent much, and ended before this
   * side noticed. But a program that does not receive before it has sent needs a new connection.
   */
  writeFailed(error: NodeJS.ErrnoException): boolean {
    if (this.#writer.isOver || !PEER_HAS_GONE.has(error.code)) return false
    this.#error ??= error
    this.#writer.failed()
    this.waitToSend()
    return true
  }

  /**
   * The peer closed its sending side, so nobody reads any more. If nothing is left to write, this side
   * ends at once.
   */
  ended(): void {
    if (this.#writer.waiting.bytes === 0) {
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

  /** Waits for the peer to close its side. */
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
    this.#cipher?.close()
    const error = this.#error ?? this.#socket.errored ?? undefined
    const ending = { error, stage: this.#stage, final: this.#final, counts: this.counts }
    this.#reader.close()
    this.#emit({ type: "closed", connection: this, ...ending })
    this.sink = undefined
    this.#writer.flushed()
  }
}
