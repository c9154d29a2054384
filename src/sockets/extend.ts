import type * as zmq from "zeromq"
import type { Socket as ZmqSocket } from "zeromq"
import { isOurs } from "../transport/address.js"
import { explanation } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import type { CompressedPart } from "./compressed-part.js"
import { ENDPOINT_OPTIONS, type EndpointOptions } from "./endpoints/endpoint-options.js"
import { lz4Endpoints } from "./endpoints/lz4-endpoints.js"
import {
  ENDPOINT_METHODS,
  type EndpointMethods,
  type NativeMethods,
  nativeEndpoints,
} from "./endpoints/native-endpoints.js"
import { unwatch, watch } from "./event-loop/exit.js"
import type { Lz4 } from "./lz4.js"
import { defineMessageMethods, type SendOptions } from "./message-methods.js"
import {
  checkSocketOptions,
  explainRefusal,
  isTextOrBytes,
  misplacedOption,
  nativeRefusalReason,
} from "./mistakes.js"
import { Monitor } from "./monitor.js"
import { NATIVE_RECEIVE_MS } from "./native-pipe.js"
import { OPEN, SocketCore } from "./socket-core.js"
import { ensureState, type SocketState, stateOf } from "./state.js"
import { OPTION } from "./zmq-numbers.js"

/**
 * Addresses that take no options of this package. TypeScript knows the scheme of literals only: any
 * other string may begin with `lz4+tcp://` or `zstd+tcp://`.
 */
export type NativeAddress = `${"tcp" | "ipc" | "inproc" | "udp" | "ws" | "wss"}://${string}`

/** The options that go with an address. `Native` are those of zeromq.js, unknown if it has none. */
export type OptionsOf<Address extends string, Native = unknown> = Address extends NativeAddress
  ? unknown extends Native
    ? undefined
    : Native
  : EndpointOptions & Native

/**
 * The additions to a socket of zeromq.js, besides `send()`, which is in {@link Lz4Writable}. `Options`
 * are those of zeromq.js's `connect`.
 */
export interface Lz4Socket<Options = unknown> {
  /** Events, statistics and `flush()` of the socket's `lz4+tcp://` and `zstd+tcp://` connections. */
  readonly lz4: Lz4
  /**
   * Binds to an endpoint. Those of `lz4+tcp://` and `zstd+tcp://` have the grammar of `tcp://`, and may
   * have {@link EndpointOptions}.
   *
   * @throws TypeError or RangeError if an option is invalid.
   * @throws Error with a code of zeromq.js: EINVAL, ENODEV, EADDRINUSE, ENOTSUP …
   */
  bind<A extends string>(address: A, options?: OptionsOf<A>): Promise<void>
  /**
   * Binds synchronously, as in zeromq.js.
   *
   * @throws TypeError or RangeError if an option is invalid.
   * @throws Error with a code of zeromq.js, as for `bind`.
   */
  bindSync<A extends string>(address: A, options?: OptionsOf<A>): void
  /**
   * Connects to an endpoint, in the background. Those of `lz4+tcp://` and `zstd+tcp://` may have
   * {@link EndpointOptions}.
   *
   * @throws TypeError or RangeError if an option is invalid.
   * @throws Error with a code of zeromq.js, such as EINVAL or ENOTSUP.
   */
  connect<A extends string>(address: A, options?: OptionsOf<A, Options>): void
}

/**
 * A socket class `C` of zeromq.js whose sockets also speak `lz4+tcp://` and `zstd+tcp://`: they have
 * what {@link Lz4Socket} and {@link Lz4Writable} add.
 */
export type Lz4Class<C extends SocketClass> = {
  /** Creates a socket. The options are those of zeromq.js. */
  new (...args: ConstructorParameters<C>): Lz4Instance<InstanceType<C>>
  /** The methods and properties of all its sockets. */
  readonly prototype: Lz4Instance<InstanceType<C>>
}

/** A message as `send` takes it: one of zeromq.js's `M`, whose parts may be compressed already. */
export type SentMessage<M> = M extends readonly (infer P)[]
  ? readonly (P | CompressedPart)[]
  : M | CompressedPart

