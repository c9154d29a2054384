import type { Socket as ZmqSocket } from "zeromq"
import { boolean, own, ownOptions } from "../codec/options.js"
import { GROUP_MAX_BYTES, type Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import { isSubscription } from "../patterns/subscriptions.js"
import { explained } from "../transport/zmq-error.js"
import { plainMessage } from "../zmtp/part.js"
import { areThereCompressedParts } from "./compressed-part.js"
import { EarlyOperations } from "./early-operations.js"
import type { NativeMethods } from "./endpoints/native-endpoints.js"
import {
  copyBytes,
  copyMessage,
  plainValue,
  type Received,
  toMessage,
  withForm,
} from "./message.js"
import { checkGroup, checkRoutingNumber } from "./mistakes.js"
import type { SocketCore } from "./socket-core.js"
import { type Core, ensureState, stateOf } from "./state.js"
import { OPTION } from "./zmq-numbers.js"

/**
 * Defines send(), receive(), iteration, join() and leave() for a class that has them in zeromq.js, whose
 * prototype is `native`. They use the socket core if there is one, and zeromq.js otherwise.
 */
export function defineMessageMethods(
  prototype: object,
  native: NativeMethods,
  className: string,
  coreOf: (socket: ZmqSocket) => SocketCore | undefined,
): void {
  /** Calls libzmq with `timeoutMs` in place of the timeout that the socket has as `option`. */
  const callNative = <T>(
    socket: ZmqSocket,
    option: number,
    timeoutMs: number,
    work: () => Promise<T>,
  ) => {
    if (socket.closed) return work()
    const usualMs = native.getInt32Option.call(socket, option)
    native.setInt32Option.call(socket, option, timeoutMs)
    try {
      return work()
    } finally {
      native.setInt32Option.call(socket, option, usualMs)
    }
  }

  /** Returns whether a call would wait for the socket's first endpoint. */
  const wouldWait = (socket: ZmqSocket, name: "send" | "receive"): boolean => {
    const state = stateOf(socket)
    if (state?.nativeUsed || socket.closed) return false
    // A second operation is refused, whatever its timeout is.
    if (state?.earlyOperations?.isWaiting(name)) return true
    return name === "send"
      ? state?.sendTimeoutMs !== 0 && !Reflect.get(native, "writable", socket)
      : state?.receiveTimeoutMs !== 0 && !Reflect.get(native, "readable", socket)
  }

  /** Records whether libzmq's side of a REQ awaits a reply, which libzmq does not tell. */
  const recordExchange = <T>(socket: ZmqSocket, begins: boolean, call: Promise<T>): Promise<T> => {
    if (className !== "Request") return call
    // A rejection that the program does not handle has to stay unhandled.
    return call.then((result) => {
      ensureState(socket).nativeRequest = begins
      coreOf(socket)?.operations.mixed?.nativeExchanged(begins)
      return result
    })
  }

  const define = (name: string | symbol, value: unknown) =>
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value })

  /** Waits for the socket's first endpoint, then calls the core or libzmq, whichever has it. */
  const afterFirstEndpoint = <T>(
    socket: ZmqSocket,
    name: "send" | "receive",
    callCore: (operations: Core["operations"], timeoutMs: number) => Promise<T>,
    work: () => Promise<T>,
  ) => {
    const state = ensureState(socket)
    state.earlyOperations ??= new EarlyOperations()
    const [option, usualMs] =
      name === "send"
        ? [OPTION.sendTimeout, state.sendTimeoutMs]
        : [OPTION.receiveTimeout, state.receiveTimeoutMs]
    return state.earlyOperations.wait(name, usualMs, (core, timeoutMs) =>
      core ? callCore(core.operations, timeoutMs) : callNative(socket, option, timeoutMs, work),
    )
  }

  if (native.send) {
    const send = native.send
    const takesRouting = className in ROUTING
    define("send", function (this: ZmqSocket, ...given: unknown[]): Promise<void> {
      const core = coreOf(this)
      const compress = given.length > 1 ? readCompress(given[1], className) : undefined
      if (core === undefined) {
        const args = given.length > 0 ? forNative(given, takesRouting) : given
        const [value, ...more] = args
        // zeromq.js refuses wrong arguments at once. Classes with routing never wait here.
        if (value === undefined || more.length > 0 || !wouldWait(this, "send")) {
          const sending = recordExchange(this, true, send.apply(this, args))
          if (className === "XSubscriber") recordSubscriptions(this, plainMessage(toMessage(value)))
          return sending
        }
        // The program may reuse its memory while the operation is pending.
        const message = copyMessage(formed(toMessage(given[0]), compress))
        return afterFirstEndpoint(
          this,
          "send",
          (operations, timeoutMs) => operations.send(message, NO_ROUTING, timeoutMs),
          () => recordExchange(this, true, send.call(this, plainMessage(message))),
        )
      }
      const isUsual = given.length === 1 && given[0] !== undefined && !takesRouting
      if (!isUsual) checkSendArguments(given, takesRouting)
      core.operations.checkUsable()
      const routing = takesRouting ? toRouting(className, given[1] as object) : NO_ROUTING
      return core.operations.send(formed(toMessage(given[0]), compress), routing)
    })
  }

  if (native.receive) {
    const receive = native.receive
    define("receive", function (this: ZmqSocket, ...args: unknown[]): Promise<Received> {
      if (args.length > 0) return receive.apply(this, args)
      const core = coreOf(this)
      if (core === undefined) {
        if (!wouldWait(this, "receive")) return recordExchange(this, false, receive.apply(this))
        return afterFirstEndpoint(
          this,
          "receive",
          (operations, timeoutMs) => operations.receive(timeoutMs),
          () => recordExchange(this, false, receive.apply(this)),
        )
      }
      core.operations.checkUsable()
      return core.operations.receive()
    })
    define(Symbol.asyncIterator, function (this: ZmqSocket) {
      return iterate(this, coreOf)
    })
  }

  for (const name of ["join", "leave"] as const) {
    const change = native[name]
    if (!change) continue
    define(name, function (this: ZmqSocket, ...groups: (Buffer | string)[]): void {
      for (const group of groups) {
        const state = ensureState(this)
        state.checkFree()
        change.call(this, group)
        const key = toGroup(group).toString("latin1")
        if (name === "join") state.joined(key)
        else state.left(key)
      }
    })
  }
}

