/** The interface between endpoints and a transport, whichever thread its connections are on. */
import type { Chunk, Packing } from "../codec/chunk.js"
import type { Traffic } from "../codec/codec.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Settings } from "../codec/options.js"
import type { PlainMessages, Sender } from "../codec/sender.js"
import type {
  AuthStatus,
  Credentials,
  HandshakeFailure,
  HandshakeSettings,
} from "../zmtp/handshake.js"
import type { Link, LinkHolder } from "./effort-meter.js"
import type { Destination, HostPort } from "./endpoint.js"
import type { HeartbeatOptions } from "./heartbeat.js"
import type { TcpOptions } from "./tcp-options.js"

/** Options that all connections of an endpoint share. */
export interface ConnectionOptions {
  settings: Settings
  sender: Sender
  handshake: HandshakeSettings
  /** The longest that a handshake may take, in milliseconds; 0 is no limit. */
  handshakeMs: number
  heartbeat: HeartbeatOptions
  /** Whether sinks take frames as they come, rather than messages. */
  relays: boolean
  /** Whether peers that announce nothing are served as over tcp://. */
  acceptsPlain: boolean
}

/** The consumer of a connection's messages and commands after the handshake. */
export interface MessageSink {
  /** A message, which is the sink's to keep. Returns whether it wants the next one now. */
  message(parts: Buffer[]): boolean
  /** A command, without its name. Returns whether it wants what follows now. */
  command(name: string, data: Buffer): boolean
  /** There is room to write again. */
  drained(): void
}

/** A sink that takes frames as they come, and makes messages of them elsewhere. */
export interface FrameRelaySink extends MessageSink {
  /** Messages wanted now. */
  readonly room: number
  /** A piece of the frames of messages, so many of which end in it. Returns whether it wants more now. */
  frames(piece: Uint8Array, messages: number): boolean
}

/** Events of a connection. */
export interface ConnectionHandlers {
  /** The handshake is over: a sink is to be given. */
  ready(connection: PeerConnection, peerRoutingId: Buffer): void
  /** Asks for `connection.authenticated` to be called. */
  authenticate(connection: PeerConnection, credentials: Credentials): void
  /** The peer or the handler of ZAP has refused. */
  refused(connection: PeerConnection, status: number): void
  /** The peer broke a rule; its connection is over. `failure` is of the handshake. */
  failed(
    connection: PeerConnection,
    error: ProtocolError,
    failure: HandshakeFailure | undefined,
  ): void
  /** What is sent is compressed harder, or less, from now on. */
  effortChanged(connection: PeerConnection): void
  closed(connection: PeerConnection, ending: Ending): void
}

/** Traffic in one direction, and whether a dictionary is in use there. */
export interface DirectionCounts extends Traffic {
  dictionary: boolean
}

export interface ConnectionCounts {
  sent: DirectionCounts
  received: DirectionCounts
}

/** The end of a connection. */
export interface Ending {
  /** The error that ended it, if it was not just closed. */
  error: Error | undefined
  /** The stage that it had reached: a refused handshake has been reported already. */
  stage: "handshaking" | "refused" | "traffic"
  /** Whether trying again does not mend what failed. */
  final: boolean
  counts: ConnectionCounts
}

/** Messages that were sent and have not left. */
export interface Waiting {
  /** How many, each as a whole. */
  messages: number
  /** What they take in memory: of those that are encoded, what they take on the wire. */
  bytes: number
}

/** Makes of messages what connections write. */
export interface Encoder {
  /**
   * Parts of fewer bytes go plain, so that messages of such parts may be given in wire form.
   *
   * @param packing undefined as long as there is no peer.
   */
  plainBelow(packing: Packing | undefined): number
  /**
   * Takes the frames of whole messages, and then one message more, if there is one; in front of
   * them go messages in wire form. The chunk is to be released when it is written.
   *
   * @param plain none where the packing is "frames".
   * @param packing "parts" by default.
   */
  encode(
    frames: Uint8Array,
    message?: readonly Uint8Array[],
    plain?: PlainMessages,
    packing?: Packing,
  ): Chunk
  /** The packing for a peer that announced this revision, or none. */
  packingFor(peerRevision: number | undefined): Packing
  /**
   * Encodes the messages of a chunk again, in another packing, and releases it.
   *
   * @throws Error when memory is out: the chunk is as it was then.
   */
  repack(chunk: Chunk, packing: Packing): Chunk
  /** Returns the plain frames of a chunk, which is not released. */
  plainFrames(chunk: Chunk): Uint8Array
  /** One more endpoint uses it, and will close it. */
  share(): void
  close(): void
}

/**
 * Memory in which messages wait for the end of a burst of the program, and from which they may leave
 * before, where that does not end.
 */
export interface OpenMemory {
  /** At least 64 KiB. */
  readonly bytes: Buffer
  /** Sets the bytes that are frames of whole messages. */
  publish(bytes: number): void
  /** How many bytes have left so far. */
  readonly left: number
  /** Lets nothing leave any more, and returns how many bytes have left. */
  seal(): number
  /** Gives back what is behind so many bytes, and those when no chunk is in them any more. */
  close(bytes: number): void
}

/** "tcp" is for peers that are served without sentinels, as they announced nothing. */
export type PeerScheme = "lz4+tcp" | "tcp"

