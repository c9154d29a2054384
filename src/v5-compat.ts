/**
 * The API of zeromq.js 5, as `zeromq/v5-compat` has it, with sockets that also speak `lz4+tcp://` and
 * `zstd+tcp://`.
 */

import type * as zmq from "zeromq"
import type * as v5 from "zeromq/v5-compat.js"
import {
  Dealer,
  type EndpointOptions,
  type Lz4,
  Pair,
  Publisher,
  Pull,
  Push,
  Reply,
  Request,
  Router,
  Subscriber,
  XPublisher,
  XSubscriber,
} from "./exports.js"
import { turn } from "./sockets/event-loop/turn.js"
import { stateOf } from "./sockets/state.js"
import { loadV5Compat, loadZeromq } from "./zeromq.js"

const zeromq = loadV5Compat()
/** Where `zeromq/v5-compat` looks up the classes of the sockets that it creates. */
const zeromqClasses = loadZeromq() as unknown as Record<string, unknown>

/** The classes of the sockets inside; a `stream` has that of zeromq.js. */
const CLASSES: Partial<Record<v5.SocketType, new () => zmq.Socket>> = {
  pair: Pair,
  req: Request,
  rep: Reply,
  pub: Publisher,
  sub: Subscriber,
  dealer: Dealer,
  xreq: Dealer,
  router: Router,
  xrep: Router,
  pull: Pull,
  push: Push,
  xpub: XPublisher,
  xsub: XSubscriber,
}

/** A socket of the old API, and the one inside, which zeromq.js creates. */
interface Outer {
  type: v5.SocketType
  _socket: zmq.Socket
}

/**
 * Makes zeromq.js's constructor create a socket of this package, until the returned function is called.
 * Replacing its own socket afterwards would need room for both: libzmq frees a closed one a little
 * later, on another thread, and a program with many sockets would reach `maxSockets`.
 */
function substitute(type: v5.SocketType): () => void {
  const Class = Object.hasOwn(CLASSES, type) ? CLASSES[type] : undefined
  if (!Class) return () => {}
  const { name } = Class
  const native = zeromqClasses[name]
  // Without an error if it cannot be set, as in a frozen object: replaceInner() is there.
  Reflect.set(zeromqClasses, name, Class)
  return () => Reflect.set(zeromqClasses, name, native)
}

/** Replaces the socket inside by one of this package if `substitute` had no effect. */
function replaceInner(socket: v5.Socket): void {
  const outer = socket as unknown as Outer
  const Class = CLASSES[outer.type]
  const inner = outer._socket
  if (!Class || inner.constructor === Class) return
  inner.close()
  outer._socket = new Class()
}

type Opener = (address: string, options: EndpointOptions) => unknown

/** Calls a method that binds or connects with an address only, so that it does so with options. */
function given<T>(socket: v5.Socket, options: EndpointOptions | undefined, call: () => T): T {
  if (options === undefined) return call()
  const outer = socket as unknown as { _socket: object }
  const inner = outer._socket as Record<"bind" | "bindSync" | "connect", Opener>
  outer._socket = {
    bind: (address: string) => inner.bind(address, options),
    bindSync: (address: string) => inner.bindSync(address, options),
    connect: (address: string) => inner.connect(address, options),
  }
  try {
    return call()
  } finally {
    outer._socket = inner
  }
}

/** Returns whether an argument is meant as options. Others are ignored: forEach() passes an index. */
function isOptions(argument: unknown): argument is EndpointOptions {
  return typeof argument === "object" && argument !== null && !Array.isArray(argument)
}

/** The callback for when a socket is bound, with the error if it could not be. */
export type Callback = (error?: Error) => void

/**
 * A socket of the old API, with the methods of `zeromq/v5-compat`. The last argument of those that bind
 * and connect are the options of an `lz4+tcp://` or `zstd+tcp://` endpoint.
 */
export interface Socket extends v5.Socket {
  /** Events, statistics and `flush()` of the socket's `lz4+tcp://` and `zstd+tcp://` connections. */
  readonly lz4: Lz4
  /** Binds in the background, and calls `callback` when the socket is bound or could not be. */
  bind(address: string, callback?: Callback, options?: EndpointOptions): this
  /** Binds in the background. The socket emits "bind" when it is bound, or "error". */
  bind(address: string, options: EndpointOptions): this
  /**
   * Binds before it returns.
   *
   * @throws TypeError or RangeError if an option is invalid.
   * @throws Error with a code of zeromq.js, such as EADDRINUSE.
   */
  bindSync(address: string, options?: EndpointOptions): void
  /**
   * Connects in the background.
   *
   * @throws TypeError or RangeError if an option is invalid.
   */
  connect(address: string, options?: EndpointOptions): this
}

