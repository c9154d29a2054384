/** The interface between endpoints and a transport, whichever thread runs its connections. */

import type { Chunk } from "../codec/chunk.js"
import type { Recipient } from "../codec/dictionary-groups.js"
import type { ProtocolError } from "../codec/errors.js"
import type { AnyPart, KeptPart } from "../codec/formed-part.js"
import type { Settings } from "../codec/options.js"
import type { Packing } from "../codec/packing.js"
import type { EncodeOptions, Sender } from "../codec/sender.js"
import type { Traffic } from "../codec/traffic.js"
import type { AuthStatus, HandshakeEvent, HandshakeSettings } from "../zmtp/mechanism.js"
import type { Part } from "../zmtp/part.js"
import type { Destination, HostPort } from "./address.js"
import type { Measured } from "./effort-meter.js"
import type { HeartbeatOptions } from "./heartbeat.js"
import type { NetworkMeter } from "./network-meter.js"
import type { TcpOptions } from "./tcp-options.js"

/** Options that all connections of an endpoint share. */
export interface ConnectionOptions {
  settings: Settings
  sender: Sender
  handshake: HandshakeSettings
  /** Maximum duration of a handshake in milliseconds; 0 is no limit. */
  handshakeMs: number
  heartbeat: HeartbeatOptions
  /** Whether sinks take frames as they arrive instead of whole messages. */
  relays: boolean
  /** Whether peers that announce no revision are served as over tcp://. */
  acceptsPlain: boolean
}

/** The consumer of a connection's messages and commands, from the end of the handshake on. */
export interface MessageSink {
  /** Whether the program has more messages to receive than it may in one turn of the event loop. */
  readonly isBehind: boolean
  /** Whether compressed parts are passed on as they came, to be sent again. */
  readonly keepsForms?: boolean
  /** Whether the program may not receive anything before more has been sent. */
  readonly waitsToSend: boolean
  /** Takes ownership of a message. Returns whether the connection may go on reading now. */
  message(parts: Part[]): boolean
  /** Takes the data of a command. Returns whether the connection may go on reading now. */
  command(name: string, data: Buffer): boolean
  /** The connection is writable again. */
  drained(): void
}

/** A sink that takes frames as they arrive and passes them to another thread. */
export interface FrameRelaySink extends MessageSink {
  /** Number of messages that the sink has room for. */
  readonly room: number
  /**
   * Takes some frames, in which `messages` messages end. Returns whether the connection may go on
   * reading now.
   */
  frames(piece: Uint8Array, messages: number, frames: number): boolean
  /**
   * Takes ownership of the large body of a message's frame, whose flags may be MORE and KEPT. Its
   * memory is its own. Returns whether the connection may go on reading now.
   */
  body(flags: number, body: Buffer): boolean
}

/**
 * An event of an endpoint or of one of its connections. The thread that has the connections passes
 * it to the sockets' thread.
 */
export type EndpointEvent<Connection = PeerConnection> =
  | ConnectionEvent<Connection>
  | { type: "acceptFailed"; error: Error }
  /** An attempt to connect has begun. */
  | { type: "delayed" }
  /** An attempt has failed. "retried" follows if there will be another. */
  | { type: "attemptFailed"; error: Error | undefined }
  /** There will be another attempt, because of `error` or because the peer closed the connection. */
  | { type: "retried"; intervalMs: number; error: Error | undefined }
  /**
   * There is no connection and there will be none: the peer is the wrong one, or reconnecting is
   * disabled.
   */
  | { type: "gaveUp"; isWrongPeer: boolean }

/** An event of a connection. The listener or dialer adds the first and takes note of the last. */
export type ConnectionEvent<Connection = PeerConnection> = { connection: Connection } & (
  | { type: "opened" }
  /** The handler of "ready" sets `connection.sink`. */
  | HandshakeEvent
  /** The compression effort has changed. */
  | { type: "effortChanged" }
  /**
   * After `end()`: the system has accepted everything written. `isQuiet` is set once the peer has sent
   * nothing for a while either, so that the process may end.
   */
  | { type: "sent"; isQuiet: boolean }
  | ({ type: "closed" } & Ending)
)

export type OnEvent<Connection = PeerConnection> = (event: EndpointEvent<Connection>) => void

/** Traffic in one direction, and whether a dictionary is in use. */
export interface DirectionCounts extends Traffic {
  dictionary: boolean
}

export interface ConnectionCounts {
  sent: DirectionCounts
  received: DirectionCounts
}

/** The end of a connection. */
export interface Ending {
  /** The error that ended the connection; undefined if it was simply closed. */
  error: Error | undefined
  /** The stage that the connection had reached. A refusal has already been reported. */
  stage: "handshaking" | "refused" | "traffic"
  /** If another attempt follows: later if it would probably end like this one, never if it would. */
  retries: "soon" | "later" | "never"
  counts: ConnectionCounts
}

