import { constants } from "node:os"

/** An error in the form of zeromq.js. */
export interface ZmqError extends Error {
  code: string
  errno: number
  /** The endpoint that it is about. */
  address?: string
}

/** What zeromq.js and libzmq say for each code. */
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
  ENOBUFS: "No buffer space available",
  ENODEV: "No such device",
  ENOENT: "No such endpoint",
  ENOTSUP: "Operation not supported",
  EPIPE: "Broken pipe",
  ETIMEDOUT: "Connection timed out",
} as const

export type ZmqErrorCode = keyof typeof MESSAGES

/** libzmq's own numbers. */
const EFSM = 156384763

/** An error of zeromq.js: with its words, unless there is more to say. */
export function zmqError(code: ZmqErrorCode, address?: string, message?: string): ZmqError {
  const errno = code === "EFSM" ? EFSM : constants.errno[code]
  const error = Object.assign(new Error(message ?? MESSAGES[code]), { errno, code })
  return address === undefined ? error : Object.assign(error, { address })
}

/** The same for an error of the system, whatever its code is. */
export function systemError(code: string | undefined, address?: string): ZmqError {
  if (code !== undefined && code in MESSAGES) return zmqError(code as ZmqErrorCode, address)
  return zmqError("EINVAL", address, code)
}
