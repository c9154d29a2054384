import { constants } from "node:os"

export interface ZmqError extends Error {
  code: string
  errno: number
  address?: string
}

/** An error in the form of zeromq.js: `code`, `errno` and the `address` it is about. */
export function zmqError(
  code: keyof typeof constants.errno,
  message: string,
  address?: string,
): ZmqError {
  const error = new Error(address === undefined ? message : `${message} (${address})`)
  return Object.assign(error, {
    code,
    errno: constants.errno[code],
    ...(address === undefined ? {} : { address }),
  })
}
