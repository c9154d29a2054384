import type { RefusedPart, Rule } from "./refused-part.js"
import { DICTIONARY_MAX_BYTES, SENTINEL_BYTES } from "./wire.js"

/** The code of a rule that a peer broke: docs/errors.md. */
export type ProtocolErrorCode =
  | "ERR_LZ4_PART_TOO_SHORT"
  | "ERR_LZ4_UNKNOWN_SENTINEL"
  | "ERR_LZ4_TRUNCATED"
  | "ERR_LZ4_BLOCK_TOO_LARGE"
  | "ERR_LZ4_BUDGET_EXCEEDED"
  | "ERR_LZ4_IMPLAUSIBLE_SIZE"
  | "ERR_LZ4_CORRUPT_BLOCK"
  | "ERR_LZ4_SIZE_MISMATCH"
  | "ERR_LZ4_TRAILING_BYTES"
  | "ERR_LZ4_DICTIONARY_SIZE"
  | "ERR_LZ4_DICTIONARY_REPEATED"
  | "ERR_LZ4_DICTIONARY_MULTIPART"
  | "ERR_LZ4_ARENA"
  | "ERR_ZSTD_PART_TOO_SHORT"
  | "ERR_ZSTD_UNKNOWN_SENTINEL"
  | "ERR_ZSTD_TRUNCATED"
  | "ERR_ZSTD_BLOCK_TOO_LARGE"
  | "ERR_ZSTD_BUDGET_EXCEEDED"
  | "ERR_ZSTD_IMPLAUSIBLE_SIZE"
  | "ERR_ZSTD_CORRUPT_BLOCK"
  | "ERR_ZSTD_SIZE_MISMATCH"
  | "ERR_ZSTD_TRAILING_BYTES"
  | "ERR_ZSTD_DICTIONARY_SIZE"
  | "ERR_ZSTD_DICTIONARY_REPEATED"
  | "ERR_ZSTD_DICTIONARY_MULTIPART"
  | "ERR_ZSTD_ARENA"
  | "ERR_ZMTP_GREETING"
  | "ERR_ZMTP_FRAME"
  | "ERR_ZMTP_HANDSHAKE"
  | "ERR_ZMTP_COMMAND"
  | "ERR_ZMTP_PARTS"
  | "ERR_ZMTP_MESSAGE"
  | "ERR_ZMTP_CURVE"

/**
 * The error for a peer that broke a rule of the wire format. The message says what was received and
 * what is allowed. Match on `code`, which is stable, rather than on the message.
 */
export class ProtocolError extends Error {
  /** "ProtocolError", even if the code is minified. */
  override readonly name = "ProtocolError"
  /** The rule that was broken. */
  readonly code: ProtocolErrorCode

  /** Makes an error whose message is the code and `detail`. */
  constructor(code: ProtocolErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    this.code = code
  }
}

// The rules in the order of -ZL_E_* in zeromq_lz4.h, from 1. A format may have others.
const PART_RULES: readonly Rule[] = [
  ["PART_TOO_SHORT", (o) => `is ${o.wireBytes} bytes long; a sentinel takes ${SENTINEL_BYTES}`],
  [
    "UNKNOWN_SENTINEL",
    (o) => `begins with ${hex(o.head.subarray(0, SENTINEL_BYTES))}, not a sentinel`,
  ],
  ["TRUNCATED", (o) => `ends after ${o.wireBytes} bytes, before its last block does`],
  [
    "BLOCK_TOO_LARGE",
    (o) => `declares one block of ${o.plainBytes} bytes; at most ${o.blockMax} are allowed`,
  ],
  ["BUDGET_EXCEEDED", describeExcess],
  [
    "IMPLAUSIBLE_SIZE",
    (o) => `declares ${o.plainBytes} bytes, more than its ${o.wireBytes} bytes can hold`,
  ],
  ["CORRUPT_BLOCK", (o) => `declares ${o.plainBytes} bytes; a block does not decode`],
  ["SIZE_MISMATCH", (o) => `declares ${o.plainBytes} bytes; a block decodes to fewer`],
  ["TRAILING_BYTES", (o) => `has bytes after the last block of its ${o.plainBytes} bytes`],
  [
    "DICTIONARY_SIZE",
    (o) =>
      `is a dictionary of ${o.wireBytes - o.format.dictionaryAt} bytes, not 1 to ${DICTIONARY_MAX_BYTES}`,
  ],
  ["DICTIONARY_REPEATED", () => "is a second dictionary; one is allowed per connection"],
  ["DICTIONARY_MULTIPART", () => "is a dictionary inside a multipart message"],
  [
    "ARENA",
    (o) => `is a malformed arena of ${o.wireBytes} bytes, or has more parts than these allow`,
  ],
]

/** Returns the error for a part that the module refused with a negative status. */
export function partError(status: number, part: RefusedPart): ProtocolError | RangeError {
  const { format } = part
  const rule = format.ruleOf(status) ?? PART_RULES[-status - 1]
  // A limit of this side. A dictionary declares no plaintext.
  if (!rule) return outOfMemory(`part ${part.part}`, part.plainBytes || part.wireBytes)
  const [suffix, describe] = rule
  const code = `ERR_${format.name.toUpperCase()}_${suffix}` as ProtocolErrorCode
  return new ProtocolError(code, `part ${part.part} ${describe(part)}`)
}

/** The sizes of a part that exceeds its budget, in bytes. */
interface Excess {
  plainBytes: number | bigint
  budgetLeft: number | bigint
  budgetBytes: number
}

