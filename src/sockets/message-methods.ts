import type { Socket as ZmqSocket } from "zeromq"
import type { Routing } from "../patterns/socket-type.js"
import { explained } from "../transport/zmq-error.js"
import { checkFree } from "./blocking.js"
import { EarlyOperations } from "./early-operations.js"
import { copyBytes, copyMessage, type Received, toMessage } from "./message.js"
import { checkGroup, checkRoutingNumber } from "./mistakes.js"
import type { NativeMethods } from "./native-endpoints.js"
import type { SocketCore } from "./socket-core.js"
import { ensureState, stateOf } from "./state.js"
import { OPTION } from "./zmq-numbers.js"

/**
 * Defines send(), receive(), join() and leave() for the sockets of a class that have them. They use
 * the socket core if there is one, and zeromq.js otherwise.
 *
 * @param native the prototype of zeromq.js's class.
 */
export function defineMessageMethods(
  prototype: object,
  native: NativeMethods,
  className: string,
  coreOf: (socket: ZmqSocket) => SocketCore | undefined,
): void {
  /** Makes libzmq do something, without waiting if `option` names the timeout to suspend. */
  const callNative = <T>(socket: ZmqSocket, option: number | false, work: () => Promise<T>) => {
    if (option === false || socket.closed) return work()
    const timeoutMs = native.getInt32Option.call(socket, option)
    native.setInt32Option.call(socket, option, 0)
    try {
      return work()
    } finally {
      native.setInt32Option.call(socket, option, timeoutMs)
    }
  }

  /** Returns whether an operation would wait, on a socket that has never had an endpoint. */
  const wouldWait = (socket: ZmqSocket, what: "readable" | "writable"): boolean => {
    const state = stateOf(socket)
    if (state?.nativeUsed || socket.closed) return false
    const timeoutMs = what === "readable" ? state?.receiveTimeoutMs : state?.sendTimeoutMs
    return timeoutMs !== 0 && !Reflect.get(native, what, socket)
  }

  const define = (name: string, value: unknown) =>
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value })

  if (native.send) {
    const send = native.send
    const takesRouting = className in ROUTING
    define("send", function (this: ZmqSocket, ...args: unknown[]): Promise<void> {
      const core = coreOf(this)
      if (core === undefined) {
        const [value, ...more] = args
        // zeromq.js refuses wrong arguments at once. Classes with routing never wait here.
        if (value === undefined || more.length > 0 || !wouldWait(this, "writable"))
          return send.apply(this, args)
        const state = ensureState(this)
        state.earlyOperations ??= new EarlyOperations()
        // The program may reuse its memory while the operation is pending.
        const message = copyMessage(toMessage(value))
        return state.earlyOperations.wait("send", state.sendTimeoutMs, (core, mustNotWait) =>
          core
            ? core.operations.send(message, NO_ROUTING)
            : callNative(this, mustNotWait && OPTION.sendTimeout, () => send.call(this, message)),
        )
      }
      checkSendArguments(args, takesRouting)
      core.operations.checkUsable()
      const routing = takesRouting ? toRouting(className, args[1] as object) : NO_ROUTING
      return core.operations.send(toMessage(args[0]), routing)
    })
  }

  if (native.receive) {
    const receive = native.receive
    define("receive", function (this: ZmqSocket, ...args: unknown[]): Promise<Received> {
      const core = coreOf(this)
      if (args.length > 0) return receive.apply(this, args)
      if (core === undefined) {
        if (!wouldWait(this, "readable")) return receive.apply(this)
        const state = ensureState(this)
        state.earlyOperations ??= new EarlyOperations()
        return state.earlyOperations.wait("receive", state.receiveTimeoutMs, (core, mustNotWait) =>
          core
            ? core.operations.receive()
            : callNative(this, mustNotWait && OPTION.receiveTimeout, () => receive.apply(this)),
        )
      }
      core.operations.checkUsable()
      return core.operations.receive()
    })
  }

  for (const name of ["join", "leave"] as const) {
    const change = native[name]
    if (!change) continue
    define(name, function (this: ZmqSocket, ...groups: (Buffer | string)[]): void {
      for (const group of groups) {
        const state = ensureState(this)
        checkFree(state)
        change.call(this, group)
        const key = toGroup(group).toString("latin1")
        if (name === "join") state.joined(key)
        else state.left(key)
      }
    })
  }
}

const NO_ROUTING: Routing = {}

/** Classes whose messages need routing, with the error if it is missing. */
const ROUTING: Readonly<Record<string, string>> = {
  Server:
    "a Server sends with the routing id that came with a message: send(message, { routingId })",
  Radio: "a Radio sends to a group: send(message, { group })",
}

/** Returns a group as libzmq reads it: a string that ends at a zero byte. */
function toGroup(given: string | Buffer): Buffer {
  const group = copyBytes(given)
  const end = group.indexOf(0)
  return end < 0 ? group : group.subarray(0, end)
}

function checkSendArguments(args: unknown[], takesRouting: boolean): void {
  const [message, options] = args
  if (message === undefined) throw new TypeError("Message must be present")
  if (takesRouting && (typeof options !== "object" || options === null))
    throw new TypeError("Options must be an object")
  const max = takesRouting ? 2 : 1
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
