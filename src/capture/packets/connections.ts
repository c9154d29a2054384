import type { Time } from "../events.js"
import { Connection } from "./connection.js"
import { Backlog } from "./reassembly.js"
import type { Segment } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"

/** Connections that are remembered though they are not known to be of interest: most never will be. */
const REMEMBERED_MAX = 16384
/** All that are followed at once, those of interest among them. */
const FOLLOWED_MAX = 3 * REMEMBERED_MAX
/** So many packets, of any connection, make no difference to which of them is the oldest. */
const MOVED_EACH_PACKETS = 4096
/** So many more packets, of any connection, may come before what a closed connection still misses. */
const LATE_PACKETS = 1024

/** TCP segments in, as they were captured; the bytes of each connection out. */
export class TcpConnections {
  readonly #open: (connection: TcpConnection) => StreamSink
  readonly #crowded: () => void
  readonly #backlog = new Backlog()
  readonly #connections = new Map<string, Connection>()
  /** A ring of the newest of those, so that no number of them takes more memory. */
  readonly #remembered: Connection[] = []
  #turn = 0
  /** Those that are over, while bytes of them are missing. */
  readonly #closing: { connection: Connection; time: Time; deadline: number }[] = []
  #packets = 0
  #time: Time

  /**
   * @param open makes the sink of a connection, when its first bytes come.
   * @param crowded is told when there are more connections than can be followed.
   */
  constructor(open: (connection: TcpConnection) => StreamSink, crowded: () => void) {
    this.#open = open
    this.#crowded = crowded
  }

  push(segment: Segment): void {
    this.#packets++
    this.#time = segment.time
    this.#closeLate(this.#packets)
    const { source, destination } = segment
    const key = source < destination ? source + destination : destination + source
    let connection = this.#connections.get(key)
    if (connection && segment.syn && !connection.mayBeginWith(segment)) {
      connection.close(segment.time)
      connection = undefined
    }
    if (!connection) {
      connection = new Connection(key, segment, this.#backlog, this.#open)
      this.#connections.set(key, connection)
      this.#remember(connection)
      if (this.#connections.size > FOLLOWED_MAX) this.#leaveOldest()
    }
    this.#moveToEnd(connection)
    const wasOpen = connection.isOpen
    const wasOver = connection.isOver
    connection.push(segment)
    if (connection.isOver) {
      if (!connection.isMissingBytes) connection.close(segment.time)
      else if (!wasOver) this.#closeLater(connection, segment.time)
    }
    if (wasOpen && !connection.isOpen) this.#remember(connection)
  }

  /** The end of the capture. */
  end(): void {
    this.#closeLate(Number.POSITIVE_INFINITY)
    for (const connection of this.#connections.values()) connection.close(this.#time)
    this.#connections.clear()
  }

  /** Keeps the connections in about the order of their last packets. */
  #moveToEnd(connection: Connection): void {
    if (this.#packets - connection.movedAt < MOVED_EACH_PACKETS) return
    connection.movedAt = this.#packets
    this.#connections.delete(connection.key)
    this.#connections.set(connection.key, connection)
  }

  /** Ends the connection whose last packet is oldest. */
  #leaveOldest(): void {
    const [oldest] = this.#connections.values()
    if (!oldest) return
    this.#crowded()
    this.#connections.delete(oldest.key)
    oldest.close(this.#time)
  }

  #closeLater(connection: Connection, time: Time): void {
    this.#closing.push({ connection, time, deadline: this.#packets + LATE_PACKETS })
  }

  /** Gives up what is missing of connections that have been over for a while. */
  #closeLate(packets: number): void {
    for (;;) {
      const late = this.#closing[0]
      if (!late || late.deadline > packets) return
      this.#closing.shift()
      late.connection.close(late.time)
      this.#remember(late.connection)
    }
  }

  /** Keeps a connection that may be of no interest, in place of the one that was kept for longest. */
  #remember(connection: Connection): void {
    const turn = this.#turn++
    const forgotten = this.#remembered[turn % REMEMBERED_MAX]
    this.#remembered[turn % REMEMBERED_MAX] = connection
    connection.turn = turn
    if (!forgotten || forgotten.isKnown || forgotten.turn !== turn - REMEMBERED_MAX) return
    if (this.#connections.get(forgotten.key) !== forgotten) return
    this.#connections.delete(forgotten.key)
    forgotten.close(this.#time)
  }
}
