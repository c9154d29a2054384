import type { Traffic } from "../codec/codec.js"
import type { ProtocolErrorCode } from "../codec/errors.js"
import type { WasmSource } from "../codec/module.js"

/** An end of a TCP connection: the client is the one that opened it. */
export type Side = "client" | "server"

/**
 * The form of a part on the wire (RFC.md section 4); "none" is a part of plain
 * `tcp://`, which has no envelope.
 */
export type PartKind = "none" | "plain" | "LZ4B" | "LZ4M" | "LZ4D" | "LZ4A"

/** Nanoseconds since 1970-01-01 UTC; undefined where the file does not say. */
export type Time = bigint | undefined

/** The place of an error, and its reason. */
export interface CaptureError {
  /**
   * A ProtocolError's code for what a peer did wrong (RFC.md section 5.3), or
   * - ERR_CAPTURE_GAP: bytes of the connection are missing from the capture,
   * - ERR_CAPTURE_UNREADABLE: bytes cannot be understood, such as an encrypted connection,
   * - ERR_CAPTURE_TRUNCATED: the file, or a connection, ends in the middle of something.
   */
  code: ProtocolErrorCode | "ERR_CAPTURE_GAP" | "ERR_CAPTURE_UNREADABLE" | "ERR_CAPTURE_TRUNCATED"
  /** In words, without the code. */
  message: string
  /** When it was captured. */
  time: Time
  /** The sender of the broken data; undefined for errors of the file itself. */
  from: Side | undefined
  /** The offset in the file, in bytes. */
  offset: number
}

/** One side of a handshake: its greeting and READY command (RFC.md section 3.1). */
export interface Handshake {
  /** ZMTP's, such as "3.1". */
  version: string
  /** "NULL", "PLAIN", "CURVE" … */
  mechanism: string
  /** PLAIN's or CURVE's server. */
  asServer: boolean
  /** Of the READY command; undefined before it. */
  socketType: string | undefined
  /** The routing id; empty when there is none. */
  identity: Uint8Array | undefined
  /** Other properties of READY: the first 256. */
  properties: ReadonlyMap<string, Uint8Array>
}

/** A command of ZMTP: READY, SUBSCRIBE, CANCEL, PING, PONG, ERROR … */
export interface CaptureCommand {
  /** When its last byte was captured. */
  time: Time
  /** The sender. */
  from: Side
  /** Such as "READY". */
  name: string
  /** The data behind the name; a password of PLAIN is blanked out. */
  body: Uint8Array
  /** The body in words, such as a subscription's topic or a PING's time to live; of a long one the beginning. */
  detail: string
}

/** One part of a message. */
export interface CapturePart {
  /** Its form on the wire. */
  kind: PartKind
  /** As it travelled, envelope included; for a part from an arena, the whole arena. */
  wire: Uint8Array
  /** The plaintext; undefined when it does not decode, which `error` explains. */
  plain: Uint8Array | undefined
  /** Why it does not decode. */
  error: CaptureError | undefined
}

/** A message, or the shipment of a dictionary: then it has one part, of the kind LZ4D. */
export interface CaptureMessage {
  /** When its last byte was captured. */
  time: Time
  /** The sender. */
  from: Side
  /** Its parts, one at least. */
  parts: CapturePart[]
  /** Bytes of its parts on the wire, without frame headers; of an arena, the message's share. */
  wireBytes: number
  /** Bytes of its parts' plaintext; 0 for a dictionary. */
  plainBytes: number
  /** Its place in the arena that it came in. */
  arena: { index: number; messages: number } | undefined
  /**
   * The ranges of its frames, headers included, in the file: offset and length of one
   * run of bytes after the other. `decodeFrames` makes parts of them again.
   */
  ranges: readonly number[]
}

/** Traffic of a connection in one direction. A dictionary counts its bytes on the wire only. */
export type CaptureTraffic = Traffic

/** A ZMTP connection; what is not known yet changes as the capture goes on. */
export interface CaptureConnection {
  /** 1 for the first of the capture. */
  readonly id: number
  /** Address and port, such as "127.0.0.1:5555" or "[::1]:5555"; a raw stream has "client" and "server". */
  readonly client: string
  /** As `client`. */
  readonly server: string
  /** Whether the capture has its beginning. If not, the client was guessed by the ports. */
  readonly begun: boolean
  /** By its messages: "tcp" is plain ZMTP. Undefined before the first. */
  transport: "lz4+tcp" | "tcp" | undefined
  /** Each side's handshake; undefined until it was read. */
  readonly handshakes: Record<Side, Handshake | undefined>
  /** Dictionaries in use: shipped in the capture, or given as an option. */
  readonly dictionaries: Record<Side, Uint8Array | undefined>
  /** Traffic of each side so far. */
  readonly traffic: Readonly<Record<Side, CaptureTraffic>>
}

/** An event of a capture, in the order of the packets. */
export type CaptureEvent =
  /** Its time is that of the connection's first packet. */
  | { type: "connection"; connection: CaptureConnection; time: Time }
  /** A greeting, then the same with what READY adds to it. */
  | {
      type: "handshake"
      connection: CaptureConnection
      time: Time
      from: Side
      handshake: Handshake
    }
  | { type: "command"; connection: CaptureConnection; command: CaptureCommand }
  | { type: "message"; connection: CaptureConnection; message: CaptureMessage }
  /** A part that does not decode has its error on the message, and is not repeated here. */
  | { type: "error"; connection: CaptureConnection | undefined; error: CaptureError }
  /** Neither side says more. */
  | { type: "close"; connection: CaptureConnection; time: Time }

/** Options of reading a capture. */
export interface CaptureOptions {
  /** Maximum plaintext of one message, in bytes; -1, the default, is no limit. */
  maxMessageSize?: number
  /**
   * A dictionary of 1 to 8192 bytes that was shipped before the capture began: used
   * on connections whose beginning is not in it, until they ship one.
   */
  dictionary?: Uint8Array
  /**
   * The WebAssembly module, when it is not to be the embedded one: its bytes, a
   * `WebAssembly.Module` or, for `readCapture`, a `URL` to fetch.
   */
  wasm?: WasmSource
}
