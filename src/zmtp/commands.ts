/** Command frames: a name, followed by data (RFC.md sections 3.1, 3.4 and 3.5). */
import { ProtocolError } from "../codec/errors.js"
import { COMMAND, frameHeadLength, writeFrameHead } from "../codec/frames.js"
import { latin1 } from "./metadata.js"

/** Maximum size in bytes of a command after the handshake, and of one during it (RFC.md section 7). */
export const COMMAND_MAX_BYTES: number = 1 << 20
export const HANDSHAKE_COMMAND_MAX_BYTES: number = 64 * 1024

/** Maximum size in bytes of the context of a PING, which its PONG returns. */
const CONTEXT_MAX_BYTES = 16

/** Commands of ZMTP 3.1 with NULL or PLAIN, and of its draft socket types. */
const KNOWN: ReadonlySet<string> = new Set(
  "READY ERROR SUBSCRIBE CANCEL PING PONG JOIN LEAVE HELLO WELCOME INITIATE".split(" "),
)

/** Returns the name at the beginning of a command's body; undefined if it has none. */
export function commandName(body: Uint8Array): string | undefined {
  const length = body[0] ?? 0
  if (length === 0 || length >= body.length) return undefined
  for (let i = 1; i <= length; i++) {
    const byte = body[i] as number
    if (byte <= 0x20 || byte >= 0x7f) return undefined
  }
  return latin1(body.subarray(1, 1 + length))
}

export function isKnownCommand(name: string | undefined): boolean {
  return name !== undefined && KNOWN.has(name)
}

/** Returns the frame of a command. */
export function writeCommand(name: string, data: Uint8Array): Uint8Array {
  const bodyBytes = 1 + name.length + data.length
  const frame = new Uint8Array(frameHeadLength(bodyBytes) + bodyBytes)
  let at = writeFrameHead(frame, 0, COMMAND, bodyBytes)
  frame[at++] = name.length
  for (let i = 0; i < name.length; i++) frame[at++] = name.charCodeAt(i)
  frame.set(data, at)
  return frame
}

/** Returns a PING with a time to live in tenths of a second, from 0 to 65535; 0 is none. */
export function writePing(timeToLive: number): Uint8Array {
  return writeCommand("PING", Uint8Array.of(timeToLive >>> 8, timeToLive & 0xff))
}

/** Returns the PONG for a PING. `data` is the data of the PING. */
export function writePong(data: Uint8Array): Uint8Array {
  return writeCommand("PONG", data.subarray(2, 2 + CONTEXT_MAX_BYTES))
}

/** Returns the time to live of a PING in milliseconds; 0 if it has none. */
export function pingTimeToLiveMs(data: Uint8Array): number {
  return (((data[0] ?? 0) << 8) | (data[1] ?? 0)) * 100
}

/** Returns the reason of an ERROR; undefined if it is malformed. */
export function errorReason(data: Uint8Array): Uint8Array | undefined {
  const length = data[0]
  if (length === undefined || length > data.length - 1) return undefined
  return data.subarray(1, 1 + length)
}

/** Returns the error for a command of more than `max` bytes. */
export function commandTooLong(bytes: number, max: number): ProtocolError {
  return new ProtocolError(
    "ERR_ZMTP_COMMAND",
    `a command of ${bytes} bytes; at most ${max} are allowed`,
  )
}