/** The options of `send`, with those that zeromq.js has for the class, `O`. */
export type SendOptionsOf<O extends readonly unknown[]> = O extends readonly [infer First]
  ? [options: First & SendOptions]
  : [options?: SendOptions]

/** The addition to a socket `S` that sends. */
export type Lz4Writable<S> =
  S extends zmq.Writable<infer M, infer O>
    ? {
        /** Sends a message as zeromq.js does. Its parts may be compressed already. */
        send(message: SentMessage<M>, ...options: SendOptionsOf<O>): Promise<void>
      }
    : unknown

/** A socket of zeromq.js, of the class `S`, that also speaks `lz4+tcp://` and `zstd+tcp://`. */
export type Lz4Instance<S extends ZmqSocket> = S &
  Lz4Writable<S> &
  Lz4Socket<
    S["connect"] extends (address: string, options?: infer Options) => void ? Options : unknown
  >

/** A class of sockets of zeromq.js. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires it of the base of a mixin
export type SocketClass = new (...args: any[]) => ZmqSocket

/** Extends a socket class of zeromq.js. The class keeps its name and its other behaviour. */
export function extend<C extends SocketClass>(Base: C): Lz4Class<C> {
  const native = Base.prototype as NativeMethods

  let coreOf: (socket: ZmqSocket) => SocketCore | undefined
  const inherited = (name: string, socket: ZmqSocket) => Reflect.get(Base.prototype, name, socket)
  /** Returns whether libzmq, whose last endpoint was released, has received messages or an exchange. */
  const hasUnfinished = (socket: ZmqSocket, { nativeUsed, nativeRequest }: SocketState) =>
    nativeUsed &&
    (nativeRequest ||
      inherited("readable", socket) ||
      (Base.name === "Reply" && inherited("writable", socket)))
  const libzmqs = nativeEndpoints(native, Base.name, (socket) => coreOf(socket))

  // Named as the class in zeromq.js, because V8 prints the name in messages.
  class Socket extends Base {
    /** Set with the first `lz4+tcp://` endpoint. zeromq.js's constructor sets options before. */
    #core: SocketCore | undefined

    static {
      coreOf = (socket) => (#core in socket ? socket.#core : undefined)
    }

    // biome-ignore lint/suspicious/noExplicitAny: TypeScript requires it of a mixin
    constructor(...args: any[]) {
      const isRedefined = (name: string) => redefines(new.target.prototype, name, Socket.prototype)
      checkSocketOptions(args[0], Base.name, isRedefined)
      super(...args)
      ensureState(this) // it keeps the async context
    }

    get lz4(): Lz4 {
      return ensureState(this).lz4Of(this)
    }

    override close(...args: []): void {
      const state = stateOf(this)
      if (!state || args.length > 0) {
        native.close.call(this, ...args) // refuses arguments
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
      // The socket's last event is libzmq's, and follows those of endpoints that linger.
      const ended = () => state.monitor?.useNative()
      if (state.core) state.core.close(lingerMs, ended)
      else ended()
      unwatch(state)
      state.endpointCount = 0
      // libzmq decides how pending operations fail, which is not always with EAGAIN.
      state.earlyOperations?.begin(undefined)
      native.close.call(this, ...args)
    }

    override get lastEndpoint(): string | null {
      const lastEndpoint = this.closed ? undefined : coreOf(this)?.endpoints.lastEndpoint
      return lastEndpoint ?? super.lastEndpoint
    }

    [OPEN](): SocketCore {
      if (this.#core) return this.#core
      const state = ensureState(this)
      state.lz4Of(this)
      const core = new SocketCore(this, state)
      this.#core = core
      state.core = core
      watch(this, state)
      if (state.nativeEndpoints > 0 || hasUnfinished(this, state)) libzmqs.mix(this, state, core)
      state.earlyOperations?.begin(core)
      return core
    }

    // -- Options -------------------------------------------------------------------

    override setBoolOption(option: number, value: boolean): void {
      const state = ensureState(this)
      // zeromq.js checks the type of a value before it warns.
      if (typeof value === "boolean") state.optionChanging(option)
      super.setBoolOption(option, value)
      state.setBoolean(option, value)
    }

    override setInt32Option(option: number, value: number): void {
      const state = ensureState(this)
      if (typeof value === "number") state.optionChanging(option)
      super.setInt32Option(option, value)
      state.setNumber(option, value, this)
      const core = coreOf(this)
      // The timeouts of libzmq itself are the socket core's then: see nativeEndpoints().
      if (!core?.operations.mixed) return
      if (option === OPTION.sendTimeout) super.setInt32Option(option, 0)
      if (option === OPTION.receiveTimeout) super.setInt32Option(option, NATIVE_RECEIVE_MS)
    }

    override setUint32Option(option: number, value: number): void {
      if (typeof value === "number") ensureState(this).optionChanging(option)
      super.setUint32Option(option, value)
    }

    override setInt64Option(option: number, value: number): void {
      if (typeof value === "number") ensureState(this).optionChanging(option)
      super.setInt64Option(option, value)
    }

    override setUint64Option(option: number, value: number): void {
      if (typeof value === "number") ensureState(this).optionChanging(option)
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
      if (value === null || isTextOrBytes(value)) state.optionChanging(option)
      super.setStringOption(option, value)
      state.setBytes(option, value)
    }
  }

  defineEndpointMethods(Socket.prototype, (name, socket, args) => {
    const state = ensureState(socket)
    const isForUs = isOurs(args[0]) && !socket.closed
    // zeromq.js itself checks sockets that only have libzmq's endpoints.
    if (state.core || isForUs) state.checkFree()
    if (isForUs) return lz4Endpoints[name](socket, state, args)
    return explainRefusal(nativeRefusalReason(args), args, () => libzmqs[name](socket, state, args))
  })
  defineMessageMethods(Socket.prototype, native, Base.name, coreOf)

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
  defineGetter(
    "readable",
    (socket) => coreOf(socket)?.operations.isReadable ?? inherited("readable", socket),
  )
  defineGetter(
    "writable",
    (socket) => coreOf(socket)?.operations.isWritable ?? inherited("writable", socket),
  )
  defineGetter("events", (socket) => {
    const observer = inherited("events", socket) as zmq.Observer
    const state = ensureState(socket)
    state.monitor ??= new Monitor(observer, state.nativeUsed)
    return observer
  })
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

/** Makes the methods of a class that take an address call `call`. */
function defineEndpointMethods(
  prototype: object,
  call: (name: keyof EndpointMethods, socket: ZmqSocket, args: unknown[]) => unknown,
): void {
  for (const name of ENDPOINT_METHODS) {
    const { [name]: value } = {
      [name](this: ZmqSocket, ...args: unknown[]): unknown {
        return call(name, this, args)
      },
    }
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value })
  }
}

/** Returns whether a class derived from `base`, or one in between, redefines a member. */
function redefines(prototype: object, name: string, base: object): boolean {
  for (let at: object | null = prototype; at && at !== base; at = Object.getPrototypeOf(at))
    if (Object.hasOwn(at, name)) return true
  return false
}

/** Returns a socket class of zeromq.js that does not support `lz4+tcp://`, and whose errors say so. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires it of the base of a mixin
export function withoutLz4<C extends new (...args: any[]) => ZmqSocket>(
  Base: C,
  speaks: string,
): C {
  class Socket extends Base {}
  defineEndpointMethods(Socket.prototype, (name, socket, args) => {
    const [address] = args
    const reason = isOurs(address)
      ? explanation(address, `is not for ${Base.name}, which speaks ${speaks}, not ZMTP`)
      : nativeRefusalReason([address])
    const call = Base.prototype[name] as (...args: unknown[]) => unknown
    return explainRefusal(reason, args, () => call.apply(socket, args))
  })
  Object.defineProperty(Socket, "name", { value: Base.name })
  return Socket
}

/** zeromq.js's Observer. As in libzmq, a new one takes the place of the socket's previous one. */
export const NamedObserver: typeof zmq.Observer = new Proxy(loadZeromq().Observer, {
  construct(Observer, [socket, ...more], newTarget) {
    const observer = Reflect.construct(Observer, [socket, ...more], newTarget) as zmq.Observer
    if (!("lz4" in socket)) return observer
    const state = ensureState(socket)
    state.monitor?.useNative() // so that the previous one gets its last event from libzmq
    state.monitor = new Monitor(observer, state.nativeUsed)
    return observer
  },
})
