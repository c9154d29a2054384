import type { Socket } from "zeromq"
import type { Message } from "../../patterns/message.js"
import type { Routing } from "../../patterns/socket-type.js"
import { familyOf, formatEndpoint, type HostPort, parseBind } from "../../transport/address.js"
import { resolveHost } from "../../transport/tcp.js"
import { turn } from "../event-loop/turn.js"
import type { Received } from "../message.js"
import { ignoredOption } from "../mistakes.js"
import { MixedSocket } from "../mixed-socket.js"
import { NATIVE_RECEIVE_MS, type NativeSocket } from "../native-pipe.js"
import type { SocketCore } from "../socket-core.js"
import type { SocketState } from "../state.js"
import { OPTION } from "../zmq-numbers.js"
import { ENDPOINT_OPTIONS } from "./endpoint-options.js"

/** The prototype of a class of zeromq.js, with members that its types do not declare. */
export type NativeMethods = Socket & {
  send?(...args: unknown[]): Promise<void>
  receive?(...args: unknown[]): Promise<Received>
  join?(...groups: unknown[]): void
  leave?(...groups: unknown[]): void
  getInt32Option(option: number): number
  setBoolOption(option: number, value: boolean): void
  setInt32Option(option: number, value: number): void
  setStringOption(option: number, value: string | Buffer | null): void
}

export const ENDPOINT_METHODS = [
  "bind",
  "bindSync",
  "unbind",
  "unbindSync",
  "connect",
  "disconnect",
] as const

type Method = (socket: Socket, state: SocketState, args: unknown[]) => unknown

/** The methods of a socket that take an address, for endpoints of one kind. */
export type EndpointMethods = Record<(typeof ENDPOINT_METHODS)[number], Method>

/** Binds and connects endpoints of libzmq, and lets a socket core use them with `mix`. */
export type NativeEndpoints = EndpointMethods & {
  mix(socket: Socket, state: SocketState, core: SocketCore): void
}

/**
 * Returns the methods for libzmq's endpoints of a class of zeromq.js, whose prototype is `native`.
 *
 * @param coreOf returns the core of a socket; undefined if it has none.
 */