/** The class of these sockets. */
// It gets its name from the constant: the bundler would change one of its own.
export const Socket: new (type: v5.SocketType) => Socket = class
  extends zeromq.Socket
  implements Socket
{
  constructor(type: v5.SocketType) {
    const restore = substitute(type)
    try {
      super(type)
    } finally {
      restore()
    }
    replaceInner(this)
  }

  get lz4(): Lz4 {
    return ((this as unknown as Outer)._socket as unknown as { lz4: Lz4 }).lz4
  }

  override bind(address: string, ...more: (Callback | EndpointOptions | undefined)[]): this {
    const callback = more.find((one): one is Callback => typeof one === "function")
    const options = more.find(isOptions)
    return given(this, options, () => super.bind(address, callback))
  }

  override bindSync(address: string, options?: EndpointOptions): void {
    given(this, isOptions(options) ? options : undefined, () => super.bindSync(address))
  }

  override connect(address: string, options?: EndpointOptions): this {
    return given(this, isOptions(options) ? options : undefined, () => super.connect(address))
  }

  /**
   * Most types begin to receive inside zeromq.js's constructor, before ours goes on. And zeromq.js tries
   * again at once if the socket is busy: a bind or unbind would never end.
   */
  override _recv(): Promise<void> {
    replaceInner(this)
    const isBusy = stateOf((this as unknown as Outer)._socket)?.blocked !== undefined
    return isBusy ? turn().then(() => super._recv()) : super._recv()
  }
}
/**
 * Creates a socket.
 *
 * @param type its type, such as "push".
 * @param options its options, by their names in the old API.
 */
export function createSocket(
  type: v5.SocketType,
  options: Readonly<Record<string, unknown>> = {},
): Socket {
  return Object.assign(new Socket(type), options)
}

/** The same as {@link createSocket}. */
export const socket: typeof createSocket = createSocket

/** The type of the default export: what this module exports, and the rest of `zeromq/v5-compat`. */
export type All = Omit<typeof v5, "Socket" | "createSocket" | "socket"> & {
  Socket: typeof Socket
  createSocket: typeof createSocket
  socket: typeof createSocket
}

/** Everything in one object, as `require()` returns it. */
const all: All = { ...zeromq, Socket, createSocket, socket }

export default all

export type { EndpointOptions, Lz4 }

/** The type of a socket, such as "push". */
export type SocketType = v5.SocketType

/** Sets and returns the number of threads and sockets that zeromq.js's context may have. */
export const Context: typeof v5.Context = zeromq.Context
/** Makes a pair of keys for CURVE. */
export const curveKeypair: typeof v5.curveKeypair = zeromq.curveKeypair
/** Forwards messages between two sockets, also of `lz4+tcp://` and `zstd+tcp://`. */
export const proxy: typeof v5.proxy = zeromq.proxy
/** The version of libzmq inside zeromq.js. */
export const version: typeof v5.version = zeromq.version
/** The numbers of options, by their short names. */
export const options: typeof v5.options = zeromq.options

