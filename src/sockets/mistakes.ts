/** Errors for mistakes of callers: what is wrong, and what was probably meant. */

import type { Socket } from "zeromq"
import { shown, wrongType, wrongValue } from "../codec/errors.js"
import type { FormatName } from "../codec/format.js"
import type { Refusal } from "../patterns/socket-type.js"
import { interfaceNames, isOurs, SCHEMES } from "../transport/address.js"
import {
  explain,
  explained,
  explanation,
  quoted,
  type ZmqError,
  zmqError,
} from "../transport/zmq-error.js"
import { ENDPOINT_OPTIONS } from "./endpoints/endpoint-options.js"

// -- Endpoints ---------------------------------------------------------------------

const NAMES_MAX = 10

/** Lists a socket's `lz4+tcp://` and `zstd+tcp://` endpoints. */
export function theseEndpoints(names: readonly string[]): string {
  if (names.length === 0) return "the socket has no lz4+tcp:// or zstd+tcp:// endpoint"
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ""
  return `the socket has ${names.slice(0, NAMES_MAX).join(", ")}${more}`
}

// -- Options -----------------------------------------------------------------------

/** Members of `socket.lz4`, which are not options. */
const LZ4_MEMBERS = ["connections", "stats"]

/**
 * Refuses endpoint options that are given to a socket's constructor, before zeromq.js's own runs: if
 * that throws, the process crashes on exit.
 *
 * @param isRedefined whether a subclass has a member of that name, which zeromq.js assigns.
 * @throws TypeError with code ERR_INVALID_ARG_VALUE.
 */
export function checkSocketOptions(
  options: unknown,
  className: string,
  isRedefined: (name: string) => boolean,
): void {
  if (typeof options !== "object" || options === null) return
  for (const name of Object.keys(options)) {
    if (isRedefined(name)) continue
    if (ENDPOINT_OPTIONS.includes(name)) throw misplacedOption(name, className)
    if (name === "lz4")
      throw wrongValue(`lz4 is not an option of ${className}; ${correctUse("level")}`)
    if (LZ4_MEMBERS.includes(name))
      throw wrongValue(`${name} is not an option of ${className}; read socket.lz4.${name}`)
  }
}

/** Returns the error for an endpoint option given to a socket. */
export function misplacedOption(name: string, className: string): TypeError {
  return wrongValue(`${name} is not an option of ${className}; ${correctUse(name)}`)
}

const correctUse = (name: string): string =>
  `it goes with an endpoint: socket.connect("${SCHEMES.lz4}HOST:PORT", { ${name} }), or the same with bind`

/**
 * Refuses socket options given with an endpoint.
 *
 * @throws TypeError with code ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE.
 */
export function refuseSocketOptions(options: object | null | undefined, socket: Socket): void {
  if (options === null || options === undefined) return
  if (typeof options !== "object")
    throw wrongType(`options must be an object; got ${shown(options)}`)
  for (const name of Object.keys(options))
    if (!ENDPOINT_OPTIONS.includes(name) && isSocketOption(socket, name))
      throw wrongValue(
        `unknown option ${shown(name)} of an endpoint; it goes with the socket: new ${socket.constructor.name}({ ${name} })`,
      )
}

const isSocketOption = (socket: Socket, name: string): boolean =>
  name in socket && typeof socket[name as keyof Socket] !== "function"

/** Returns the reason why a valid address cannot be bound, if there is something to add to the error. */
export function bindFailureReason(address: string, code: string | undefined): string | undefined {
  const otherPort = "port * takes a free one"
  if (code === "EADDRINUSE")
    return explanation(address, "is already bound, by this process or another", otherPort)
  if (code === "EACCES") return explanation(address, "has a port that needs privileges", otherPort)
  if (code !== "EADDRNOTAVAIL") return undefined
  const addresses = `${interfaceNames()}; * is all of them`
  return explanation(address, "is not an address of this machine", addresses)
}

/** Returns the error for connecting a peer under a routing id that another one has. */
export function takenRoutingId(address: string, routingId: Buffer): ZmqError {
  const id = quoted(routingId.toString("latin1"))
  return explained("EINVAL", `another peer of the socket has the routing id ${id}`, address)
}

// -- Messages ----------------------------------------------------------------------

/** Returns the error for an operation that a socket type refuses. */
export function refusalError(code: Refusal, type: string): Error {
  switch (code) {
    case "EFSM":
      return type === "REQ"
        ? explained(code, "a Request sends, then receives the reply, in turns")
        : explained(code, "a Reply receives a request, then sends the reply, in turns")
    case "EHOSTUNREACH":
      return explained(code, "no connected peer has the routing id that the message is for")
    case "EINVAL":
      return explained(code, `a message of ${type} has one part`)
    default:
      return zmqError(code)
  }
}