/** Messages that were accepted but not yet written. */
export interface Waiting {
  /** Number of whole messages. */
  messages: number
  /** Their size in memory; for encoded messages, their size on the wire. */
  bytes: number
}

/** An encoder of messages into chunks, which connections write. */
export interface MessageEncoder {
  /** The message that sends the dictionary with which it encodes; undefined if it uses none. */
  readonly dictionaryFrame: Uint8Array | undefined
  /**
   * Returns the size in bytes below which parts are sent plain, so that messages of such parts may
   * be given in wire form.
   *
   * @param packing undefined if there is no peer yet.
   * @param effort as in Settings, which have the default.
   */
  plainBelow(packing: Packing | undefined, effort?: number): number
  /**
   * Returns a chunk with the messages of `options.plain`, those of `frames`, and `message`, in this
   * order. The caller releases the chunk once it is written.
   */
  encode(frames: Uint8Array, message?: readonly AnyPart[], options?: EncodeOptions): Chunk
  /** Returns whether a peer that is sent messages in `packing` gets a part as it came. */
  forwards(part: KeptPart, packing?: Packing): boolean
  /**
   * Returns a message that has to wait as bare frames, for `repack()`. Its large parts stay where they
   * are.
   */
  frame(message: readonly Uint8Array[]): Chunk
  /** Returns whether a chunk can be written as it is; otherwise `repack()` makes one that can. */
  accepts(chunk: Chunk): boolean
  /** The packing of messages that are encoded before there is a peer. */
  readonly packing: Packing
  /**
   * Encodes the messages of a chunk again, in another packing or other memory, and releases the chunk.
   *
   * @throws Error if there is not enough memory. The chunk is unchanged then.
   */
  repack(chunk: Chunk, packing: Packing, effort?: number): Chunk
  /**
   * Returns open memory for a batch to `connections`; undefined if there is none.
   */
  openMemory?(connections: readonly object[]): OpenMemory | undefined
  /** Returns the plain frames of a chunk, without releasing it. */
  plainFrames(chunk: Chunk): Uint8Array
  /** Adds an endpoint that uses the encoder and will close it. */
  share(): void
  close(): void
}

/**
 * Memory for a batch, out of which messages may leave before the program's burst ends, in case it does
 * not end soon.
 */
export interface OpenMemory {
  /** At least 64 KiB. */
  readonly bytes: Buffer
  /** Sets the number of bytes that are frames of whole messages. */
  publish(bytes: number): void
  /** Bytes that have left. */
  readonly flushed: number
  /** Stops further messages from leaving; returns the bytes that have left. */
  seal(): number
  /** Frees the memory after `bytes` now, and the rest once no chunk uses it. */
  close(bytes: number): void
}

/** A connection's part in the encoding of its messages. */
export interface Encoding extends Recipient<Sender> {
  /** Whether dictionaries are trained on its messages, which must be passed to `sampled`. */
  readonly trains: boolean
  /** The encoder of its messages, which knows the dictionary of this connection. */
  readonly sender: MessageEncoder
  /** The encoder for all connections of the endpoint that have the same format. */
  readonly common: MessageEncoder
  /** The measurements of the network. */
  readonly network: NetworkMeter
  /**
   * Returns the effort of the next encoding by an encoder (`sender` by default), for this connection or
   * for a group that is sent the same. It is the same one until `encoded` is called, by any connection
   * if they share the effort of a busy thread.
   */
  nextEffort(group?: readonly Measured[], sender?: MessageEncoder): number
  /**
   * Trains dictionaries on the frames of whole messages, and on `message`, that were just encoded
   * for `recipients`, which include this connection and belong to its endpoint.
   */
  sampled(
    recipients: readonly Encoding[],
    frames: Uint8Array,
    message?: readonly Uint8Array[],
  ): void
  /**
   * Records an encoding at an effort that `nextEffort` has returned, which began at `begunAt`
   * (`clockMs`).
   */
  encoded(chunk: Chunk, effort: number, begunAt: number): void
}

/**
 * The protocol of a peer. "tcp" is a peer that announced no revision and is served without sentinels.
 */
export type PeerScheme = "lz4+tcp" | "zstd+tcp" | "tcp"

