import type { Socket } from "node:net"
import type { Chunk } from "../codec/chunk.js"
import type { Traffic } from "../codec/codec.js"
import { ProtocolError } from "../codec/errors.js"
import { FrameHead } from "../codec/frames.js"
import { receivingInstance } from "../codec/module.js"
import { NO_EFFORT, type Settings } from "../codec/options.js"
import { Transcoder, type TranscoderSink } from "../codec/transcoder.js"
import { writeCommand } from "../zmtp/commands.js"
import type { AuthStatus, HandshakeEvent, HandshakeReason } from "../zmtp/handshake.js"
import { PlainReceiver } from "../zmtp/plain-receiver.js"
import { Session, type SessionHandlers } from "../zmtp/session.js"
import type { Channel, ChannelHandlers } from "./channel.js"
import { ConnectionEncoding } from "./connection-encoding.js"
import { destroyLater } from "./farewell.js"
import { Heartbeat } from "./heartbeat.js"
import { mayReadNow, type Readable, readNow, readSoon } from "./read-turns.js"
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

/** Plaintext in bytes that a connection decodes before the next connection in line gets its slice. */
const SLICE_BYTES = 2 << 20

const NO_BYTES = new Uint8Array(0)

/** A decoder of received bytes into plain frames. */
type Receiver = Pick<
  Transcoder,
  "transcode" | "keep" | "resume" | "count" | "hasDictionary" | "close"
>

/** A reused target for counting. */
const counted: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }

/**
 * A TCP connection that speaks lz4+tcp. Received bytes go from the socket through the transcoder
 * and the ZMTP session to the sink. Messages to send were already encoded by the endpoint's sender.
 */