// The numbers of libzmq, by its own names.
export const ZMQ_AFFINITY: typeof v5.ZMQ_AFFINITY = zeromq.ZMQ_AFFINITY
export const ZMQ_IDENTITY: typeof v5.ZMQ_IDENTITY = zeromq.ZMQ_IDENTITY
export const ZMQ_SUBSCRIBE: typeof v5.ZMQ_SUBSCRIBE = zeromq.ZMQ_SUBSCRIBE
export const ZMQ_UNSUBSCRIBE: typeof v5.ZMQ_UNSUBSCRIBE = zeromq.ZMQ_UNSUBSCRIBE
export const ZMQ_RATE: typeof v5.ZMQ_RATE = zeromq.ZMQ_RATE
export const ZMQ_RECOVERY_IVL: typeof v5.ZMQ_RECOVERY_IVL = zeromq.ZMQ_RECOVERY_IVL
export const ZMQ_RECOVERY_IVL_MSEC: typeof v5.ZMQ_RECOVERY_IVL_MSEC = zeromq.ZMQ_RECOVERY_IVL_MSEC
export const ZMQ_SNDBUF: typeof v5.ZMQ_SNDBUF = zeromq.ZMQ_SNDBUF
export const ZMQ_RCVBUF: typeof v5.ZMQ_RCVBUF = zeromq.ZMQ_RCVBUF
export const ZMQ_RCVMORE: typeof v5.ZMQ_RCVMORE = zeromq.ZMQ_RCVMORE
export const ZMQ_FD: typeof v5.ZMQ_FD = zeromq.ZMQ_FD
export const ZMQ_EVENTS: typeof v5.ZMQ_EVENTS = zeromq.ZMQ_EVENTS
export const ZMQ_TYPE: typeof v5.ZMQ_TYPE = zeromq.ZMQ_TYPE
export const ZMQ_LINGER: typeof v5.ZMQ_LINGER = zeromq.ZMQ_LINGER
export const ZMQ_RECONNECT_IVL: typeof v5.ZMQ_RECONNECT_IVL = zeromq.ZMQ_RECONNECT_IVL
export const ZMQ_BACKLOG: typeof v5.ZMQ_BACKLOG = zeromq.ZMQ_BACKLOG
export const ZMQ_RECONNECT_IVL_MAX: typeof v5.ZMQ_RECONNECT_IVL_MAX = zeromq.ZMQ_RECONNECT_IVL_MAX
export const ZMQ_MAXMSGSIZE: typeof v5.ZMQ_MAXMSGSIZE = zeromq.ZMQ_MAXMSGSIZE
export const ZMQ_SNDHWM: typeof v5.ZMQ_SNDHWM = zeromq.ZMQ_SNDHWM
export const ZMQ_RCVHWM: typeof v5.ZMQ_RCVHWM = zeromq.ZMQ_RCVHWM
export const ZMQ_MULTICAST_HOPS: typeof v5.ZMQ_MULTICAST_HOPS = zeromq.ZMQ_MULTICAST_HOPS
export const ZMQ_RCVTIMEO: typeof v5.ZMQ_RCVTIMEO = zeromq.ZMQ_RCVTIMEO
export const ZMQ_SNDTIMEO: typeof v5.ZMQ_SNDTIMEO = zeromq.ZMQ_SNDTIMEO
export const ZMQ_IPV4ONLY: typeof v5.ZMQ_IPV4ONLY = zeromq.ZMQ_IPV4ONLY
export const ZMQ_LAST_ENDPOINT: typeof v5.ZMQ_LAST_ENDPOINT = zeromq.ZMQ_LAST_ENDPOINT
export const ZMQ_ROUTER_MANDATORY: typeof v5.ZMQ_ROUTER_MANDATORY = zeromq.ZMQ_ROUTER_MANDATORY
export const ZMQ_TCP_KEEPALIVE: typeof v5.ZMQ_TCP_KEEPALIVE = zeromq.ZMQ_TCP_KEEPALIVE
export const ZMQ_TCP_KEEPALIVE_CNT: typeof v5.ZMQ_TCP_KEEPALIVE_CNT = zeromq.ZMQ_TCP_KEEPALIVE_CNT
export const ZMQ_TCP_KEEPALIVE_IDLE: typeof v5.ZMQ_TCP_KEEPALIVE_IDLE =
  zeromq.ZMQ_TCP_KEEPALIVE_IDLE
export const ZMQ_TCP_KEEPALIVE_INTVL: typeof v5.ZMQ_TCP_KEEPALIVE_INTVL =
  zeromq.ZMQ_TCP_KEEPALIVE_INTVL
export const ZMQ_TCP_ACCEPT_FILTER: typeof v5.ZMQ_TCP_ACCEPT_FILTER = zeromq.ZMQ_TCP_ACCEPT_FILTER
export const ZMQ_DELAY_ATTACH_ON_CONNECT: typeof v5.ZMQ_DELAY_ATTACH_ON_CONNECT =
  zeromq.ZMQ_DELAY_ATTACH_ON_CONNECT
