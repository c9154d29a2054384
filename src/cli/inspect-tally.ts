import { KEPT_CONNECTIONS_MAX } from "../capture/decode-capture.js"
import { timeOf } from "../capture/event-time.js"
import type { CaptureConnection, CaptureEvent, CaptureMessage, Time } from "../capture/events.js"
import { isShipment, variousParts } from "../capture/parts.js"
import { type ConnectionSummary, connectionSummary } from "../capture/summary.js"
import type { Traffic } from "../codec/traffic.js"

/** Totals of a capture, regardless of a filter. */
interface Totals {
  connectionCount: number
  start: Time
  end: Time
  rows: number
  matching: number
  errors: number
  traffic: Traffic
}

/** Counts of what makes no events. */
interface Uncaptured {
  /** Number of TCP connections with data, whether ZMTP or not. */
  tcpConnections: number
  /** Numbers of packets that were not read, by what they are. */
  unread: ReadonlyMap<string, number>
  /** Numbers of connections that were refused, by server. */
  refused: ReadonlyMap<string, number>
}

export interface Summary extends Readonly<Totals>, Uncaptured {
  /** The first connections, up to the tally's maximum. */
  connections: ConnectionSummary[]
  /** The number of those with matching rows; undefined if all connections are in the summary. */
  matchingConnections: number | undefined
}

export class Tally {
  readonly #maxConnections: number
  readonly #onlyMatching: boolean
  /** The connections in the summary. The summary of a closed one is all that is kept of it. */
  readonly #listed = new Map<number, CaptureConnection | ConnectionSummary>()
  /** Connections with matching rows, up to KEPT_CONNECTIONS_MAX. */
  readonly #matching = new Set<number>()
  readonly #errors = new Map<number, number>()
  readonly #totals: Totals = {
    ...{ connectionCount: 0, start: undefined, end: undefined, rows: 0, matching: 0, errors: 0 },
    traffic: { messages: 0, plainBytes: 0, wireBytes: 0 },
  }

  /**
   * @param maxConnections connections to keep. Others are only counted, so that memory is bounded.
   * @param onlyMatching whether only connections with matching rows are kept.
   */
  constructor(maxConnections: number, onlyMatching = false) {
    this.#maxConnections = maxConnections
    this.#onlyMatching = onlyMatching
  }

  /** Adds an event, and whether it matches the filter; `hasRow` says whether it is a row. */
  add(event: CaptureEvent, matching: boolean, hasRow = true): void {
    const totals = this.#totals
    const isMatch = hasRow && matching
    if (hasRow) totals.rows++
    if (isMatch) totals.matching++
    this.#addTime(timeOf(event))
    const errors = errorsOf(event)
    totals.errors += errors
    if (event.type === "connection") totals.connectionCount++
    if (event.type === "message") this.#addMessage(event.message)
    const { connection } = event
    if (!connection) return
    const { id } = connection
    if (errors > 0 && id <= KEPT_CONNECTIONS_MAX)
      this.#errors.set(id, (this.#errors.get(id) ?? 0) + errors)
    if (isMatch && this.#matching.size < KEPT_CONNECTIONS_MAX) this.#matching.add(id)
    const wanted = this.#onlyMatching ? isMatch : event.type === "connection"
    if (wanted && !this.#listed.has(id) && this.#listed.size < this.#maxConnections)
      this.#listed.set(id, connection)
    // Drops the reference, so that the connection and its dictionaries can be freed.
    if (event.type === "close" && this.#listed.has(id))
      this.#listed.set(id, this.#summaryOf(connection))
  }

  #addMessage(message: CaptureMessage): void {
    const { plainBytes, wireBytes } = message
    // As in a connection's traffic, a dictionary only counts its bytes on the wire.
    const { traffic } = this.#totals
    if (!isShipment(message)) traffic.messages++
    traffic.plainBytes += plainBytes
    traffic.wireBytes += wireBytes
  }

  // Segments that were retransmitted come late but keep their old times.
  #addTime(time: Time): void {
    if (time === undefined) return
    const totals = this.#totals
    if (totals.start === undefined || time < totals.start) totals.start = time
    if (totals.end === undefined || time > totals.end) totals.end = time
  }

  summary(
    tcpConnections: number,
    unread: Summary["unread"] = new Map(),
    refused: Summary["refused"] = new Map(),
  ): Summary {
    const connections = Array.from(this.#listed.values(), (listed) =>
      "sides" in listed ? listed : this.#summaryOf(listed),
    )
    return {
      ...this.#totals,
      ...{ tcpConnections, unread, refused },
      connections: connections.sort((a, b) => a.id - b.id),
      matchingConnections: this.#onlyMatching ? this.#matching.size : undefined,
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