export class Connection
  implements PeerConnection, ChannelHandlers, TranscoderSink, SessionHandlers, Readable
{
  sink: MessageSink | undefined
  /** Undefined while the peer is served as over tcp://, as far as is known yet. */
  encoding: ConnectionEncoding | undefined
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  readonly #emit: (event: ConnectionEvent<Connection>) => void
  readonly #session: Session
  readonly #writer: SocketWriter
  #receiving: Receiver
  #heartbeat: Heartbeat | undefined
  /** The timer of the handshake, later of the farewell. */
  #timer: NodeJS.Timeout | undefined
  /** Decoded plain frames that the sink had no room for. */
  #kept: Uint8Array | undefined
  /** Whether the sink has no room for more. */
  #stopped = false
  /** Whether the sink was full before this connection received anything. */
  #isHeld = false
  /** Received bytes to decode in this call. */
  #chunk: Uint8Array = NO_BYTES
  /** Bytes decoded in the current slice. */
  #sliceBytes = 0
  /** Whether the connection is in line to decode. */
  #isInLine = false
  /** Whether received bytes are discarded. */
  #discarding = false
  #closed = false
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
    const { settings, handshakeMs, handshake, relays, acceptsPlain } = options
    this.#socket = channel.socket
    this.#writer = new SocketWriter(channel.socket)
    this.#options = options
    this.#emit = onEvent
    this.#session = new Session(handshake, this, relays ? this : undefined)
    if (acceptsPlain) {
      const receiver = new PlainReceiver(settings.budgetBytes)
      this.#receiving = receiver
      this.#session.headCheck = receiver
    } else {
      this.#receiving = openTranscoder(settings)
      this.encoding = new ConnectionEncoding(options, this)
    }
    channel.handlers = this
    if (handshakeMs > 0) this.#timer = setTimeout(outOfTime, handshakeMs, this).unref()
    this.#session.start()
    this.#socket.resume()
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

  get peerRevision(): number | undefined {
    return this.#session.peerRevision
  }

  get scheme(): PeerScheme | undefined {
    if (this.#stage !== "traffic") return undefined
    return this.encoding ? "lz4+tcp" : "tcp"
  }

  get effort(): number {
    return this.encoding?.effort ?? NO_EFFORT
  }

  effortChanged(): void {
    this.#emit({ type: "effortChanged", connection: this })
  }

  get counts(): ConnectionCounts {
    this.#receiving.count(counted)
    return {
      sent: {
        messages: this.#sentMessages,
        plainBytes: this.#sentPlainBytes,
        wireBytes: this.#sentWireBytes,
        dictionary: this.encoding?.dictionarySent ?? false,
      },
      received: {
        ...counted,
        dictionary: this.#receiving.hasDictionary,
      },
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
    if (this.#closed) {
      chunk.release()
      return
    }
    const { encoding } = this
    if (encoding) {
      if (chunk.needsDictionary && !encoding.dictionarySent) this.#sendDictionary()
      if (chunk.needsDictionary || chunk.shipsDictionary) encoding.dictionarySent = true
    }
    this.#sentMessages += chunk.messages
    this.#sentPlainBytes += chunk.plainBytes
    this.#sentWireBytes += chunk.wireBytes
    const begunAt = performance.now()
    this.#writer.write(chunk)
    encoding?.wrote(chunk, begunAt, this.#writer.isFull)
  }

  #sendDictionary(): void {
    const frame = this.#options.sender.dictionaryFrame
    this.send(frame)
    this.#sentWireBytes += frame.length - new FrameHead().read(frame, 0)
  }

  sendCommand(name: string, data: Uint8Array): void {
    this.send(writeCommand(name, data))
  }

  /** Sends a frame that is not part of a message. */
  send(bytes: Uint8Array): void {
    if (!this.#writer.isOver) this.#writer.write(bytes)
  }

  get untakenBytes(): number {
    return this.#writer.untakenBytes
  }

  flush(done: () => void): void {
    this.#writer.flush(done)
  }

  depart(departure: Departure): boolean {
    return this.#writer.depart(departure)
  }

  end(): void {
    if (this.#closed) return
    this.#stopListening()
    this.#writer.end()
  }

  destroy(): void {
    this.#discarding = true
    this.#writer.destroy()
  }

  stop(): void {
    this.#stopped = true
    this.#isHeld = true
  }

  resume(): void {
    if (!this.#stopped || this.#closed) return
    this.#stopped = false
    this.#isHeld = false
    this.#getInLine()
  }

  #getInLine(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    readSoon(this)
  }

  // -- Receiving -------------------------------------------------------------------

  data(chunk: Uint8Array): void {
    if (this.#discarding) return
    this.#heartbeat?.heard()
    let frames = this.#session.isGreeted ? chunk : this.#greet(chunk)
    if (this.#options.acceptsPlain && !this.#session.isReady) frames = this.#shakeHands(frames)
    if (this.#discarding || frames.length === 0) return
    if (this.#stopped || this.#isInLine || !mayReadNow()) {
      this.#receiving.keep(frames)
      if (!this.#stopped) this.#getInLine()
    } else {
      this.#chunk = frames
      readNow(this)
    }
    if (this.#stopped || this.#isInLine) this.#socket.pause()
  }

  /** Reads the greeting. Returns the bytes after it. */
  #greet(chunk: Uint8Array): Uint8Array {
    try {
      return chunk.subarray(this.#session.greet(chunk))
    } catch (error) {
      this.#fail(error as Error)
      return NO_BYTES
    }
  }

  /** Reads the handshake, which shows whether the peer is a plain one. Returns the bytes after it. */
  #shakeHands(frames: Uint8Array): Uint8Array {
    if (this.#discarding || frames.length === 0) return NO_BYTES
    try {
      return frames.subarray(this.#session.receive(frames))
    } catch (error) {
      this.#fail(error as Error)
      return NO_BYTES
    }
  }

  readSlice(): boolean {
    this.#isInLine = false
    if (this.#discarding || this.#closed) return false
    this.#sliceBytes = 0
    const chunk = this.#chunk
    this.#chunk = NO_BYTES
    try {
      this.#takeKept()
      if (this.#stopped) return false
      this.#receiving.transcode(chunk, this)
    } catch (error) {
      this.#fail(error as Error)
      return false
    }
    if (this.#discarding || this.#stopped) return false
    if (this.#sliceBytes >= SLICE_BYTES) {
      this.#isInLine = true
      return true
    }
    if (this.#socket.isPaused()) this.#socket.resume()
    return false
  }

  #takeKept(): void {
    const kept = this.#kept
    if (!kept) return
    const used = this.#session.receive(kept)
    this.#kept = used < kept.length ? kept.subarray(used) : undefined
  }

  /** Passes on everything that was decoded, even if the sink is full. */
  #takeAllKept(): void {
    while (this.#kept) this.#takeKept()
  }

  take(piece: Uint8Array, copied: boolean): boolean {
    if (this.#discarding) return true
    this.#sliceBytes += piece.length
    const used = this.#session.receive(piece, 0, copied)
    if (used < piece.length) {
      const rest = piece.subarray(used)
      this.#kept = copied ? rest : new Uint8Array(rest)
    }
    return !this.#stopped && this.#sliceBytes < SLICE_BYTES
  }

  message(parts: Buffer[]): boolean {
    if (this.#discarding) return true
    if ((this.sink as MessageSink).message(parts)) return true
    this.#stopped = true
    return false
  }

  get room(): number {
    return (this.sink as FrameRelaySink).room
  }

  frames(piece: Uint8Array, messages: number): boolean {
    if (this.#discarding || (this.sink as FrameRelaySink).frames(piece, messages)) return true
    this.#stopped = true
    return false
  }

  command(name: string, data: Buffer): boolean {
    if (this.#discarding || name === "PONG") return true
    if (name === "PING") {
      this.#heartbeat ??= new Heartbeat(this, this.#options.heartbeat)
      this.#heartbeat.answer(data)
      return true
    }
    if ((this.sink as MessageSink).command(name, data)) return true
    this.#stopped = true
    return false
  }

  drained(): void {
    this.#writer.drained()
    if (this.#writer.isOver) return
    this.encoding?.drained()
    this.#heartbeat?.drained()
    if (!this.blocked) this.sink?.drained()
  }

  // -- Handshake -------------------------------------------------------------------

  authenticated(status: AuthStatus | undefined): void {
    if (!this.#closed && !this.#discarding) this.#session.authenticated(status)
  }

  onEvent(event: HandshakeEvent): void {
    if (event.type === "failed") {
      this.#stage = "refused"
      this.#final = true
      this.#fail(event.error, event.reason)
      return
    }
    if (event.type === "refused") this.#stage = "refused"
    else if (event.type === "ready") this.#ready()
    this.#emit({ ...event, connection: this })
  }

  #ready(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stage = "traffic"
    if (this.#options.heartbeat.intervalMs > 0)
      this.#heartbeat = new Heartbeat(this, this.#options.heartbeat)
    const { acceptsPlain, settings } = this.#options
    if (acceptsPlain && this.peerRevision !== undefined) {
      this.#session.headCheck = undefined
      this.#receiving = openTranscoder(settings)
      this.encoding = new ConnectionEncoding(this.#options, this)
    }
  }

  get goesOn(): boolean {
    // With `acceptsPlain`, the bytes after the handshake have not been received yet.
    return !this.#stopped && !this.#options.acceptsPlain
  }

  // -- End -------------------------------------------------------------------------

  /** The peer was silent for too long. */
  timedOut(): void {
    this.#error ??= zmqError("ETIMEDOUT")
    this.destroy()
  }

  /**
   * Ends the connection of a peer that broke a rule, and then reports it, so that no handler can
   * keep the connection alive. Another attempt would fail in the same way.
   */
  reject(error: ProtocolError): void {
    this.#final = true
    this.#fail(error)
  }

  refuse(): void {
    this.#stage = "refused"
    this.destroy()
  }

  #fail(error: Error, reason?: HandshakeReason): void {
    if (this.#discarding) return
    this.#error = error
    this.destroy()
    if (error instanceof ProtocolError)
      this.#emit({ type: "failed", connection: this, error, reason })
  }

  #stopListening(): void {
    this.#discarding = true
    this.sink = undefined
    this.#kept = undefined
    this.#heartbeat?.stop()
    this.#socket.resume()
  }

  /** The peer closed its sending side, so nobody reads any more. */
  ended(): void {
    this.#writer.end()
    this.finished()
  }

  finished(): void {
    this.#writer.flushed()
    clearTimeout(this.#timer)
    this.#timer = destroyLater(this.#socket)
  }

  closed(): void {
    clearTimeout(this.#timer)
    this.#closed = true
    this.#writer.closed()
    this.#readRest()
    this.#heartbeat?.stop() // #readRest() may have started it, by ending the handshake
    this.encoding?.close()
    const error = this.#error ?? this.#socket.errored ?? undefined
    const ending = { error, stage: this.#stage, final: this.#final, counts: this.counts }
    this.#receiving.close()
    this.#emit({ type: "closed", connection: this, ...ending })
    this.sink = undefined
    this.#writer.flushed()
  }

  /**
   * Passes on the bytes received before the network failed: the decoded ones in any case, because
   * they are counted, and the others as far as there is room. Does nothing if the sink was already
   * full when the connection began, because every reconnect would add to its queue.
   */
  #readRest(): void {
    if (this.#discarding || this.#isHeld) return
    this.#sliceBytes = Number.NEGATIVE_INFINITY
    try {
      this.#takeAllKept()
      if (!this.#stopped) this.#receiving.resume(this)
      this.#takeAllKept()
    } catch {
      // The remaining bytes broke a rule, but the connection has already ended.
    }
  }
}

function openTranscoder(settings: Settings): Transcoder {
  return Transcoder.receiving(receivingInstance(), settings, true)
}

function outOfTime(connection: Connection): void {
  connection.timedOut()
}
