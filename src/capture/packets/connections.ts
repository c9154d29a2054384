import type { Time } from "../events.js"
import { Connection, type Untaken } from "./connection.js"
import { Backlog } from "./reassembly.js"
import type { Segment } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"

/** Maximum number of connections that are not known to be of interest; most never will be. */
const REMEMBERED_MAX = 16384
const FOLLOWED_MAX = 3 * REMEMBERED_MAX
/**
 * Number of packets after which a connection moves in the list: moving it at each packet would take
 * time.
 */
const MOVED_EACH_PACKETS = 4096
/** Nanoseconds for which a connection that was reset waits for data that shows that it goes on. */
const RESET_NS = 1_000_000_000n
/**
 * Number of packets for which a closed connection waits for missing bytes, and one that was reset for
 * data.
 */
const LATE_PACKETS = 1024

/** Takes what is told of connections besides their bytes. */
export interface Notices {
  crowded(): void
  unread(what: Untaken): void
  refused(server: string): void
}

/**
 * Sorts TCP segments, in the order of their capture, into connections, and passes on the bytes of each.
 */
export class TcpConnections {
  readonly #open: (connection: TcpConnection) => StreamSink
  readonly #notices: Notices
  readonly #backlog = new Backlog()
  readonly #connections = new Map<string, Connection>()
  /** A ring of the newest connections that are not known to be of interest. */
  readonly #remembered: Connection[] = []
  #turn = 0
  /** Closed connections with missing bytes, and those that were reset. */
  readonly #closing: { connection: Connection; time: Time; deadline: number }[] = []
  #packets = 0
  #time: Time

  /**
   * @param open makes the sink of a connection when its first bytes arrive.
   * @param notices takes what is told besides.
   */
  constructor(open: (connection: TcpConnection) => StreamSink, notices: Notices) {
    this.#open = open
    this.#notices = notices
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
    const untaken = connection.push(segment)
    if (untaken) this.#notices.unread(untaken)
    if (connection.isOver) {
      if (!connection.isMissingBytes && !connection.isReset) connection.close(segment.time)
      else if (!wasOver) this.#closeLater(connection, segment.time)
      const refusedBy = wasOver ? undefined : connection.refusedBy
      if (refusedBy) this.#notices.refused(refusedBy)
    }
    if (wasOpen && !connection.isOpen) this.#remember(connection)
  }

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
    this.#notices.crowded()
    this.#connections.delete(oldest.key)
    oldest.close(this.#time)
  }

  #closeLater(connection: Connection, time: Time): void {
    this.#closing.push({ connection, time, deadline: this.#packets + LATE_PACKETS })
  }

  /** Gives up the missing bytes, and later ones, of connections that ended some time ago. */
  #closeLate(packets: number): void {
    for (;;) {
      const late = this.#closing[0]
      if (!late || (late.deadline > packets && !this.#isReset(late))) return
      this.#closing.shift()
      // It went on after a reset.
      if (!late.connection.isOver) continue
      late.connection.close(late.time)
      this.#remember(late.connection)
    }
  }

  /** Returns whether a connection was reset so long ago that nothing can follow. */
  #isReset({ connection, time }: { connection: Connection; time: Time }): boolean {
    if (time === undefined || this.#time === undefined || connection.isMissingBytes) return false
    return this.#time - time > RESET_NS
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
