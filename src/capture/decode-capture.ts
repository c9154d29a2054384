import { checkView } from "../codec/options.js"
import type {
  CaptureCommand,
  CaptureConnection,
  CaptureError,
  CaptureEvent,
  CaptureMessage,
  CaptureOptions,
  Time,
} from "./events.js"
import { shipmentIn } from "./parts.js"
import { readWanted } from "./read-wanted.js"
import { CaptureReader } from "./reader.js"
import { EVENT_BYTES, messageBytes } from "./streams/memory.js"

/** A connection with all its commands, messages and errors. */
export interface CapturedConnection extends CaptureConnection {
  /** Its commands, in order. */
  commands: CaptureCommand[]
  /** Its messages, in order; as many as `traffic` counts, unless some are left out. */
  messages: CaptureMessage[]
  /** The dictionaries that were shipped, in order; each has one part, of the kind LZ4D. */
  shipments: CaptureMessage[]
  /** Its errors. A part that does not decode has its error on the part. */
  errors: CaptureError[]
}

/** The whole content of a capture. */
export interface Capture {
  /** Its connections, in the order in which they began. */
  connections: CapturedConnection[]
  /** Errors of the file itself. */
  errors: CaptureError[]
  /** Numbers of packets that were not read, as {@link CaptureReader.unread} has them. */
  unread: ReadonlyMap<string, number>
  /** Numbers of connections that were refused, by server, as {@link CaptureReader.refused} has them. */
  refused: ReadonlyMap<string, number>
}

/**
 * Maximum number of connections that are kept: each takes many times the size of its packets in memory.
 */
export const KEPT_CONNECTIONS_MAX: number = 100_000
/** Maximum bytes of the messages and commands that are kept. */
const KEPT_MAX_BYTES = 1 << 30

/**
 * Decodes a whole capture in memory: .pcap, .pcapng, or the bytes of one direction of a connection;
 * or several files of packets, which are merged by time.
 *
 * Of more than 100,000 connections only the first are kept, and of messages, commands and errors
 * those that take up to 1 GiB, and one more; `errors` says what was left out. {@link readCapture} has
 * no such limit.
 *
 * @throws CaptureFormatError if the file is not a capture.
 * @throws TypeError or RangeError if an argument has another type, or an option is unknown or out of
 * range.
 * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
 */
export function decodeCapture(
  file: Uint8Array | readonly Uint8Array[],
  options: CaptureOptions = {},
): Capture {
  const files = Array.isArray(file) ? file : [file]
  return decodeWithin(
    files.map((file) => checkView("file", file)),
    options,
    KEPT_MAX_BYTES,
  )
}

/** Decodes a capture, and keeps messages, commands and errors until they exceed `maxBytes`. */
export function decodeWithin(
  files: readonly Uint8Array[],
  options: CaptureOptions,
  maxBytes: number,
): Capture {
  using reader = new CaptureReader(options, files.length)
  const errors: CaptureError[] = []
  const connections = new Map<CaptureConnection, CapturedConnection>()
  let left = maxBytes
  let isTold = false
  const add = (event: CaptureEvent): void => {
    const { connection } = event
    if (left <= 0 && bytesOf(event) > 0) {
      if (!isTold) errors.push(tooMuch(event, maxBytes))
      isTold = true
      return
    }
    left -= bytesOf(event)
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
    else if (event.type === "message") all?.[listOf(event.message)].push(event.message)
    else if (event.type === "error") all?.errors.push(event.error)
  }
  const addAll = (events: readonly CaptureEvent[]): void => {
    for (const event of events) add(event)
  }
  readWanted(
    files,
    reader,
    (chunk, file) => addAll(reader.push(chunk, file)),
    (file) => addAll(reader.endFile(file)),
  )
  addAll(reader.end())
  const { unread, refused } = reader
  return { connections: [...connections.values()], errors, unread, refused }
}

const collecting = (connection: CaptureConnection): CapturedConnection =>
  Object.assign(connection, { commands: [], messages: [], shipments: [], errors: [] })

/** As in `traffic`, a dictionary that is refused is a message. */
const listOf = (message: CaptureMessage): "shipments" | "messages" =>
  shipmentIn(message) ? "shipments" : "messages"

/** Returns the error for the first connection that is not kept. */
export function tooManyConnections(time: Time): CaptureError {
  const message = `there are more than ${KEPT_CONNECTIONS_MAX} connections: the rest are ignored`
  return { code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset: 0 }
}

/** Returns approximately the memory that an event takes. */
function bytesOf(event: CaptureEvent): number {
  if (event.type === "command") return EVENT_BYTES + event.command.body.length
  if (event.type === "error") return EVENT_BYTES
  if (event.type !== "message") return 0
  return messageBytes(event.message)
}

/** Returns the error for the first event that is not kept. */
function tooMuch(event: CaptureEvent, maxBytes: number): CaptureError {
  const { offset, time } =
    event.type === "message"
      ? { offset: event.message.ranges[0] ?? 0, time: event.message.time }
      : event.type === "error"
        ? event.error
        : { offset: 0, time: event.type === "command" ? event.command.time : undefined }
  const message = `the messages and commands take more than ${maxBytes} bytes: the rest are left out`
  return { code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset }
}