/** A connection to a peer. */
export interface PeerConnection {
  /** The consumer of messages and commands, from the end of the handshake on. */
  sink: MessageSink | undefined
  /** Whether a write would be queued. */
  readonly blocked: boolean
  /** Whether the peer takes subscriptions as commands. */
  readonly peerTakesCommands: boolean
  /** Whether the peer's greeting is that of libzmq. */
  readonly peerIsLibzmq: boolean
  /** The format revision that the peer announced; undefined if none. */
  readonly peerRevision: number | undefined
  /** The packing of the chunks that the connection takes, from the end of the handshake on. */
  readonly packing: Packing
  /** The protocol of the peer; undefined until the handshake is over. */
  readonly scheme: PeerScheme | undefined
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  /** The traffic so far. Do not read it after the connection has ended. */
  readonly counts: ConnectionCounts
  /** Messages written that the system has not accepted yet. */
  readonly waiting: Waiting
  /** Milliseconds that the latest write took besides the call itself, on a thread of its own. */
  readonly writeMs?: number
  /** Set if this thread encodes the messages, and the peer reads more than bare frames. */
  readonly encoding?: Encoding | undefined
  /** The current compression effort, as in Settings. */
  readonly effort: number
  write(chunk: Chunk): void
  sendCommand(name: string, data: Uint8Array): void
  /** The sink waits to send. A connection that can no longer be written to may have to end. */
  waitToSend?(): void
  /** Stops the connection from the beginning, because its sink is already full. */
  stop(): void
  /** Goes on with messages that the sink had no room for. */
  resume(): void
  /** The application consumed a message that the sink took. */
  messageConsumed?(): void
  /**
   * Sets the number of messages that the sink queues (0 is no limit) and whether only the latest is
   * kept, in each direction.
   */
  setMarks?(receiveHighWaterMark: number, conflate: boolean): void
  /**
   * Returns whether there are chunks that were written but not sent. If so, the sink's `drained` is
   * called once there are none.
   */
  awaitPendingWrites?(): boolean
  /**
   * Takes back such chunks, which another connection can write. Call it once the connection has ended.
   */
  takePendingWrites?(): PendingWrite[]
  /**
   * Calls `done` when the system has accepted all that was written so far, or the connection has ended.
   */
  flush(done: () => void): void
  /** Returns whether what is known of the peer is recent, whenever the event loop has polled. */
  isUpToDate(nowMs: number): boolean
  /**
   * After the event loop has stopped: whether the peer has ended the connection. Received bytes are
   * lost.
   */
  readonly hasPeerEnded: boolean
  /**
   * Joins a departure, so that written messages are still sent after the event loop has stopped.
   * Returns whether more may be written, even if `blocked` is set.
   */
  depart(departure: Departure): boolean
  /** Ends the connection of a peer that broke a rule. */
  reject(error: ProtocolError): void
  /** Stops reading, and closes the connection once everything written is sent. */
  end(): void
  /** Ends the connection at once. */
  destroy(): void
  /** Ends the connection during its handshake, after the refusal was reported. */
  refuse(): void
  /** Passes on the reply of ZAP; undefined if there is no handler. */
  authenticated(status: AuthStatus | undefined): void
}

/** Connection options that can be posted to another thread. */
export type PlainConnectionOptions = Omit<ConnectionOptions, "sender" | "relays">

/** The parameters to make a connection on another thread. */
export interface DialSpec {
  options: PlainConnectionOptions
  tcp: TcpOptions
  destination: Destination
}

/** A connection that this thread goes on writing to after its event loop has stopped. */
export interface Departing {
  /** Writes as much as the system accepts at once. Returns the bytes left. */
  writeOn(): number
}

/** A thread that goes on writing after the event loop of this one has stopped. */
export interface DepartingThread {
  /** Makes the thread count the bytes left to write; see DepartureCells. */
  depart(cells: Int32Array, place: number): void
}

/** The exit of the process, which is delayed a little for messages not yet written. */
export interface Departure {
  add(connection: Departing): void
  addThread(thread: DepartingThread): void
  /** Makes a thread connect and write these frames of whole messages. */
  deliver(spec: DialSpec, frames: Uint8Array[]): void
}

/** A command that is queued among messages. */
export interface Command {
  name: "SUBSCRIBE" | "CANCEL" | "JOIN" | "LEAVE"
  data: Uint8Array
}

export type PendingWrite = Chunk | Command

/** An endpoint whose connections are on another thread, which cannot ask their sinks. */
interface FormKeeper {
  /** Sets whether compressed parts are passed on as they came. */
  keepForms?(keeps: boolean): void
}

/** A bound endpoint: makes a connection of each TCP connection that it accepts. */
export interface PeerListener extends FormKeeper {
  readonly connections: Iterable<PeerConnection>
  /**
   * Starts to listen at an address, and returns the bound one.
   *
   * @throws Error in the form of zeromq.js.
   */
  listenSync(address: HostPort): HostPort
  listen(address: HostPort): Promise<HostPort>
  /** Stops listening; connections continue. The port may become free a moment later. */
  close(): void
}

/** A connected endpoint: keeps one connection, and makes it again when it is lost. */
export interface PeerDialer extends FormKeeper {
  readonly connection: PeerConnection | undefined
  dial(): void
  /** Makes no more connections; the current one continues. */
  close(): void
  /**
   * Makes another thread write frames of whole messages, because the process exits and there is no
   * connection.
   */
  handOver(frames: Uint8Array[], departure: Departure): void
}

/** A factory for the connections of an endpoint. */
export interface Transport {
  readonly encoder: MessageEncoder
  listener(onEvent: OnEvent): PeerListener
  dialer(destination: Destination, onEvent: OnEvent): PeerDialer
}
