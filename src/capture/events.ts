import type { ProtocolErrorCode } from "../codec/errors.js"
import type { WasmSource } from "../codec/module.js"
import type { Traffic } from "../codec/traffic.js"
import type { KeyLog } from "./key-log.js"

/** One end of a TCP connection. The client is the one that opened it. */
export type Side = "client" | "server"

/**
 * The form of a part on the wire (RFC.md sections 4 and 13); "none" is a part of plain `tcp://`, which
 * has no envelope. Over `zstd+tcp://`, "ZSTD" is a frame, "ZDICT" a dictionary and "ZSTA" an arena.
 */
export type PartKind =
  | "none"
  | "plain"
  | "LZ4B"
  | "LZ4M"
  | "LZ4D"
  | "LZ4A"
  | "ZSTD"
  | "ZDICT"
  | "ZSTA"

/** Nanoseconds since 1970-01-01 UTC; undefined if the file does not say. */
export type Time = bigint | undefined

/** An error with its place. */
export interface CaptureError {
  /**
   * The code of the rule that was broken, or one of these:
   *
   * - ERR_CAPTURE_GAP: bytes of the connection are missing from the capture.
   * - ERR_CAPTURE_CUT: packets were cut when they were recorded; reported once, of the first connection
   *   that lost bytes.
   * - ERR_CAPTURE_UNREADABLE: bytes cannot be understood, such as an encrypted connection.
   * - ERR_CAPTURE_TRUNCATED: the file, or a connection, ends in the middle of a packet or a frame.
   */
  code:
    | ProtocolErrorCode
    | "ERR_CAPTURE_GAP"
    | "ERR_CAPTURE_CUT"
    | "ERR_CAPTURE_UNREADABLE"
    | "ERR_CAPTURE_TRUNCATED"
  /** A description, without the code. */
  message: string
  /** The time of its capture. */
  time: Time
  /** The sender of the broken data; undefined for errors of the file itself. */
  from: Side | undefined
  /** The offset in the file, in bytes. Of several files, {@link placeOf} says in which. */
  offset: number
}

/** One side of a handshake: its greeting and READY command (RFC.md section 3.1). */
export interface Handshake {
  /** The version of ZMTP, such as "3.1". */
  version: string
  /** The security mechanism: "NULL", "PLAIN", "CURVE" … */
  mechanism: string
  /** Whether this side is the server of PLAIN or CURVE. */
  asServer: boolean
  /** The socket type of the READY command; undefined before it. */
  socketType: string | undefined
  /** The routing id; empty if there is none. */
  identity: Uint8Array | undefined
  /** Other properties of READY: the first 256. */
  properties: ReadonlyMap<string, Uint8Array>
}

/** A command of ZMTP: READY, SUBSCRIBE, CANCEL, PING, PONG, ERROR … */
export interface CaptureCommand {
  /** The time at which its last byte was captured. */
  time: Time
  /** The sender. */
  from: Side
  /** The name, such as "READY". */
  name: string
  /** The data after the name. A password of PLAIN is blanked out. */
  body: Uint8Array
  /**
   * A description of the body, such as a subscription's topic or a PING's time to live. Of a long
   * body, only the beginning.
   */
  detail: string
}

/** One part of a message. */
export interface CapturePart {
  /** Its form on the wire. */
  kind: PartKind
  /** The bytes on the wire, including the envelope; for a part from an arena, the whole arena. */
  wire: Uint8Array
  /** The plaintext; undefined if it does not decode, in which case `error` says why. */
  plain: Uint8Array | undefined
  /** The reason why it does not decode. */
  error: CaptureError | undefined
  /**
   * "given" if it was decompressed with a dictionary that is not in the capture, but in the options:
   * with a wrong one, `plain` is wrong, because LZ4 has no checksum. "missing" if it does not decode,
   * probably because it needs a dictionary that is not in the capture: `connection.warning` says why.
   * Undefined otherwise, and in what `decodeFrames` returns.
   */
  dictionary: "given" | "missing" | undefined
}

/** A message, or a dictionary, which has one part of the kind LZ4D or ZDICT. */
export interface CaptureMessage {
  /** The time at which its last byte was captured. */
  time: Time
  /** The sender. */
  from: Side
  /**
   * Its parts; there is at least one. Those of an arena with more parts than bytes on the wire are made
   * when they are asked for; the ones made last stay the same.
   */
  parts: CapturePart[]
  /** Bytes of its parts on the wire, without frame headers; in an arena, the message's share. */
  wireBytes: number
  /** Bytes of its parts' plaintext; 0 for a dictionary. */
  plainBytes: number
  /** Its index in the arena that contained it, and that of messages; undefined if none did. */
  arena: { index: number; messages: number } | undefined
  /**
   * The ranges of its frames in the file, including headers: offset and length of each run of
   * bytes. {@link decodeFrames} turns these bytes into parts again. Of several files, {@link placeOf}
   * says in which an offset is.
   */
  ranges: readonly number[]
}

