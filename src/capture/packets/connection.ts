import type { Side, Time } from "../events.js"
import { other } from "../sides.js"
import { type Backlog, type Output, Reassembly } from "./reassembly.js"
import { type Address, formatAddress, portOf, type Segment, WINDOW_SCALE_MAX } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"

/** Kinds of segments that are ignored, such as resets outside of the window. */
export type Untaken =
  | "TCP after the end of its connection"
  | "TCP resets after which data followed"
  | "TCP resets outside of the window"

/** A TCP connection whose segments are reassembled for a sink. */
export class Connection implements Output {
  readonly key: string
  /** For TcpConnections: the time when it last entered the ring of connections that may be dropped. */
  turn = 0
  /** For TcpConnections: the packet at which it last moved to the end of the list. */
  movedAt = 0
  readonly #client: Address
  readonly #server: Address
  readonly #begun: boolean
  readonly #time: Time
  readonly #open: (connection: TcpConnection) => StreamSink
  #sink: StreamSink | undefined
  readonly #bytesOf: Record<Side, Reassembly>
  /**
   * Sides whose FIN was seen, though bytes before it may be missing; and sides that were passed on
   * completely.
   */
  readonly #finished = { client: false, server: false }
  readonly #ended = { client: false, server: false }
  /** Who ended it, and how: the first FIN, or an RST. */
  #ending: { by: Side; how: "FIN" | "RST" } | undefined
  /** The side whose RST the other one takes. It is not the end if data follows. */
  #reset: Side | undefined
  /**
   * For an RST: the room for data of each side, in units of its scale. Without a SYN it is the largest.
   */
  readonly #windows = { client: 0xffff, server: 0xffff }
  readonly #scales = { client: WINDOW_SCALE_MAX, server: WINDOW_SCALE_MAX }
  #answered = false
  #closed = false

  constructor(
    key: string,
    segment: Segment,
    backlog: Backlog,
    open: (connection: TcpConnection) => StreamSink,
  ) {
    const { source, destination, syn, acknowledged, time } = segment
    const fromClient = syn ? acknowledged === undefined : portOf(source) >= portOf(destination)
    this.key = key
    this.#client = fromClient ? source : destination
    this.#server = fromClient ? destination : source
    this.#begun = syn
    this.#time = time
    this.#open = open
    this.#bytesOf = {
      client: new Reassembly("client", this, backlog),
      server: new Reassembly("server", this, backlog),
    }
  }

  get isOpen(): boolean {
    return this.#sink !== undefined
  }

  /** Whether its sink knows it to be of interest. */
  get isKnown(): boolean {
    return this.#sink?.isKnown === true
  }

  get isOver(): boolean {
    return this.#reset !== undefined || (this.#finished.client && this.#finished.server)
  }

  /** Whether it was ended by an RST, after which data may follow nevertheless. */
  get isReset(): boolean {
    return this.#reset !== undefined
  }

  get isMissingBytes(): boolean {
    return !this.#bytesOf.client.complete || !this.#bytesOf.server.complete
  }

  /**
   * Returns whether a SYN can belong to this connection, rather than to the next one between the
   * same ports.
   */
  mayBeginWith({ source, sequence, acknowledged }: Segment): boolean {
    const { mine, theirs } = this.#directions(source)
    if (mine.mayBeginWith(following(sequence))) return true
    return acknowledged !== undefined && theirs.mayBeginWith(acknowledged)
  }

  /** Adds a segment. Returns what is to be told of it, if it is not taken. */
  push(segment: Segment): Untaken | undefined {
    const { source, acknowledged, syn, fin, rst, offset, time } = segment
    const { from, mine, theirs } = this.#directions(source)
    const sequence = syn ? following(segment.sequence) : segment.sequence
    // A SYN overrides a guess from an earlier packet.
    if (syn) mine.rebegin(sequence)
    if (syn) this.#scales[from] = segment.windowScale
    mine.begin(sequence)
    if (rst) return this.#takeReset(from, mine, segment)
    this.#windows[from] = segment.window
    this.#answered ||= from === "server"
    if (acknowledged !== undefined) {
      theirs.begin(acknowledged)
      theirs.acknowledge(acknowledged, offset, time)
    }
    const isNew = mine.isNew(sequence, segment)
    if (isNew && this.#closed) return "TCP after the end of its connection"
    mine.push(sequence, segment)
    if (fin) {
      this.#finished[from] = true
      this.#ending ??= { by: from, how: "FIN" }
    }
    mine.countPacket()
    theirs.countPacket()
    if (!isNew || this.#reset !== from) return undefined
    this.#reset = undefined
    return "TCP resets after which data followed"
  }

  /** Takes an RST as its receiver does: if it is in the window. */
  #takeReset(from: Side, mine: Reassembly, { sequence }: Segment): Untaken | undefined {
    const to = other(from)
    const room = this.#windows[to] * 2 ** this.#scales[to]
    if (!mine.isInWindow(sequence, room)) return "TCP resets outside of the window"
    this.#reset ??= from
    return undefined
  }

  /** The server, if it refused the connection: it answered with nothing but an RST. */
  get refusedBy(): string | undefined {
    const isRefused = this.#begun && this.#reset === "server" && !this.#answered && !this.#sink
    return isRefused ? formatAddress(this.#server) : undefined
  }

  /** Passes on all queued segments and ends the sink. */
  close(time: Time): void {
    this.#bytesOf.client.flush()
    this.#bytesOf.server.flush()
    if (this.#reset) this.#ending ??= { by: this.#reset, how: "RST" }
    this.#closed = true
    if (this.#ending) this.#sink?.ending(this.#ending.by, this.#ending.how)
    for (const side of SIDES) if (!this.#ended[side]) this.#sink?.end(side, time, !this.isOver)
    this.#stop()
  }

  data(from: Side, bytes: Uint8Array, offset: number, time: Time): void {
    if (!this.#opened(time).data(from, bytes, offset, time)) this.#stop()
  }

  gap(from: Side, bytes: number, offset: number, time: Time): void {
    this.#opened(time).gap(from, bytes, offset, time)
  }

  cut(from: Side, bytes: number, offset: number, time: Time): void {
    this.#opened(time).cut(from, bytes, offset, time)
  }

  repeated(from: Side): void {
    this.#sink?.repeated(from)
  }

  end(from: Side, time: Time): void {
    this.#ended[from] = true
    if (this.#ending) this.#sink?.ending(this.#ending.by, this.#ending.how)
    this.#sink?.end(from, time, false)
  }

  #opened(time: Time): StreamSink {
    if (this.#sink) return this.#sink
    this.#sink = this.#open({
      client: formatAddress(this.#client),
      server: formatAddress(this.#server),
      begun: this.#begun,
      time: this.#time,
    })
    for (const side of SIDES) if (this.#ended[side]) this.#sink.end(side, time, false)
    return this.#sink
  }

  #stop(): void {
    this.#bytesOf.client.stop()
    this.#bytesOf.server.stop()
    this.#sink = undefined
  }

  #directions(source: Address): { from: Side; mine: Reassembly; theirs: Reassembly } {
    const { client, server } = this.#bytesOf
    return source === this.#client
      ? { from: "client", mine: client, theirs: server }
      : { from: "server", mine: server, theirs: client }
  }
}

const SIDES = ["client", "server"] as const

const following = (sequence: number): number => (sequence + 1) >>> 0
