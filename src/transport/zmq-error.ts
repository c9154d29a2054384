import { constants } from "node:os"

/** An error in the form of zeromq.js. */
export interface ZmqError extends Error {
  code: string
  errno: number
  /** The endpoint that caused the error. */
  address?: string
}

/** The messages of zeromq.js and libzmq for each code. */
const MESSAGES = {
  EACCES: "Permission denied",
  EADDRINUSE: "Address already in use",
  EADDRNOTAVAIL: "Cannot assign requested address",
  EAGAIN: "Operation was not possible or timed out",
  EBADF: "Socket is closed",
  EBUSY: "Socket is busy",
  ECONNABORTED: "Software caused connection abort",
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "Connection reset by peer",
  EFAULT: "Context is closed",
  EFSM: "Operation cannot be accomplished in current state",
  EHOSTUNREACH: "Host unreachable",
  EINVAL: "Invalid argument",
  EMFILE: "Too many open file descriptors",
  EMTHREAD: "No thread available",
  ENOBUFS: "No buffer space available",
  ENODEV: "No such device",
  ENOENT: "No such endpoint",
  ENOTSUP: "Operation not supported",
  EPIPE: "Broken pipe",
  ETIMEDOUT: "Connection timed out",
} as const

export type ZmqErrorCode = keyof typeof MESSAGES

/** libzmq's own error numbers. */
const OWN_ERRNO = { EFSM: 156384763, EMTHREAD: 156384766 } as const

/** Returns an error of zeromq.js, with its usual message unless another is given. */
export function zmqError(code: ZmqErrorCode, address?: string, message?: string): ZmqError {
  const errno = code === "EFSM" || code === "EMTHREAD" ? OWN_ERRNO[code] : constants.errno[code]
  const error = Object.assign(new Error(message ?? MESSAGES[code]), { errno, code })
  return address === undefined ? error : Object.assign(error, { address })
}

/**
 * Removes this package's own frames from the stack of an error that programs meet every day: it begins
 * with the caller of `method`. No frame is left if the error comes later, when `method` no longer runs,
 * as with zeromq.js.
 */
export function shorten<E extends Error>(error: E, method: (...args: never[]) => unknown): E {
  Error.captureStackTrace?.(error, method)
  return error
}

/** Maximum length of a quoted address. */
const QUOTED_MAX = 200

/** Returns an error with an explanation after libzmq's message, which programs may look for. */
export function explained(code: ZmqErrorCode, why: string, address?: string): ZmqError {
  return zmqError(code, address, withExplanation(MESSAGES[code], why))
}

/**
 * Returns an error for an invalid address that says what is wrong with it and what was probably meant.
 */
export function mistake(
  code: ZmqErrorCode,
  address: string,
  wrong: string,
  meant?: string,
): ZmqError {
  return explained(code, explanation(address, wrong, meant), address)
}

/** Returns the explanation of a mistake: `"lz4+tcp://host" has no port (lz4+tcp://host:5555)`. */
export function explanation(address: string, wrong: string, meant?: string): string {
  const hint = meant !== undefined && meant.length <= QUOTED_MAX ? ` (${meant})` : ""
  return `${quoted(address)} ${wrong}${hint}`
}

/** Adds an explanation to an error of zeromq.js and to its stack, which is what gets printed. */
export function explain<E extends Error>(error: E, why: string): E {
  const { message, stack } = error
  error.message = withExplanation(message, why)
  if (stack !== undefined) error.stack = stack.replace(message, () => error.message)
  return error
}

const withExplanation = (words: string, why: string): string => `${words}: ${why}`

/** Quotes text from the caller, for use in an error. */
export function quoted(text: string): string {
  return text.length > QUOTED_MAX
    ? `${JSON.stringify(text.slice(0, QUOTED_MAX))} …`
    : JSON.stringify(text)
}

/** Returns zeromq.js's error for any error code of the system. */
export function systemError(code: string | undefined, address?: string): ZmqError {
  if (code !== undefined && code in MESSAGES) return zmqError(code as ZmqErrorCode, address)
  return zmqError("EINVAL", address, code)
}
