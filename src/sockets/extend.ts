import type { Observer, Socket as ZmqSocket } from "zeromq"
import type { Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import { isLz4 } from "../transport/endpoint.js"
import { explained } from "../transport/zmq-error.js"
import { EarlyOperations } from "./early-operations.js"
import { ENDPOINT_OPTIONS, type EndpointOptions } from "./endpoint-options.js"
import { unwatch, watch } from "./exit.js"
import type { Lz4 } from "./lz4.js"
import { copyMessage, type Received, toMessage } from "./message.js"
import {
  checkRouting,
  checkRoutingId,
  checkSocketOptions,
  explainAddresses,
  ignoredOption,
  misplacedOption,
  whyNative,
} from "./mistakes.js"
import { MixedSocket } from "./mixed-socket.js"
import { Monitor } from "./monitor.js"
import { resolveNative } from "./native-endpoints.js"
import { NATIVE_RECEIVE_MS, type NativeSocket } from "./native-pipe.js"
import { SocketCore } from "./socket-core.js"
import { checkFree, ensureState, type SocketState, stateOf } from "./state.js"
import { turn } from "./turn.js"
import { OPTION } from "./zmq-numbers.js"

/** The additions to a socket class. `Options` are those of zeromq.js's `connect`. */
export interface Lz4Socket<Options = unknown> {
  /** Events and statistics of the socket's `lz4+tcp://` connections. */
  readonly lz4: Lz4
  /**
   * Binds to an endpoint. `lz4+tcp://` endpoints have the grammar of `tcp://`, and may have
   * options.
   *
   * @throws TypeError or RangeError if an option is invalid.
   * @throws Error with a code of zeromq.js: EINVAL, ENODEV, EADDRINUSE, ENOTSUP …
   */
  bind(address: string, options?: EndpointOptions): Promise<void>
  /** Binds synchronously, as in zeromq.js. */
  bindSync(address: string, options?: EndpointOptions): void
  /** Connects to an endpoint. `lz4+tcp://` endpoints may have options. Throws as `bind` does. */
  connect(address: string, options?: EndpointOptions & Options): void
}

/** A socket class of zeromq.js whose sockets also speak `lz4+tcp://`. */
export type Lz4Class<C extends SocketClass> = {
  new (...args: ConstructorParameters<C>): Lz4Instance<InstanceType<C>>
  readonly prototype: Lz4Instance<InstanceType<C>>
}

/** A socket of zeromq.js that also speaks `lz4+tcp://`. */
export type Lz4Instance<S extends ZmqSocket> = S &
  Lz4Socket<
    S["connect"] extends (address: string, options?: infer Options) => void ? Options : unknown
  >

type ConnectOptions = EndpointOptions & { routingId?: string }

/** A class of sockets. */
// biome-ignore lint/suspicious/noExplicitAny: what TypeScript asks of the base of a mixin
export type SocketClass = new (...args: any[]) => ZmqSocket

/** Members of zeromq.js that its types do not declare. */
interface Native {
  send?(...args: unknown[]): Promise<void>
  receive?(...args: unknown[]): Promise<Received>
  join?(...groups: unknown[]): void
  leave?(...groups: unknown[]): void
  getInt32Option(option: number): number
  setBoolOption(option: number, value: boolean): void
  setInt32Option(option: number, value: number): void
  setStringOption(option: number, value: string | Buffer | null): void
}

/** Returns the core of a socket of these classes, and creates it if there is none. */
export function coreFor(socket: ZmqSocket): SocketCore {
  return (socket as unknown as { [OPEN](): SocketCore })[OPEN]()
}

const OPEN = Symbol("open")

/** Extends a socket class of zeromq.js. The class keeps its name and its other behaviour. */
export function extend<C extends SocketClass>(Base: C): Lz4Class<C> {
  const native = Base.prototype as ZmqSocket & Native

  let coreOf: (socket: ZmqSocket) => SocketCore | undefined

  // V8 uses the name of zeromq.js's own sockets in its messages.
  class Socket extends Base {
    /** Set with the first `lz4+tcp://` endpoint. zeromq.js sets options before fields are initialised. */
    #core: SocketCore | undefined

    static {
      coreOf = (socket) => (#core in socket ? socket.#core : undefined)
    }

    // biome-ignore lint/suspicious/noExplicitAny: what TypeScript asks of a mixin
    constructor(...args: any[]) {
      const isRedefined = (name: string) => redefines(new.target.prototype, name, Socket.prototype)
      checkSocketOptions(args[0], ENDPOINT_OPTIONS, Base.name, isRedefined)
      super(...args)
    }

    get lz4(): Lz4 {
      return ensureState(this).lz4Of(this)
    }

    // -- Endpoints -----------------------------------------------------------------

    override bind(...args: [address: string, options?: EndpointOptions]): Promise<void> {
      const [address, options = {}] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) {
        state.useNative()
        const added = () => this.#nativeAdded(state)
        const bound = this.#withoutThread(state, args, native.bindSync, true, added)
        return (
          bound ?? blockingNative(state, native.bind.apply(this, this.#nativeArgs(args)), added)
        )
      }
      return blocking(this, state, () => this.#open(state).endpoints.bind(this, address, options))
    }

    override bindSync(...args: [address: string, options?: EndpointOptions]): void {
      const [address, options = {}] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) {
        state.useNative()
        native.bindSync.apply(this, this.#nativeArgs(args))
        this.#nativeAdded(state)
        return
      }
      this.#open(state).endpoints.bindSync(this, address, options)
    }

    override unbind(...args: [address: string]): Promise<void> {
      const [address] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) {
        const removed = () => {
          state.nativeEndpoints--
        }
        // zmq_unbind and zmq_disconnect are the same in libzmq. unbindSync() of zeromq.js 6.8 binds instead.
        const unbound = this.#withoutThread(state, args, native.disconnect, false, removed)
        return unbound ?? blockingNative(state, native.unbind.apply(this, args), removed)
      }
      return blocking(this, state, async () => {
        await turn()
        this.#open(state).endpoints.disconnect(this, address)
      })
    }

    override unbindSync(...args: [address: string]): void {
      const [address] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) native.unbindSync.call(this, ...args)
      else this.#open(state).endpoints.disconnect(this, address)
    }

    override connect(...args: [address: string, options?: ConnectOptions]): void {
      const [address, given] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) {
        if (Base.name === "Router") checkRouterOptions(address, given)
        state.useNative()
        ;(native.connect as (...args: unknown[]) => void).apply(this, this.#nativeArgs(args))
        this.#nativeAdded(state)
        return
      }
      const core = this.#open(state)
      if (core.type.name !== "ROUTER" || typeof given !== "object") {
        core.endpoints.connect(this, address, given ?? {})
        return
      }
      const { routingId, ...options } = given ?? {}
      if (routingId) {
        checkRoutingId(routingId)
        state.changing(OPTION.connectRoutingId)
        state.connectRoutingId = Buffer.from(routingId)
      }
      core.endpoints.connect(this, address, options)
    }

    override disconnect(...args: [address: string]): void {
      const [address] = args
      const state = ensureState(this)
      if (this.#isNative(state, address)) {
        native.disconnect.call(this, ...args)
        state.nativeEndpoints--
      } else this.#open(state).endpoints.disconnect(this, address)
    }

    override close(...args: []): void {
      const state = stateOf(this)
      if (!state) {
        native.close.call(this, ...args)
        return
      }
      if (state.blocked === "own") {
        state.closing = true
        return
      }
      state.closing = false
      if (state.blocked === "native") {
        // zeromq.js remembers the call, and closes the socket when libzmq is done.
        native.close.call(this, ...args)
        return
      }
      const lingerMs = this.closed ? 0 : this.linger
      state.core?.close(lingerMs)
      unwatch(state)
      // libzmq decides how pending operations fail, which is not always with EAGAIN.
      state.early?.begin(undefined)
      state.monitor?.useNative()
      native.close.call(this, ...args)
    }

    override get lastEndpoint(): string | null {
      const lastEndpoint = this.closed ? undefined : coreOf(this)?.endpoints.lastEndpoint
      return lastEndpoint ?? super.lastEndpoint
    }

    /** Returns the socket core, which the first `lz4+tcp://` endpoint creates. */
    [OPEN](): SocketCore {
      return this.#open(ensureState(this))
    }

    #open(state: SocketState): SocketCore {
      if (this.#core) return this.#core
      state.lz4Of(this)
      const core = new SocketCore(this, state)
      this.#core = core
      state.core = core
      watch(this, state)
      if (state.nativeEndpoints > 0) this.#mix(core)
      state.early?.begin(core)
      return core
    }

    // -- libzmq's own endpoints ----------------------------------------------------

    /**
     * Returns whether an endpoint belongs to libzmq.
     *
     * @throws Error with code EBUSY. Sockets with libzmq's endpoints only are left to zeromq.js to
     * check.
     */
    #isNative(state: SocketState, address: string): boolean {
      const isNative = this.closed || !isLz4(address)
      if (state.core || !isNative) checkFree(state)
      return isNative
    }

    /**
     * Binds or unbinds one of libzmq's endpoints on this thread if there is a socket core. libzmq
     * allows only one call at a time for a socket. The core's sends and receives may call it at any
     * time, and zeromq.js's own bind() and unbind() call it on another thread. Returns undefined if
     * zeromq.js's methods are to be used.
     */
    #withoutThread(
      state: SocketState,
      args: unknown[],
      change: (address: string) => void,
      binds: boolean,
      changed: () => void,
    ): Promise<void> | undefined {
      const [address] = args
      // zeromq.js throws the right errors for these.
      const core = this.#core
      if (!core || this.closed || args.length > 1 || typeof address !== "string") return undefined
      return blocking(this, state, async () => {
        await turn()
        let resolved = address
        try {
          resolved = await resolveNative(this, address)
        } catch (error) {
          if (binds) throw core.endpoints.bindError(address, error)
        }
        try {
          change.call(this, resolved)
        } catch (error) {
          // libzmq knows a connected endpoint by the name that the program gave.
          if (binds || resolved === address) throw Object.assign(error as Error, { address })
          change.call(this, address)
        }
        changed()
      })
    }

    /** Omits the options if the socket is closed, so that zeromq.js reports that instead. */
    #nativeArgs(args: unknown[]): [address: string] {
      return (this.closed ? args.slice(0, 1) : args) as [string]
    }

    #nativeAdded(state: SocketState): void {
      state.nativeEndpoints++
      const core = this.#core
      if (!core) return
      core.endpoints.lastEndpoint = null
      if (!core.operations.mixed) this.#mix(core)
    }

    /** Makes the socket core use libzmq's endpoints as well. */
    #mix(core: SocketCore): void {
      const ref = new WeakRef(this)
      native.setInt32Option.call(this, OPTION.sendTimeout, 0)
      if (native.receive) native.setInt32Option.call(this, OPTION.receiveTimeout, NATIVE_RECEIVE_MS)
      const socket = (): NativeSocket | undefined => {
        const self = ref.deref()
        if (!self || self.closed) return undefined
        const get = (name: "readable" | "writable") =>
          Reflect.get(Base.prototype, name, self) as boolean
        return {
          get readable() {
            return get("readable")
          },
          get writable() {
            return get("writable")
          },
          send: (message: Message, routing: Routing) =>
            Object.keys(routing).length > 0
              ? (native.send?.call(self, message, routing) as Promise<void>)
              : (native.send?.call(self, message) as Promise<void>),
          receive: () =>
            native.receive ? native.receive.call(self) : new Promise<never>(() => {}),
        }
      }
      core.operations.mixed = new MixedSocket(
        core.type,
        ensureState(this).typeOptions,
        socket,
        core.operations,
      )
    }

    // -- Options -------------------------------------------------------------------

    override setBoolOption(option: number, value: boolean): void {
      const state = ensureState(this)
      state.changing(option)
      super.setBoolOption(option, value)
      state.setFlag(option, value)
    }

    override setInt32Option(option: number, value: number): void {
      const state = ensureState(this)
      state.changing(option)
      super.setInt32Option(option, value)
      state.setNumber(option, value, this)
      const core = coreOf(this)
      // With libzmq's endpoints in use, the socket core sets libzmq's own timeouts.
      if (!core?.operations.mixed) return
      if (option === OPTION.sendTimeout) super.setInt32Option(option, 0)
      if (option === OPTION.receiveTimeout) super.setInt32Option(option, NATIVE_RECEIVE_MS)
    }

    override setUint32Option(option: number, value: number): void {
      ensureState(this).changing(option)
      super.setUint32Option(option, value)
    }

    override setInt64Option(option: number, value: number): void {
      ensureState(this).changing(option)
      super.setInt64Option(option, value)
    }

    override setUint64Option(option: number, value: number): void {
      ensureState(this).changing(option)
      super.setUint64Option(option, value)
    }

    override getInt32Option(option: number): number {
      const state = stateOf(this)
      if (state && coreOf(this)?.operations.mixed) {
        if (option === OPTION.sendTimeout) return state.sendTimeoutMs
        if (option === OPTION.receiveTimeout) return state.receiveTimeoutMs
      }
      return super.getInt32Option(option)
    }

    override setStringOption(option: number, value: string | Buffer | null): void {
      const state = ensureState(this)
      state.changing(option)
      super.setStringOption(option, value)
      state.setBytes(option, typeof value === "string" ? Buffer.from(value) : value)
    }
  }

  /** Makes libzmq do something, without waiting if `option` names the timeout to suspend. */
  const natively = <T>(socket: ZmqSocket, option: number | false, work: () => Promise<T>) => {
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
  const mayWait = (socket: ZmqSocket, what: "readable" | "writable"): boolean => {
    const state = stateOf(socket)
    if (state?.nativeUsed || socket.closed) return false
    const timeoutMs = what === "readable" ? state?.receiveTimeoutMs : state?.sendTimeoutMs
    return timeoutMs !== 0 && !Reflect.get(Base.prototype, what, socket)
  }

  // -- Methods that not every class has --------------------------------------------

  const define = (name: string, value: unknown) =>
    Object.defineProperty(Socket.prototype, name, { configurable: true, writable: true, value })

  if (native.send) {
    const send = native.send
    const takesRouting = Base.name in ROUTING
    define("send", function (this: Socket, ...args: unknown[]): Promise<void> {
      const core = coreOf(this)
      if (core === undefined) {
        if (!mayWait(this, "writable") || args[0] === undefined) return send.apply(this, args)
        const state = ensureState(this)
        state.early ??= new EarlyOperations()
        // The program may reuse its memory while the operation is pending.
        const message = copyMessage(toMessage(args[0]))
        const more = args.slice(1)
        return state.early.wait("send", state.sendTimeoutMs, (core, now) =>
          core
            ? core.operations.send(message, toRouting(more[0] ?? {}))
            : natively(this, now && OPTION.sendTimeout, () => send.call(this, message, ...more)),
        )
      }
      checkSendArguments(args, takesRouting ? 2 : 1)
      core.operations.checkUsable()
      if (!takesRouting) return core.operations.send(toMessage(args[0]), NO_ROUTING)
      const routing = toRouting(args[1])
      const { routingId, group } = routing
      if (!routingId && !group) throw explained("EINVAL", ROUTING[Base.name] as string)
      return core.operations.send(toMessage(args[0]), routing)
    })
  }

  if (native.receive) {
    const receive = native.receive
    define("receive", function (this: Socket, ...args: unknown[]): Promise<Received> {
      const core = coreOf(this)
      if (args.length > 0) return receive.apply(this, args)
      if (core === undefined) {
        if (!mayWait(this, "readable")) return receive.apply(this)
        const state = ensureState(this)
        state.early ??= new EarlyOperations()
        return state.early.wait("receive", state.receiveTimeoutMs, (core, now) =>
          core
            ? core.operations.receive()
            : natively(this, now && OPTION.receiveTimeout, () => receive.apply(this)),
        )
      }
      core.operations.checkUsable()
      return core.operations.receive()
    })
  }

  for (const name of ["join", "leave"] as const) {
    const change = native[name]
    if (!change) continue
    define(name, function (this: Socket, ...groups: (Buffer | string)[]): void {
      for (const group of groups) {
        change.call(this, group)
        const state = ensureState(this)
        const key = toGroup(group).toString("latin1")
        if (name === "join") state.joined(key)
        else state.left(key)
      }
    })
  }

  // Defined this way because the types of zeromq.js declare properties, which accessors cannot override.
  const defineGetter = <T>(
    name: "events" | "readable" | "writable",
    get: (socket: ZmqSocket) => T,
  ) =>
    Object.defineProperty(Socket.prototype, name, {
      configurable: true,
      get(this: ZmqSocket): T {
        return get(this)
      },
    })
  const inherited = (name: string, socket: ZmqSocket) => Reflect.get(Base.prototype, name, socket)
  defineGetter(
    "readable",
    (socket) => coreOf(socket)?.operations.isReadable ?? inherited("readable", socket),
  )
  defineGetter(
    "writable",
    (socket) => coreOf(socket)?.operations.isWritable ?? inherited("writable", socket),
  )
  defineGetter("events", (socket) => {
    const observer = inherited("events", socket) as Observer
    const state = ensureState(socket)
    state.monitor ??= new Monitor(observer, state.nativeUsed)
    return observer
  })
  explainAddresses(Socket.prototype, whyNative)
  for (const name of ENDPOINT_OPTIONS)
    Object.defineProperty(Socket.prototype, name, {
      configurable: true,
      get: () => undefined,
      set() {
        throw misplacedOption(name, Base.name)
      },
    })
  Object.defineProperty(Socket, "name", { value: Base.name })
  return Socket as unknown as Lz4Class<C>
}