type Receiver = ZmqSocket & { receive(): Promise<Received> }
type Next = IteratorResult<Received, undefined>

/** Does what zeromq.js's iterator does, with fewer promises, and fewer questions to libzmq. */
export function iterate(
  socket: ZmqSocket,
  coreOf: (socket: ZmqSocket) => SocketCore | undefined,
): AsyncIterator<Received, undefined> {
  const failed = (error: unknown) => {
    const { code } = error as { code?: string }
    return socket.closed && code === "EAGAIN" ? ended() : Promise.reject(error)
  }
  return {
    next: () => {
      const core = coreOf(socket)
      if (core ? core.operations.isClosed : socket.closed) return ended()
      try {
        return Promise.resolve((socket as Receiver).receive()).then(toNext, failed)
      } catch (error) {
        return failed(error)
      }
    },
  }
}

function ended(): Promise<Next> {
  return Promise.resolve({ done: true } as Next)
}

function toNext(value: Received): Next {
  return { value, done: false }
}

/** Records the subscriptions that an XSUB sends before it has a socket core. */
function recordSubscriptions(socket: ZmqSocket, message: Buffer[]): void {
  const parts = message.filter(isSubscription)
  if (parts.length === 0) return
  const { subscriptions } = ensureState(socket)
  for (const part of parts) subscriptions.push([part[0] === 1, Buffer.from(part.subarray(1))])
}

const NO_ROUTING: Routing = {}

/** Classes whose messages need routing, with the error if it is missing. */
const ROUTING: Readonly<Record<string, string>> = {
  Server:
    "a Server sends with the routing id that came with a message: send(message, { routingId })",
  Radio: "a Radio sends to a group: send(message, { group })",
}

/** Returns a group as libzmq reads it: a string that ends at a zero byte, or after 255 bytes. */
function toGroup(given: string | Buffer): Buffer {
  const group = copyBytes(given).subarray(0, GROUP_MAX_BYTES)
  const end = group.indexOf(0)
  return end < 0 ? group : group.subarray(0, end)
}

/** Options of `send()`. Others are errors. */
export interface SendOptions {
  /**
   * Whether the message is compressed. By default, the options of the endpoint decide. zeromq.js's own
   * endpoints ignore it.
   *
   * - false: it is sent plain, in no arena, and no dictionary is trained on it. For what is compressed
   *   already, what is secret beside text of others, or what has to be fast.
   * - true: each of its parts is compressed if that makes it shorter, even below `minCompressSize`, and
   *   where the endpoint compresses nothing, as with CURVE.
   */
  compress?: boolean | undefined
}

/** Returns whether a value is an object of options. `{}` and all else are refused as zeromq.js does. */
function isOptions(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.keys(value).length > 0
}

/**
 * Reads the option of send() that all classes have.
 *
 * @throws TypeError for others than those of the class, and for values that are not boolean.
 */
function readCompress(options: unknown, className: string): boolean | undefined {
  if (!isOptions(options)) return undefined // another check refuses it
  // zeromq.js ignores other properties of an object with the routing.
  const isRouting = className in ROUTING
  const { compress } = isRouting
    ? (own(options) as SendOptions)
    : ownOptions(options as SendOptions, ["compress"])
  return compress === undefined ? undefined : boolean("compress", compress)
}

const formed = (message: Message, compress: boolean | undefined): Message =>
  compress === undefined ? message : withForm(message, compress)

/** Returns what zeromq.js's send() takes in the place of these arguments. */
function forNative(given: unknown[], takesRouting: boolean): unknown[] {
  if (given.length === 1 && !areThereCompressedParts()) return given
  const [value, ...more] = given
  const isOption = !takesRouting && more.length === 1 && isOptions(more[0])
  return [plainValue(value), ...(isOption ? [] : more)]
}

function checkSendArguments(args: unknown[], takesRouting: boolean): void {
  const [message, options] = args
  if (message === undefined) throw new TypeError("Message must be present")
  if (takesRouting && (typeof options !== "object" || options === null))
    throw new TypeError("Options must be an object")
  const max = takesRouting || isOptions(options) ? 2 : 1
  if (args.length <= max) return
  const expected = max === 1 ? "1 argument" : `${max} arguments`
  throw new TypeError(`Expected ${expected} but received ${args.length}`)
}

/**
 * Reads the routing of a message for a class that needs it.
 *
 * @throws Error with code EINVAL if it is missing, and TypeError as zeromq.js does.
 */
function toRouting(className: string, given: { routingId?: unknown; group?: unknown }): Routing {
  const { routingId, group } = given
  if (className === "Radio" && group !== undefined) {
    checkGroup(group)
    return { group: toGroup(group) }
  }
  if (className === "Server" && routingId !== undefined) {
    checkRoutingNumber(routingId)
    const id = routingId >>> 0
    if (id !== 0) return { routingId: id }
  }
  throw explained("EINVAL", ROUTING[className] as string)
}
