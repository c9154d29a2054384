import type {
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  Time,
} from "../capture/events.js"
import { type ConnectionSummary, connectionSummary } from "../capture/summary.js"
import type { Traffic } from "../codec/traffic.js"

/** A connection in a summary. */
export interface TalliedConnection extends ConnectionSummary {
  closed: boolean
}

/** Totals of a whole capture, regardless of a filter. */
export interface Summary {
  /** The first connections, up to the tally's maximum. */
  connections: TalliedConnection[]
  /** The number of all connections. */
  connectionCount: number
  /** Number of TCP connections with data, whether ZMTP or not. */
  tcpConnections: number
  /** Numbers of packets that were not read, by what they are. */
  unread: ReadonlyMap<string, number>
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
  readonly #open = new Map<number, CaptureConnection>()
  readonly #closed: TalliedConnection[] = []
  readonly #errors = new Map<number, number>()
  readonly #traffic: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  #connectionCount = 0
  #errorCount = 0
  #start: Time
  #end: Time
  #rows = 0
  /** Number of rows that matched the filter. */
  matching = 0
  /** The first error of the file itself. */
  fileError: CaptureError | undefined

  /**
   * @param maxConnections connections to keep. Others are only counted, so that memory does not
   * grow with the capture.
   */
  constructor(maxConnections: number) {
    this.#maxConnections = maxConnections
  }

  add(event: CaptureEvent, matching: boolean): void {
    this.#rows++
    if (matching) this.matching++
    if (event.type === "error" && !event.connection) this.fileError ??= event.error
    this.#addTime(timeOf(event))
    const errors = errorsOf(event)
    const id = event.connection?.id ?? 0
    this.#errorCount += errors
    if (event.type === "connection") this.#connectionCount++
    if (event.type === "message") this.#addMessage(event.message)
    if (id > this.#maxConnections) return
    if (errors > 0) this.#errors.set(id, (this.#errors.get(id) ?? 0) + errors)
    if (event.type === "connection") this.#open.set(id, event.connection)
    if (event.type === "close") {
      // Drop the reference, so that the connection and its dictionaries can be freed.
      this.#open.delete(id)
      this.#closed.push(this.#summaryOf(event.connection, true))
    }
  }

  #addMessage({ parts, plainBytes, wireBytes }: CaptureMessage): void {
    // As in a connection's traffic, a dictionary only counts its bytes on the wire.
    if (parts[0]?.kind !== "LZ4D") this.#traffic.messages++
    this.#traffic.plainBytes += plainBytes
    this.#traffic.wireBytes += wireBytes
  }

  // Segments that were retransmitted come late but keep their old times.
  #addTime(time: Time): void {
    if (time === undefined) return
    if (this.#start === undefined || time < this.#start) this.#start = time
    if (this.#end === undefined || time > this.#end) this.#end = time
  }

  summary(tcpConnections: number, unread: Summary["unread"] = new Map()): Summary {
    const open = Array.from(this.#open.values(), (connection) => this.#summaryOf(connection, false))
    return {
      connections: [...this.#closed, ...open].sort((a, b) => a.id - b.id),
      connectionCount: this.#connectionCount,
      tcpConnections,
      unread,
      start: this.#start,
      end: this.#end,
      rows: this.#rows,
      matching: this.matching,
      errors: this.#errorCount,
      traffic: this.#traffic,
    }
  }

  #summaryOf(connection: CaptureConnection, closed: boolean): TalliedConnection {
    return { ...connectionSummary(connection, this.#errors.get(connection.id) ?? 0), closed }
  }
}

function errorsOf(event: CaptureEvent): number {
  if (event.type === "error") return 1
  if (event.type !== "message") return 0
  return event.message.parts.filter(({ error }) => error).length
}

function timeOf(event: CaptureEvent): Time {
  switch (event.type) {
    case "message":
      return event.message.time
    case "command":
      return event.command.time
    case "error":
      return event.error.time
    default:
      return event.time
  }
}
