/** Records the calls that StreamReader makes for a capture. */
import type { CaptureError, Side, Time } from "../../src/capture/events.js"
import { StreamReader } from "../../src/capture/packets/stream-reader.js"
import type { TcpConnection } from "../../src/capture/packets/stream-sink.js"
import { concat } from "./wire.js"

export type Call =
  | { call: "data"; from: Side; bytes: Uint8Array; offset: number; time: Time }
  | { call: "gap"; from: Side; bytes: number; offset: number; time: Time }
  | { call: "end"; from: Side; time: Time; cut: boolean }

export interface RecordedConnection extends TcpConnection {
  calls: Call[]
  /** Segments with data that was there before. */
  repeated: Record<Side, number>
  /** How it ended, such as "FIN of the client". */
  ending: string | undefined
}

export interface Recording {
  connections: RecordedConnection[]
  errors: CaptureError[]
  /** Numbers of packets that were not read. */
  unread: ReadonlyMap<string, number>
  /** Numbers of connections that were refused, by server. */
  refused: ReadonlyMap<string, number>
}

export interface RecordOptions {
  /** Sizes of the chunks, which are repeated; one chunk by default. */
  chunks?: readonly number[]
  /** Returns whether a connection is of interest. Called for all of its bytes. */
  wanted?: (connection: RecordedConnection) => boolean
  /** Whether connections are known to be of interest. */
  known?: boolean
}

export function record(file: Uint8Array, options: RecordOptions = {}): Recording {
  const { chunks = [file.length || 1], wanted = () => true, known = true } = options
  const recording: Recording = {
    connections: [],
    errors: [],
    unread: new Map(),
    refused: new Map(),
  }
  const reader = new StreamReader(
    (tcp) => {
      const connection: RecordedConnection = {
        ...{ ...tcp, calls: [], repeated: { client: 0, server: 0 }, ending: undefined },
      }
      recording.connections.push(connection)
      const { calls } = connection
      return {
        isKnown: known,
        data(from, bytes, offset, time) {
          calls.push({ call: "data", from, bytes: bytes.slice(), offset, time })
          return wanted(connection)
        },
        gap: (from, bytes, offset, time) => calls.push({ call: "gap", from, bytes, offset, time }),
        cut: (from, bytes, offset, time) => calls.push({ call: "gap", from, bytes, offset, time }),
        repeated: (from) => {
          connection.repeated[from]++
        },
        ending: (by, how) => {
          connection.ending ??= `${how} of the ${by}`
        },
        end: (from, time, cut) => calls.push({ call: "end", from, time, cut }),
      }
    },
    (error) => recording.errors.push(error),
  )
  for (let at = 0, i = 0; at < file.length; i++) {
    const size = chunks[i % chunks.length] as number
    // A copy that is cleared after the call, because the reader must not keep it.
    const chunk = file.slice(at, at + size)
    reader.push(chunk)
    chunk.fill(0xee)
    at += size
  }
  reader.end()
  return { ...recording, unread: reader.unread, refused: reader.refused }
}

/** Returns the data of one side: runs of bytes, the sizes of gaps between them, and how it ended. */
export function saidBy(
  { calls }: RecordedConnection,
  side: Side,
): (Uint8Array | number | string)[] {
  const said: (Uint8Array | number | string)[] = []
  for (const entry of calls) {
    if (entry.from !== side) continue
    const last = said.at(-1)
    if (entry.call === "end") said.push(entry.cut ? "cut" : "end")
    else if (typeof last === "object" && typeof entry.bytes === "object")
      said[said.length - 1] = concat(last, entry.bytes)
    else if (typeof last === "number" && typeof entry.bytes === "number")
      said[said.length - 1] = last + entry.bytes
    else said.push(entry.bytes)
  }
  return said
}

/** Does the same for text. */
export function textBy(connection: RecordedConnection, side: Side): (number | string)[] {
  return saidBy(connection, side).map((item) =>
    typeof item === "object" ? `"${Buffer.from(item).toString("latin1")}"` : item,
  )
}
