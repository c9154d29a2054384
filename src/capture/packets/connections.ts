import type { Time } from "../events.js"
import { Connection } from "./connection.js"
import { Backlog } from "./reassembly.js"
import type { Segment } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"

/** Maximum number of connections that are not known to be of interest; most never will be. */
const REMEMBERED_MAX = 16384
/** Maximum number of all connections. */
const FOLLOWED_MAX = 3 * REMEMBERED_MAX
/** Number of packets after which a connection moves in the list: moving it at each packet would take time. */
const MOVED_EACH_PACKETS = 4096
/** Number of packets for which a closed connection waits for missing bytes. */
const LATE_PACKETS = 1024

/** Sorts TCP segments, in the order of their capture, into connections, and passes on the bytes of each. */
export class TcpConnections {
  readonly #open: (connection: TcpConnection) => StreamSink
  readonly #crowded: () => void
  readonly #backlog = new Backlog()
  readonly #connections = new Map<string, Connection>()
  /** A ring of the newest connections that are not known to be of interest. */
  readonly #remembered: Connection[] = []
  #turn = 0
  /** Closed connections with missing bytes. */
  readonly #closing: { connection: Connection; time: Time; deadline: number }[] = []
  #packets = 0
  #time: Time

  /**
   * @param open makes the sink of a connection when its first bytes arrive.
   * @param crowded is called if there are too many connections.
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

  /** Handles the end of the capture. */
  end(): void {
    this.#closeLate(Number.POSITIVE_INFINITY)
    for (const connection of this.#connections.values()) connection.close(this.#time)
    this.#connections.clear()
  }

  /** Keeps the list roughly ordered by last packet. */
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

  /** Gives up the missing bytes of connections that ended some time ago. */
  #closeLate(packets: number): void {
    for (;;) {
      const late = this.#closing[0]
      if (!late || late.deadline > packets) return
      this.#closing.shift()
      late.connection.close(late.time)
      this.#remember(late.connection)
    }
  }

  /** Adds a connection to the ring, and drops the one that it replaces. */
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