/** Traffic of a connection in one direction. A dictionary only counts its bytes on the wire. */
export type CaptureTraffic = Traffic

/** Encrypted traffic of a connection in one direction. */
export interface EncryptedTraffic {
  /** MESSAGE commands: parts of messages, subscriptions and other commands. */
  messages: number
  /** Bytes of the commands, without frame headers. */
  bytes: number
}

/** A ZMTP connection. Properties that are not known yet change as the capture is read. */
export interface CaptureConnection {
  /** The number of the connection in the capture, from 1. */
  readonly id: number
  /** Address and port, such as "127.0.0.1:5555" or "[::1]:5555"; "client" for a raw stream. */
  readonly client: string
  /** Address and port, like `client`; "server" for a raw stream. */
  readonly server: string
  /**
   * Whether the capture includes the connection's beginning. If not, the client was guessed from
   * the ports.
   */
  readonly begun: boolean
  /**
   * The transport, as shown by its messages: "tcp" is plain ZMTP. Undefined before the first message.
   */
  transport: "lz4+tcp" | "zstd+tcp" | "tcp" | undefined
  /** The handshake of each side; undefined until it was read. */
  readonly handshakes: Record<Side, Handshake | undefined>
  /**
   * Set if one side speaks `lz4+tcp://` and the other `tcp://`, or if parts do not decode because a
   * dictionary is not in the capture: a description, and what to do.
   */
  warning: string | undefined
  /**
   * With CURVE: the MESSAGE commands of each side so far that could not be opened, and their bytes.
   * Without a key that is all of them, and nothing else can be read.
   */
  encrypted: Readonly<Record<Side, EncryptedTraffic>> | undefined
  /** With CURVE: the key that opens the messages, of 32 bytes, once it was found in `keys`. */
  curveKey: Uint8Array | undefined
  /** Dictionaries in use: shipped in the capture, or given as an option. */
  readonly dictionaries: Record<Side, Uint8Array | undefined>
  /** Traffic of each side so far. */
  readonly traffic: Readonly<Record<Side, CaptureTraffic>>
  /**
   * Segments of each side whose data was in the capture before: sent again, or recorded twice, as
   * with `tcpdump -i any`.
   */
  readonly repeatedSegments: Readonly<Record<Side, number>>
  /** How it ended; undefined as long as it has not, also at the end of the capture. */
  ended: ConnectionEnd | undefined
}

/** The end of a connection. */
export interface ConnectionEnd {
  /** Who ended it: the first to send a FIN or an RST. */
  by: Side
  /** The flag of TCP with which it did. */
  how: "FIN" | "RST"
  /** Whether a message, or the greeting, was not complete. */
  inMessage: boolean
}

/** An event of a capture. Events come in the order of the packets. */
export type CaptureEvent =
  /** A new connection. The time is that of its first packet. */
  (
    | { type: "connection"; connection: CaptureConnection; time: Time }
    /** A greeting, and later the same handshake with the properties of READY. */
    | {
        type: "handshake"
        connection: CaptureConnection
        time: Time
        from: Side
        handshake: Handshake
      }
    | { type: "command"; connection: CaptureConnection; command: CaptureCommand }
    | { type: "message"; connection: CaptureConnection; message: CaptureMessage }
    /** An error. A part that does not decode has its error on the message, and is not repeated here. */
    | { type: "error"; connection: CaptureConnection | undefined; error: CaptureError }
    /** The connection has ended, as `connection.ended` says, or the capture has. */
    | { type: "close"; connection: CaptureConnection; time: Time }
  ) & {
    /**
     * The number, from 1, of the packet that completed it, over all files in the order in which they are
     * read; undefined for the bytes of one side of a connection, which have no packets.
     */
    packet?: number | undefined
  }

/**
 * A function that returns the dictionary that one side of a connection sent before the capture began;
 * undefined if it is not known.
 */
export type DictionarySource = (connection: CaptureConnection, from: Side) => Uint8Array | undefined

/** Options for reading a capture. */
export interface CaptureOptions {
  /** Maximum plaintext of one message, in bytes; -1 is no limit. Default: -1. */
  maxMessageSize?: number
  /**
   * A dictionary of 1 to 8192 bytes that was sent before the capture began. It is used for
   * connections whose beginning is not in the capture, until they ship their own. What was
   * decompressed with it has `dictionary: "given"`.
   *
   * A function chooses one for each connection and side, or none. It is called once, at the first
   * message of a side whose beginning is not in the capture. What it throws, and the TypeError or
   * RangeError for a dictionary that is none, end the reading.
   */
  dictionary?: Uint8Array | DictionarySource
  /**
   * Keys of connections with CURVE, whose messages are decrypted with them. A connection is recognised
   * by the HELLO of its handshake. If that is not in the capture, all keys are tried with its first
   * messages, but only about half a million keys in all.
   */
  keys?: KeyLog
  /**
   * The WebAssembly module to use instead of the embedded one: its bytes, a `WebAssembly.Module`
   * or, for {@link readCapture}, a `URL` to fetch.
   */
  wasm?: WasmSource
}