export const ZMQ_XPUB_VERBOSE: typeof v5.ZMQ_XPUB_VERBOSE = zeromq.ZMQ_XPUB_VERBOSE
export const ZMQ_ROUTER_RAW: typeof v5.ZMQ_ROUTER_RAW = zeromq.ZMQ_ROUTER_RAW
export const ZMQ_IPV6: typeof v5.ZMQ_IPV6 = zeromq.ZMQ_IPV6
export const ZMQ_MECHANISM: typeof v5.ZMQ_MECHANISM = zeromq.ZMQ_MECHANISM
export const ZMQ_PLAIN_SERVER: typeof v5.ZMQ_PLAIN_SERVER = zeromq.ZMQ_PLAIN_SERVER
export const ZMQ_PLAIN_USERNAME: typeof v5.ZMQ_PLAIN_USERNAME = zeromq.ZMQ_PLAIN_USERNAME
export const ZMQ_PLAIN_PASSWORD: typeof v5.ZMQ_PLAIN_PASSWORD = zeromq.ZMQ_PLAIN_PASSWORD
export const ZMQ_CURVE_SERVER: typeof v5.ZMQ_CURVE_SERVER = zeromq.ZMQ_CURVE_SERVER
export const ZMQ_CURVE_PUBLICKEY: typeof v5.ZMQ_CURVE_PUBLICKEY = zeromq.ZMQ_CURVE_PUBLICKEY
export const ZMQ_CURVE_SECRETKEY: typeof v5.ZMQ_CURVE_SECRETKEY = zeromq.ZMQ_CURVE_SECRETKEY
export const ZMQ_CURVE_SERVERKEY: typeof v5.ZMQ_CURVE_SERVERKEY = zeromq.ZMQ_CURVE_SERVERKEY
export const ZMQ_ZAP_DOMAIN: typeof v5.ZMQ_ZAP_DOMAIN = zeromq.ZMQ_ZAP_DOMAIN
export const ZMQ_HEARTBEAT_IVL: typeof v5.ZMQ_HEARTBEAT_IVL = zeromq.ZMQ_HEARTBEAT_IVL
export const ZMQ_HEARTBEAT_TTL: typeof v5.ZMQ_HEARTBEAT_TTL = zeromq.ZMQ_HEARTBEAT_TTL
export const ZMQ_HEARTBEAT_TIMEOUT: typeof v5.ZMQ_HEARTBEAT_TIMEOUT = zeromq.ZMQ_HEARTBEAT_TIMEOUT
export const ZMQ_CONNECT_TIMEOUT: typeof v5.ZMQ_CONNECT_TIMEOUT = zeromq.ZMQ_CONNECT_TIMEOUT
export const ZMQ_IO_THREADS: typeof v5.ZMQ_IO_THREADS = zeromq.ZMQ_IO_THREADS
export const ZMQ_MAX_SOCKETS: typeof v5.ZMQ_MAX_SOCKETS = zeromq.ZMQ_MAX_SOCKETS
export const ZMQ_ROUTER_HANDOVER: typeof v5.ZMQ_ROUTER_HANDOVER = zeromq.ZMQ_ROUTER_HANDOVER
export const ZMQ_PAIR: typeof v5.ZMQ_PAIR = zeromq.ZMQ_PAIR
export const ZMQ_PUB: typeof v5.ZMQ_PUB = zeromq.ZMQ_PUB
export const ZMQ_SUB: typeof v5.ZMQ_SUB = zeromq.ZMQ_SUB
export const ZMQ_REQ: typeof v5.ZMQ_REQ = zeromq.ZMQ_REQ
export const ZMQ_REP: typeof v5.ZMQ_REP = zeromq.ZMQ_REP
export const ZMQ_DEALER: typeof v5.ZMQ_DEALER = zeromq.ZMQ_DEALER
export const ZMQ_XREQ: typeof v5.ZMQ_XREQ = zeromq.ZMQ_XREQ
export const ZMQ_ROUTER: typeof v5.ZMQ_ROUTER = zeromq.ZMQ_ROUTER
export const ZMQ_XREP: typeof v5.ZMQ_XREP = zeromq.ZMQ_XREP
export const ZMQ_PULL: typeof v5.ZMQ_PULL = zeromq.ZMQ_PULL
export const ZMQ_PUSH: typeof v5.ZMQ_PUSH = zeromq.ZMQ_PUSH
export const ZMQ_XPUB: typeof v5.ZMQ_XPUB = zeromq.ZMQ_XPUB
export const ZMQ_XSUB: typeof v5.ZMQ_XSUB = zeromq.ZMQ_XSUB
export const ZMQ_STREAM: typeof v5.ZMQ_STREAM = zeromq.ZMQ_STREAM
export const ZMQ_POLLIN: typeof v5.ZMQ_POLLIN = zeromq.ZMQ_POLLIN
export const ZMQ_POLLOUT: typeof v5.ZMQ_POLLOUT = zeromq.ZMQ_POLLOUT
export const ZMQ_POLLERR: typeof v5.ZMQ_POLLERR = zeromq.ZMQ_POLLERR
export const ZMQ_SNDMORE: typeof v5.ZMQ_SNDMORE = zeromq.ZMQ_SNDMORE
export const ZMQ_CAN_MONITOR: typeof v5.ZMQ_CAN_MONITOR = zeromq.ZMQ_CAN_MONITOR
export const ZMQ_CAN_DISCONNECT: typeof v5.ZMQ_CAN_DISCONNECT = zeromq.ZMQ_CAN_DISCONNECT
export const ZMQ_CAN_UNBIND: typeof v5.ZMQ_CAN_UNBIND = zeromq.ZMQ_CAN_UNBIND
export const ZMQ_CAN_SET_CTX: typeof v5.ZMQ_CAN_SET_CTX = zeromq.ZMQ_CAN_SET_CTX
export const STATE_READY: typeof v5.STATE_READY = zeromq.STATE_READY
export const STATE_BUSY: typeof v5.STATE_BUSY = zeromq.STATE_BUSY
export const STATE_CLOSED: typeof v5.STATE_CLOSED = zeromq.STATE_CLOSED