/** Returns the error for a second operation while one is pending. */
export function busyError(name: "send" | "receive"): Error {
  const doing = name === "send" ? "writing" : "reading"
  return zmqError(
    "EBUSY",
    undefined,
    `Socket is busy ${doing}; only one ${name} operation may be in progress at any time`,
  )
}

/** @throws TypeError as zeromq.js does. */
export function checkGroup(group: unknown): asserts group is string | Buffer {
  if (!isTextOrBytes(group))
    throw new TypeError(`Value must be a string or buffer: group is ${shown(group)}`)
}

/** @throws TypeError as zeromq.js does. */
export function checkRoutingNumber(routingId: unknown): asserts routingId is number {
  if (typeof routingId !== "number")
    throw new TypeError(`A number was expected: routingId is ${shown(routingId)}`)
}

/** @throws TypeError as zeromq.js does. */
export function checkRoutingId(routingId: unknown): void {
  if (!isTextOrBytes(routingId))
    throw new TypeError(`Option value must be a string or buffer: routingId is ${shown(routingId)}`)
}

/** Returns whether zeromq.js takes a value as text or bytes. */
export const isTextOrBytes = (value: unknown): boolean =>
  typeof value === "string" || ArrayBuffer.isView(value)

// -- Endpoints of zeromq.js ----------------------------------------------------------

/**
 * Calls a method of zeromq.js that takes an address. If it refuses its arguments, `reason` is added to
 * its error, which keeps its code, and is thrown or rejected as before.
 */
export function explainRefusal(
  reason: string | undefined,
  args: readonly unknown[],
  call: () => unknown,
): unknown {
  if (reason === undefined) return call()
  const fail = (error: unknown): never => {
    if (isAboutOptions(error)) {
      const code = args.some(hasOptionOfOurs) && { code: "ERR_INVALID_ARG_VALUE" }
      throw Object.assign(explain(error, reason), code)
    }
    throw isRefusal(error) ? explain(error, reason) : error
  }
  try {
    const result = call()
    return result instanceof Promise ? result.catch(fail) : result
  } catch (error) {
    return fail(error)
  }
}

/** Returns whether an error is about the address, and not about a busy or closed socket. */
function isRefusal(error: unknown): error is Error {
  const { code } = error as NodeJS.ErrnoException
  return code === "EPROTONOSUPPORT" || code === "EINVAL"
}

/** Returns whether an error is zeromq.js's for options of an endpoint, which it does not know. */
function isAboutOptions(error: unknown): error is Error {
  return (error as Error).message?.startsWith("Expected 1 argu")
}

function hasOptionOfOurs(arg: unknown): boolean {
  return arg instanceof Object && ENDPOINT_OPTIONS.some((name) => Object.hasOwn(arg, name))
}

/** A scheme that was probably meant to be ours, and the rest of the address. */
const LIKE_OURS = /^\s*([^:/]*(lz4|zstd)[^:/]*):?\/*(.*)$/is
const OTHER_TRANSPORT = /(ipc|inproc|udp|wss?|tls|e?pgm|norm|vmci|tipc)$/i

/** Returns the reason why zeromq.js will refuse arguments; undefined if it may accept them. */
export function nativeRefusalReason([address, ...more]: readonly unknown[]): string | undefined {
  if (typeof address !== "string" || isOurs(address)) return undefined
  const [, scheme, format, rest = ""] = LIKE_OURS.exec(address) ?? []
  if (scheme !== undefined) {
    const [, transport] = OTHER_TRANSPORT.exec(scheme) ?? []
    const ours = SCHEMES[format?.toLowerCase() as FormatName]
    return transport === undefined
      ? explanation(address, `does not begin with ${ours}`, ours + rest)
      : explanation(address, `is not ${ours}, and nothing else is compressed`, `${transport}://`)
  }
  if (more.length === 0) return undefined
  return explanation(address, `takes no options, which are for ${SCHEMES.lz4}`, meantTcp(address))
}

/** Returns the error for an endpoint option that zeromq.js's ROUTER would ignore. */
export function ignoredOption(address: string, name: string): TypeError {
  return wrongValue(
    explanation(address, `takes no option ${name}, which is for ${SCHEMES.lz4}`, meantTcp(address)),
  )
}

const meantTcp = (address: string): string =>
  address.startsWith("tcp://") ? `lz4+${address}` : `${SCHEMES.lz4}HOST:PORT`
