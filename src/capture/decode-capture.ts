import { checkBytes } from "../codec/options.js"
import type {
  CaptureCommand,
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  CaptureOptions,
  Time,
} from "./events.js"
import { CaptureReader } from "./reader.js"

/** A connection with all its commands, messages and errors. */
export interface CapturedConnection extends CaptureConnection {
  /** Its commands, in order. */
  commands: CaptureCommand[]
  /** Its messages, in order. */
  messages: CaptureMessage[]
  /** Its errors. A part that does not decode has its error on the part. */
  errors: CaptureError[]
}

/** The whole content of a capture. */
export interface Capture {
  /** Its connections, in the order in which they began. */
  connections: CapturedConnection[]
  /** Errors of the file itself. */
  errors: CaptureError[]
}

/** Maximum number of connections that are kept: each takes many times the size of its packets in memory. */
export const KEPT_CONNECTIONS_MAX: number = 100_000
/** The file is read in pieces, so that the events of one piece are freed before the next. */
const CHUNK_BYTES = 1 << 20

/**
 * Decodes a whole capture in memory: .pcap, .pcapng, or the bytes of one direction of a connection.
 * Of more than 100,000 connections only the first are kept, and `errors` says so.
 *
 * @throws CaptureFormatError if the file is not a capture.
 * @throws TypeError or RangeError if an option is unknown or out of range.
 */
export function decodeCapture(file: Uint8Array, options: CaptureOptions = {}): Capture {
  checkBytes("file", file)
  using reader = new CaptureReader(options)
  const errors: CaptureError[] = []
  const connections = new Map<CaptureConnection, CapturedConnection>()
  const add = (event: CaptureEvent): void => {
    const { connection } = event
    if (event.type === "connection") {
      const { id } = event.connection
      if (id > KEPT_CONNECTIONS_MAX + 1) return
      if (id > KEPT_CONNECTIONS_MAX) errors.push(tooManyConnections(event.time))
      else connections.set(event.connection, collecting(event.connection))
      return
    }
    if (event.type === "error" && !connection) errors.push(event.error)
    const all = connection && connections.get(connection)
    if (event.type === "command") all?.commands.push(event.command)
    else if (event.type === "message") all?.messages.push(event.message)
    else if (event.type === "error") all?.errors.push(event.error)
  }
  for (let at = 0; at < file.length; at += CHUNK_BYTES)
    for (const event of reader.push(file.subarray(at, at + CHUNK_BYTES))) add(event)
  for (const event of reader.end()) add(event)
  return { connections: [...connections.values()], errors }
}

const collecting = (connection: CaptureConnection): CapturedConnection =>
  Object.assign(connection, { commands: [], messages: [], errors: [] })

/** Returns the error for the first connection that is not kept. */
export function tooManyConnections(time: Time): CaptureError {
  const message = `there are more than ${KEPT_CONNECTIONS_MAX} connections: the rest are ignored`
  return { code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset: 0 }
}