function describeExcess({ plainBytes, budgetLeft, budgetBytes }: Excess): string {
  return `declares ${plainBytes} bytes; ${budgetLeft} left of maxMessageSize ${budgetBytes}`
}

/** Returns the error for a part that is too long and was refused before the module saw it. */
export function budgetExceeded(
  part: number,
  plainBytes: number,
  budgetLeft: number,
  budgetBytes: number,
): ProtocolError {
  const detail = describeExcess({ plainBytes, budgetLeft, budgetBytes })
  return new ProtocolError("ERR_LZ4_BUDGET_EXCEEDED", `part ${part} ${detail}`)
}

/** Formats bytes for an error. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ")
}

/** Maximum bytes of a peer's data that an error quotes. */
const QUOTED_MAX_BYTES = 64

/** Quotes the beginning of a peer's data for an error, in printable characters only. */
export function quoted(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes.subarray(0, QUOTED_MAX_BYTES))
    text +=
      byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
        ? `\\x${byte.toString(16).padStart(2, "0")}`
        : String.fromCharCode(byte)
  return `"${text}"${bytes.length > QUOTED_MAX_BYTES ? " …" : ""}`
}

/**
 * A caller's mistake, or a limit of the machine. The codes are stable, and docs/errors.md lists
 * them. The first three are those of Node's own functions.
 */
export type UsageErrorCode =
  | "ERR_INVALID_ARG_TYPE"
  | "ERR_INVALID_ARG_VALUE"
  | "ERR_OUT_OF_RANGE"
  | "ERR_LZ4_CLOSED"
  | "ERR_LZ4_NO_PLAINTEXT"
  | "ERR_LZ4_TARGET_TOO_SMALL"
  | "ERR_LZ4_OUT_OF_MEMORY"
  | "ERR_LZ4_WASM"
  | "ERR_LZ4_THREAD"
  | "ERR_LZ4_PART_DETACHED"
  | "ERR_LZ4_CLIENT_KEYS"

/** Sets the code of an error. */
export function withCode<E extends Error>(error: E, code: UsageErrorCode): E {
  return Object.assign(error, { code })
}

/** Returns the error for an argument or option of a wrong type. */
export function wrongType(message: string): TypeError {
  return withCode(new TypeError(message), "ERR_INVALID_ARG_TYPE")
}

/** Returns the error for an unknown value, or one that conflicts with others. */
export function wrongValue(message: string): TypeError {
  return withCode(new TypeError(message), "ERR_INVALID_ARG_VALUE")
}

/** Returns the error for a number or a length that is out of range. */
export function outOfRange(message: string): RangeError {
  return withCode(new RangeError(message), "ERR_OUT_OF_RANGE")
}

/** Returns the error for the use of an object after it was closed. */
export function closed(what: string): Error {
  return withCode(new Error(`${what} is closed`), "ERR_LZ4_CLOSED")
}

/** Returns the error for a WebAssembly module that cannot be loaded, or is the wrong one. */
export function wasmError(message: string, cause?: unknown): TypeError {
  return withCode(new TypeError(`wasm: ${message}`, { cause }), "ERR_LZ4_WASM")
}

/** Returns the error for a worker thread that could not start, did not answer, or ended. */
export function threadError(cause: Error): Error {
  return withCode(
    new Error(`the worker thread of endpoints failed: ${cause.message}`, { cause }),
    "ERR_LZ4_THREAD",
  )
}

/** Returns the error for a part whose memory has gone before it was sent. */
export function partDetached(bytes: number): Error {
  return withCode(
    new Error(
      `the memory of a part of ${bytes} bytes was detached or shrank before it was sent: it belongs to the socket until then (lz4.flush())`,
    ),
    "ERR_LZ4_PART_DETACHED",
  )
}

/** Returns the error for a part that there is not enough memory for. The codec stays usable. */
export function outOfMemory(what: string, bytes: number | bigint): RangeError {
  return noMemory(`${what} needs ${bytes} bytes; memory and arrays end at about 4 GiB`)
}

/** Returns the error for an instance of the module that cannot be made, mostly for want of addresses. */
export function noAddresses(): RangeError {
  return noMemory("V8 reserves 10 GB of addresses (ulimit -v, node --disable-wasm-trap-handler)")
}

function noMemory(why: string): RangeError {
  return withCode(new RangeError(`out of memory: ${why}`), "ERR_LZ4_OUT_OF_MEMORY")
}

/** Returns the error for a dictionary or an arena that was given in place of a part. */
export function noPlaintext(what: string): TypeError {
  return withCode(
    new TypeError(`the part is ${what}; it has no plaintext of its own`),
    "ERR_LZ4_NO_PLAINTEXT",
  )
}

/** Returns the error for a caller's array that is too small. */
export function targetTooSmall(target: Uint8Array, bytes: number): RangeError {
  return withCode(
    new RangeError(`target is ${target.length} bytes long; the part takes ${bytes}`),
    "ERR_LZ4_TARGET_TOO_SMALL",
  )
}

/** Length of a key of CURVE as text, which may be a secret one. */
const KEY_CHARACTERS = 40

/** Formats a value from the caller for an error. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === "string")
    return value.length >= KEY_CHARACTERS ? "a string" : JSON.stringify(value)
  if (typeof value === "function") return "a function"
  if (typeof value !== "object") return `${String(value)} (${typeof value})`
  const name = value.constructor?.name
  return name ? `an instance of ${name}` : "an object"
}
