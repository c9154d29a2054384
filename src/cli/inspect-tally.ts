import { KEPT_CONNECTIONS_MAX } from "../capture/decode-capture.js"
import { timeOf } from "../capture/event-time.js"
import type { CaptureConnection, CaptureEvent, CaptureMessage, Time } from "../capture/events.js"
import { isShipment, variousParts } from "../capture/parts.js"
import { type ConnectionSummary, connectionSummary } from "../capture/summary.js"
import type { Traffic } from "../codec/traffic.js"

/** Totals of a whole capture, regardless of a filter. */
export interface Summary {
  /** The first connections, up to the tally's maximum. */
  connections: ConnectionSummary[]
  /** The number of all connections. */
  connectionCount: number
  /** The number of those with matching rows; undefined if all connections are in the summary. */
  matchingConnections: number | undefined
  /** Number of TCP connections with data, whether ZMTP or not. */
  tcpConnections: number
  /** Numbers of packets that were not read, by what they are. */
  unread: ReadonlyMap<string, number>
  /** Numbers of connections that were refused, by server. */
  refused: ReadonlyMap<string, number>
  /** The earliest and the latest time. */
  start: Time
  end: Time
  rows: number
  matching: number
  errors: number
  /** Traffic of all connections in both directions. */
  traffic: Traffic
}

/** Sums up the events of a capture. */
export class Tally {
  readonly #maxConnections: number
  readonly #onlyMatching: boolean
  /** The connections in the summary. The summary of a closed one is all that is kept of it. */
  readonly #listed = new Map<
    number,
    { connection: CaptureConnection } | { closed: ConnectionSummary }
  >()
  /** Connections with matching rows, up to KEPT_CONNECTIONS_MAX. */
  readonly #matching = new Set<number>()
  readonly #errors = new Map<number, number>()
  readonly #traffic: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  #connectionCount = 0
  #errorCount = 0
  #start: Time
  #end: Time
  #rows = 0
  /** Number of rows that matched the filter. */
  matching = 0

  /**
   * @param maxConnections connections to keep. Others are only counted, so that memory does not
   * grow with the capture.
   * @param onlyMatching whether only connections with matching rows are kept.
   */
  constructor(maxConnections: number, onlyMatching = false) {
    this.#maxConnections = maxConnections
    this.#onlyMatching = onlyMatching
  }

  /** Adds an event, and whether it matches the filter; `hasRow` says whether it is a row. */
  add(event: CaptureEvent, matching: boolean, hasRow = true): void {
    if (hasRow) this.#rows++
    if (hasRow && matching) this.matching++
    this.#addTime(timeOf(event))
    const errors = errorsOf(event)
    const id = event.connection?.id ?? 0
    this.#errorCount += errors
    if (event.type === "connection") this.#connectionCount++
    if (event.type === "message") this.#addMessage(event.message)
    if (!event.connection) return
    if (errors > 0 && id <= KEPT_CONNECTIONS_MAX)
      this.#errors.set(id, (this.#errors.get(id) ?? 0) + errors)
    if (hasRow && matching && this.#matching.size < KEPT_CONNECTIONS_MAX) this.#matching.add(id)
    const wanted = this.#onlyMatching ? hasRow && matching : event.type === "connection"
    if (wanted && !this.#listed.has(id) && this.#listed.size < this.#maxConnections)
      this.#listed.set(id, { connection: event.connection })
    // Drops the reference, so that the connection and its dictionaries can be freed.
    if (event.type === "close" && this.#listed.has(id))
      this.#listed.set(id, { closed: this.#summaryOf(event.connection) })
  }

  #addMessage(message: CaptureMessage): void {
    const { plainBytes, wireBytes } = message
    // As in a connection's traffic, a dictionary only counts its bytes on the wire.
    if (!isShipment(message)) this.#traffic.messages++
    this.#traffic.plainBytes += plainBytes
    this.#traffic.wireBytes += wireBytes
  }

  // Segments that were retransmitted come late but keep their old times.
  #addTime(time: Time): void {
    if (time === undefined) return
    if (this.#start === undefined || time < this.#start) this.#start = time
    if (this.#end === undefined || time > this.#end) this.#end = time
  }

  summary(
    tcpConnections: number,
    unread: Summary["unread"] = new Map(),
    refused: Summary["refused"] = new Map(),
  ): Summary {
    const connections = Array.from(this.#listed.values(), (listed) =>
      "closed" in listed ? listed.closed : this.#summaryOf(listed.connection),
    )
    return {
      connections: connections.sort((a, b) => a.id - b.id),
      connectionCount: this.#connectionCount,
      matchingConnections: this.#onlyMatching ? this.#matching.size : undefined,
      tcpConnections,
      unread,
      refused,
      start: this.#start,
      end: this.#end,
      rows: this.#rows,
      matching: this.matching,
      errors: this.#errorCount,
      traffic: this.#traffic,
    }
  }

  #summaryOf(connection: CaptureConnection): ConnectionSummary {
    return connectionSummary(connection, this.#errors.get(connection.id) ?? 0)
  }
}

function errorsOf(event: CaptureEvent): number {
  if (event.type === "error") return 1
  if (event.type !== "message") return 0
  return variousParts(event.message).filter(({ error }) => error).length
}