export function nativeEndpoints(
  native: NativeMethods,
  className: string,
  coreOf: (socket: Socket) => SocketCore | undefined,
): NativeEndpoints {
  const mix = (socket: Socket, state: SocketState, core: SocketCore): void => {
    native.setInt32Option.call(socket, OPTION.sendTimeout, 0)
    if (native.receive) native.setInt32Option.call(socket, OPTION.receiveTimeout, NATIVE_RECEIVE_MS)
    const { operations, endpoints, type } = core
    const { typeOptions, nativeRequest } = state
    const turn = endpoints.open.length > 0 ? "own" : "native"
    const side = nativeSide(native, socket, state)
    operations.mix(new MixedSocket(type, typeOptions, side, operations, turn, nativeRequest))
  }

  const added = (socket: Socket, state: SocketState, peer?: string): void => {
    state.nativeAdded(peer)
    const core = coreOf(socket)
    if (!core) return
    core.endpoints.lastEndpoint = null
    if (!core.operations.mixed) mix(socket, state, core)
  }

  /**
   * Binds or unbinds an endpoint of libzmq on this thread. Returns undefined without a socket core:
   * then zeromq.js's own method does it. That calls libzmq on another thread, but libzmq allows only one
   * call at a time for a socket, and the core sends and receives at any time.
   */
  const withoutThread = (
    socket: Socket,
    state: SocketState,
    args: unknown[],
    change: (address: string) => void,
    binds: boolean,
    changed: () => void,
  ): Promise<void> | undefined => {
    const [address] = args
    // zeromq.js throws the right errors for these.
    const core = coreOf(socket)
    if (!core || socket.closed || args.length > 1 || typeof address !== "string") return undefined
    return state.block(socket, async () => {
      await turn()
      const resolved = await resolveNative(socket, address).catch((error) => {
        if (binds) throw core.endpoints.bindError(address, error)
        return address
      })
      try {
        change.call(socket, resolved)
      } catch (error) {
        // libzmq knows a connected endpoint by the name that the program gave.
        if (binds || resolved === address) throw Object.assign(error as Error, { address })
        change.call(socket, address)
      }
      changed()
    })
  }

  return {
    mix,

    bind(socket, state, args) {
      if (!socket.closed) state.useNative()
      const bound = () => added(socket, state)
      return (
        withoutThread(socket, state, args, native.bindSync, true, bound) ??
        state.blockNative(native.bind.apply(socket, addressOf(socket, args)), bound)
      )
    },

    bindSync(socket, state, args) {
      if (!socket.closed) state.useNative()
      native.bindSync.apply(socket, addressOf(socket, args))
      added(socket, state)
    },

    unbind(socket, state, args) {
      const removed = () => state.nativeRemoved(args[0] as string)
      // libzmq's unbind and disconnect are the same. unbindSync() of zeromq.js 6.8 binds instead.
      return (
        withoutThread(socket, state, args, native.disconnect, false, removed) ??
        state.blockNative(native.unbind.apply(socket, args as [string]), removed)
      )
    },

    unbindSync(socket, _state, args) {
      native.unbindSync.apply(socket, args as [string])
    },

    connect(socket, state, args) {
      const [address, options] = args as [string, object | undefined]
      const isRouter = className === "Router"
      if (isRouter && !socket.closed) checkRouterOptions(address, options)
      if (!socket.closed) state.useNative()
      // A closed ROUTER refuses to set the routing id first.
      native.connect.apply(socket, (isRouter ? args : addressOf(socket, args)) as [string])
      // With `immediate` there is no peer before it is connected.
      added(socket, state, socket.immediate ? undefined : address)
    },

    disconnect(socket, state, args) {
      native.disconnect.apply(socket, args as [string])
      state.nativeRemoved(args[0] as string)
    },
  }
}

/** Returns libzmq's side of a socket, without keeping the socket from being collected. */
function nativeSide(native: NativeMethods, of: Socket, state: SocketState): NativeSocket {
  const ref = new WeakRef(of)
  const open = () => {
    const socket = ref.deref()
    return socket?.closed === false ? socket : undefined
  }
  const get = (name: "readable" | "writable") => {
    const socket = open()
    return socket !== undefined && (Reflect.get(native, name, socket) as boolean)
  }
  return {
    get isClosed() {
      return open() === undefined
    },
    get readable() {
      return get("readable")
    },
    get writable() {
      return get("writable")
    },
    get peers() {
      return state.nativePeers
    },
    send: (message: Message, routing: Routing) => {
      const args = Object.keys(routing).length > 0 ? [message, routing] : [message]
      return native.send?.apply(open(), args) as Promise<void>
    },
    receive: () => native.receive?.call(open()) ?? new Promise<never>(() => {}),
  }
}

/** Omits the options of a closed socket, so that zeromq.js reports that it is closed. */
function addressOf(socket: Socket, args: unknown[]): [address: string] {
  return (socket.closed ? args.slice(0, 1) : args) as [string]
}

/** Refuses options that zeromq.js ignores for its own endpoints, where it reads only the routing id. */
function checkRouterOptions(address: string, options: object | undefined): void {
  for (const name of Object.keys(options ?? {}))
    if (ENDPOINT_OPTIONS.includes(name)) throw ignoredOption(address, name)
}

/**
 * Resolves the host name in an address of libzmq, which would block this thread to resolve it.
 *
 * @throws Error with code ENODEV.
 */
async function resolveNative(socket: Socket, address: string): Promise<string> {
  if (!address.startsWith("tcp://")) return address
  let where: HostPort
  try {
    where = parseBind(address, socket.ipv6)
  } catch {
    return address // libzmq reports the error
  }
  if (familyOf(where.host) !== 0) return address
  return formatEndpoint(await resolveHost(where, socket.ipv6, address), "tcp://")
}