/** Whether a class that is derived from a base defines a member of this name, or one in between does. */
function redefines(prototype: object, name: string, base: object): boolean {
  for (let at: object | null = prototype; at && at !== base; at = Object.getPrototypeOf(at))
    if (Object.hasOwn(at, name)) return true
  return false
}

const NO_ROUTING: Routing = {}

/** Classes whose messages need routing, with the error if it is missing. */
const ROUTING: Readonly<Record<string, string>> = {
  Server:
    "a Server sends with the routing id that came with a message: send(message, { routingId })",
  Radio: "a Radio sends to a group: send(message, { group })",
}

/** Refuses options that zeromq.js ignores for its own endpoints, where it reads only the routing id. */
function checkRouterOptions(address: string, options: object | undefined): void {
  for (const name of Object.keys(options ?? {}))
    if (ENDPOINT_OPTIONS.includes(name)) throw ignoredOption(address, name)
}

/** Returns a group as libzmq reads it: a string that ends at a zero byte. */
function toGroup(given: string | Buffer): Buffer {
  const group = Buffer.from(given as string)
  const end = group.indexOf(0)
  return end < 0 ? group : group.subarray(0, end)
}

function checkSendArguments(args: unknown[], max: number): void {
  if (args[0] === undefined) throw new TypeError("Message must be present")
  if (args.length <= max) return
  const expected = max === 1 ? "1 argument" : `${max} arguments`
  throw new TypeError(`Expected ${expected} but received ${args.length}`)
}

function toRouting(given: unknown): Routing {
  if (typeof given !== "object" || given === null) throw new TypeError("Options must be an object")
  checkRouting(given)
  const { routingId, group } = given as { routingId?: number; group?: string | Buffer }
  return {
    ...(routingId !== undefined && { routingId: Number(routingId) >>> 0 }),
    ...(group !== undefined && { group: toGroup(group) }),
  }
}

/** Does something during which the socket is blocked. As in zeromq.js, close() takes effect afterwards. */
async function blocking(
  socket: ZmqSocket,
  state: SocketState,
  work: () => Promise<void>,
): Promise<void> {
  state.blocked = "own"
  try {
    await work()
  } finally {
    state.blocked = undefined
    if (state.closing) socket.close()
  }
}

/**
 * Records that zeromq.js blocks the socket, so that no socket core is created meanwhile: creating
 * it reads options.
 */
function blockingNative(state: SocketState, work: Promise<void>, done: () => void): Promise<void> {
  state.blocked = "native"
  const over = () => {
    state.blocked = undefined
  }
  work.then(() => {
    over()
    done()
  }, over)
  return work
}