/** A connection to a peer. */
export interface PeerConnection {
  /** The consumer of messages and commands, from the end of the handshake on. */
  sink: MessageSink | undefined
  /** Whether what is written now would have to wait. */
  readonly blocked: boolean
  /** Milliseconds that another thread takes for a write; 0 where it is this one that writes. */
  readonly threadMs: number
  /** Whether the peer takes subscriptions as commands. */
  readonly peerTakesCommands: boolean
  /** The revision of the format that the peer announced; undefined if it announced none. */
  readonly peerRevision: number | undefined
  /** What the peer speaks; undefined until the handshake is over. */
  readonly scheme: PeerScheme | undefined
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  /** The traffic so far; not to be read when the connection is over. */
  readonly counts: ConnectionCounts
  /** What was written and the system has not taken yet. */
  readonly waiting: Waiting
  /** Whether `openMemory` may give some. */
  readonly opensMemory: boolean
  /** Memory for messages to these connections, this one among them; undefined if there is none. */
  openMemory(connections: readonly object[]): OpenMemory | undefined
  /** Compression effort of what it sends, as in Settings. */
  readonly effort: number
  /** Measures what its network takes; undefined if another thread does. */
  readonly link?: Link | undefined
  /** Sets how hard the encoder tries for this connection, or for all that are sent the same. */
  applyEffort(group?: readonly LinkHolder[]): void
  /** Takes note of what was encoded after `adapt`. */
  encoded(chunk: Chunk): void
  write(chunk: Chunk): void
  sendCommand(name: string, data: Uint8Array): void
  /** Hands nothing to the sink, which is full from the beginning. */
  stop(): void
  /** Goes on with what the sink did not want. */
  resume(): void
  /** A message that the sink took has been received by the program. */
  messageConsumed(): void
  /** How many messages the sink will let wait, 0 for any number, and whether only the latest is kept, each way. */
  setMarks(receiveHighWaterMark: number, conflate: boolean): void
  /** Returns chunks that were written and have not left, and need not be lost with the connection. */
  takePendingWrites(): PendingWrite[]
  /** Whether there are any; if so, `drained` of the sink follows when there are none. */
  readonly hasPendingWrites: boolean
  /** Calls back when the system has taken all that was written so far, or the connection is over. */
  flush(done: () => void): void
  /**
   * Joins a departure, so that what was written leaves, although the event loop has stopped. Returns
   * whether more may be written, whatever `blocked` says.
   */
  depart(departure: Departure): boolean
  /** Ends the connection of a peer that broke a rule. */
  reject(error: ProtocolError): void
  /** Takes nothing more from the peer, and closes when all that was written is sent. */
  end(): void
  /** Ends the connection at once. */
  destroy(): void
  /** Ends the connection in its handshake, of which has been told. */
  refuse(): void
  /** The answer of ZAP; undefined where there is no handler. */
  authenticated(status: AuthStatus | undefined): void
}

/** The options of connections, as they can be posted to another thread. */
export type PlainConnectionOptions = Omit<ConnectionOptions, "sender" | "relays">

/** What it takes to make a connection on another thread. */
export interface DialSpec {
  options: PlainConnectionOptions
  tcp: TcpOptions
  destination: Destination
}

/** A connection that this thread writes to after its event loop has stopped. */
export interface Departing {
  /** Writes what the system takes at once. Returns the bytes that are left. */
  writeOn(): number
}

/** A thread that goes on writing after the event loop of this one has stopped. */
export interface DepartingThread {
  /** Has it count what is still to be written, see DepartureCells. */
  depart(cells: Int32Array, place: number): void
}

/** The end of the process, which waits a little for what has not been written. */
export interface Departure {
  add(connection: Departing): void
  addThread(thread: DepartingThread): void
  /** Has a thread connect, and write these frames of whole messages. */
  deliver(spec: DialSpec, frames: Uint8Array[]): void
}

/** A command that waits its turn among messages. */
export interface Command {
  name: "SUBSCRIBE" | "CANCEL" | "JOIN" | "LEAVE"
  data: Uint8Array
}

export type PendingWrite = Chunk | Command

export interface ListenerHandlers extends ConnectionHandlers {
  accepted(connection: PeerConnection): void
  acceptFailed(error: Error): void
}

/** A bound endpoint: makes a connection of each TCP connection that comes. */
export interface PeerListener {
  readonly connections: Iterable<PeerConnection>
  /**
   * Starts to listen at an address, and returns where.
   *
   * @throws Error in the form of zeromq.js.
   */
  listenSync(address: HostPort): HostPort
  listen(address: HostPort): Promise<HostPort>
  /** Stops listening; connections go on. The port may become free a moment later. */
  close(): void
}

export interface DialerHandlers extends ConnectionHandlers {
  /** An attempt has begun. */
  delayed(): void
  connected(connection: PeerConnection): void
  /** An attempt has failed; "retried" follows where there is to be another. */
  attemptFailed(): void
  retried(intervalMs: number): void
  /** There is no connection, and there will be none: the peer is a wrong one, or reconnecting is off. */
  gaveUp(isWrongPeer: boolean): void
}

/** A connected endpoint: one connection at a time, made again when it is lost. */
export interface PeerDialer {
  readonly connection: PeerConnection | undefined
  dial(): void
  /** Makes no connection any more; the one there is goes on. */
  close(): void
  /** Has frames of whole messages written by a thread, as the process ends without a connection here. */
  handOver(frames: Uint8Array[], departure: Departure): void
}

/** Makes the connections of an endpoint. */
export interface Transport {
  readonly encoder: Encoder
  listener(handlers: ListenerHandlers): PeerListener
  dialer(destination: Destination, handlers: DialerHandlers): PeerDialer
}
