/** Captures of ZMTP, and their content in a form that can be compared. */
import {
  type CaptureEvent,
  type CaptureOptions,
  type CapturePart,
  CaptureReader,
  decodeCapture,
} from "zeromq-lz4/capture"
import {
  type ConversationOptions,
  conversation,
  framesOf,
  pcapFile,
  type Said,
  type TcpPacket,
} from "./capture-files.js"

/** Returns a .pcap file of packets. */
export const captureOf = (packets: readonly TcpPacket[]): Uint8Array => pcapFile(framesOf(packets))

/** Returns a .pcap file of one connection. */
export const captured = (said: Said, options: ConversationOptions = {}): Uint8Array =>
  captureOf(conversation(said, options))

/** Formats a part: its text, after its form if it has one, or the code of its error. */
export function show({ kind, plain, error }: CapturePart): string {
  const what = error ? `(${error.code})` : Buffer.from(plain as Uint8Array).toString("latin1")
  return kind === "none" ? what : `${kind} ${what}`
}

/** Formats the events of a capture, one line for each. */
export function linesOf(events: Iterable<CaptureEvent>): string[] {
  const lines: string[] = []
  for (const event of events) {
    const { type } = event
    const id = event.connection?.id
    if (type === "message") {
      const { from, parts, arena } = event.message
      const where = arena ? ` [${arena.index + 1} of ${arena.messages}]` : ""
      lines.push(`${from}: ${parts.map(show).join(" | ")}${where}`)
    } else if (type === "command") {
      const { from, name, detail } = event.command
      lines.push(`${from}: ${name} ${detail}`.trimEnd())
    } else if (type === "error") {
      const { code, message, from } = event.error
      lines.push(`${from ?? "file"}: ${code}: ${message}`)
    } else if (type === "handshake") {
      const { version, mechanism, socketType = "?" } = event.connection.handshakes[event.from]!
      lines.push(`${event.from}: ZMTP ${version} ${mechanism} ${socketType}`)
    } else lines.push(`${type} ${id}`)
  }
  return lines
}

/** Returns the events of a capture that is read in chunks. Each chunk is overwritten after its call. */
export function eventsOf(
  file: Uint8Array,
  chunkBytes = file.length || 1,
  options: CaptureOptions = {},
): CaptureEvent[] {
  const reader = new CaptureReader(options)
  const events: CaptureEvent[] = []
  for (let at = 0; at < file.length; at += chunkBytes) {
    const chunk = file.slice(at, at + chunkBytes)
    events.push(...reader.push(chunk))
    chunk.fill(0xee)
  }
  events.push(...reader.end())
  return events
}

/** Returns the lines of events other than handshakes and commands. */
export function saidIn(file: Uint8Array, options: CaptureOptions = {}): string[] {
  return linesOf(eventsOf(file, undefined, options)).filter(
    (line) => !/^(connection|close) \d|ZMTP \d|: (READY|SUBSCRIBE|PING) /.test(line),
  )
}

export const only = (file: Uint8Array, options: CaptureOptions = {}) => {
  const { connections, errors } = decodeCapture(file, options)
  if (connections.length !== 1) throw new Error(`${connections.length} connections`)
  return { ...connections[0]!, fileErrors: errors }
}
