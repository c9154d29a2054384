import type {
  CaptureCommand,
  CaptureConnection,
  CaptureError,
  CaptureMessage,
  CaptureOptions,
} from "./events.js"
import { CaptureReader } from "./reader.js"

/** A connection with all that went over it. */
export interface CapturedConnection extends CaptureConnection {
  /** Its commands, in order. */
  commands: CaptureCommand[]
  /** Its messages, in order. */
  messages: CaptureMessage[]
  /** Those of parts that do not decode are on the parts. */
  errors: CaptureError[]
}

/** All of a capture. */
export interface Capture {
  /** Its connections, by when they began. */
  connections: CapturedConnection[]
  /** Of the file itself. */
  errors: CaptureError[]
}

/**
 * Decodes a capture that is in memory, as is all that it holds: .pcap, .pcapng, or the bytes of
 * one direction of a connection.
 *
 * @throws CaptureFormatError when the file is no capture.
 * @throws TypeError, RangeError for options that are unknown or out of range.
 */
export function decodeCapture(file: Uint8Array, options: CaptureOptions = {}): Capture {
  using reader = new CaptureReader(options)
  const errors: CaptureError[] = []
  const connections = new Map<CaptureConnection, CapturedConnection>()
  for (const events of [reader.push(file), reader.end()]) {
    for (const event of events) {
      const { connection } = event
      const all = connection && connections.get(connection)
      if (event.type === "connection")
        connections.set(
          event.connection,
          Object.assign(event.connection, { commands: [], messages: [], errors: [] }),
        )
      else if (event.type === "command") all?.commands.push(event.command)
      else if (event.type === "message") all?.messages.push(event.message)
      else if (event.type === "error") (all ? all.errors : errors).push(event.error)
    }
  }
  return { connections: [...connections.values()], errors }
}
