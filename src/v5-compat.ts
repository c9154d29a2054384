/** The API of zeromq.js 5 and earlier, as `zeromq/v5-compat` has it, with sockets that also speak `lz4+tcp://`. */
import type * as zmq from "zeromq"
import type * as compat from "zeromq/v5-compat.js"
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
const CLASSES: Partial<Record<compat.SocketType, new () => zmq.Socket>> = {
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
  type: compat.SocketType
  _socket: zmq.Socket
}

/**
 * Makes zeromq.js's constructor create a socket of this package, until the returned function is called. A second socket in
 * place of its own would need room for both: libzmq frees a closed one a little later, on another thread, and a
 * program with many sockets would reach `maxSockets` before.
 */
function substitute(type: compat.SocketType): () => void {
  const Class = Object.hasOwn(CLASSES, type) ? CLASSES[type] : undefined
  if (!Class) return () => {}
  const { name } = Class // that of the class in zeromq.js
  const native = zeromqClasses[name]
  // Without an error if it cannot be set, as in a frozen object: replaceInner() is there.
  Reflect.set(zeromqClasses, name, Class)
  return () => Reflect.set(zeromqClasses, name, native)
}

/** Replaces the socket inside by one of this package, unless it is one: if `substitute` had no effect. */
function replaceInner(socket: compat.Socket): void {
  const outer = socket as unknown as Outer
  const Class = CLASSES[outer.type]
  const inner = outer._socket
  if (!Class || inner.constructor === Class) return
  inner.close()
  outer._socket = new Class()
}

/**
 * Calls a method of the old API, which passes on an address only, so that it binds or connects with options.
 * It does so before it returns.
 */
function given<T>(socket: compat.Socket, options: EndpointOptions | undefined, call: () => T): T {
  if (options === undefined) return call()
  const outer = socket as unknown as { _socket: object }
  const inner = outer._socket as zmq.Socket & { connect(...args: unknown[]): void }
  const bind = (...args: unknown[]) => inner.bind(...(args as [string]))
  const bindSync = (...args: unknown[]) => inner.bindSync(...(args as [string]))
  outer._socket = {
    bind: (address: string) => bind(address, options),
    bindSync: (address: string) => bindSync(address, options),
    connect: (address: string) => inner.connect(address, options),
  }
  try {
    return call()
  } finally {
    outer._socket = inner
  }
}

/**
 * Returns whether an argument is meant as options. Others are ignored as in `zeromq/v5-compat`, since
 * programs give such methods to forEach(), or callbacks to those that take none.
 */
function isOptions(argument: unknown): argument is EndpointOptions {
  return typeof argument === "object" && argument !== null && !Array.isArray(argument)
}

/** Is called when a socket is bound, or with the error if it could not be. */
export type Callback = (error?: Error) => void

/** A socket of the old API, which binds and connects with the options of an endpoint as last argument. */
export interface Socket extends compat.Socket {
  /** What a socket of this package has for its `lz4+tcp://` endpoints: statistics, events, `flush()`. */
  readonly lz4: Lz4
  /** Binds, and calls `callback` then. */
  bind(address: string, callback?: Callback, options?: EndpointOptions): this
  /** Binds. */
  bind(address: string, options: EndpointOptions): this
  /** Binds before it returns. */
  bindSync(address: string, options?: EndpointOptions): void
  /** Connects, in the background. */
  connect(address: string, options?: EndpointOptions): this
}

/** The Socket of `zeromq/v5-compat`, and also for `lz4+tcp://`. */
// It gets its name from the constant: the bundler would change one of its own.
export const Socket: new (type: compat.SocketType) => Socket = class
  extends zeromq.Socket
  implements Socket
{
  constructor(type: compat.SocketType) {
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
   * Most types begin to receive inside zeromq.js's constructor, before this class's own goes on. And
   * zeromq.js receives again at once if the socket is busy, so that a bind or unbind would never end.
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
  type: compat.SocketType,
  options: Readonly<Record<string, unknown>> = {},
): Socket {
  return Object.assign(new Socket(type), options)
}

/** The same as `createSocket`. */
export const socket: typeof createSocket = createSocket

/** What this module exports, and the rest of `zeromq/v5-compat`. */
export type All = Omit<typeof compat, "Socket" | "createSocket" | "socket"> & {
  Socket: typeof Socket
  createSocket: typeof createSocket
  socket: typeof createSocket
}

/** Everything in one object, as `require()` returns it. */
const all: All = { ...zeromq, Socket, createSocket, socket }

/** Everything in one object, as `require()` returns it. */
export default all

export type { EndpointOptions, Lz4 }

/** The type of a socket, such as "push". */
export type SocketType = compat.SocketType

/** Limits of zeromq.js's context. */
export const Context: typeof compat.Context = zeromq.Context
/** Makes a pair of keys for CURVE. */
export const curveKeypair: typeof compat.curveKeypair = zeromq.curveKeypair
/** Passes on messages between two sockets. */
export const proxy: typeof compat.proxy = zeromq.proxy
/** The version of libzmq inside zeromq.js. */
export const version: typeof compat.version = zeromq.version
/** The numbers of options, by their short names. */
export const options: typeof compat.options = zeromq.options

// The numbers of libzmq, by its own names.
export const ZMQ_AFFINITY: typeof compat.ZMQ_AFFINITY = zeromq.ZMQ_AFFINITY
export const ZMQ_IDENTITY: typeof compat.ZMQ_IDENTITY = zeromq.ZMQ_IDENTITY
export const ZMQ_SUBSCRIBE: typeof compat.ZMQ_SUBSCRIBE = zeromq.ZMQ_SUBSCRIBE
export const ZMQ_UNSUBSCRIBE: typeof compat.ZMQ_UNSUBSCRIBE = zeromq.ZMQ_UNSUBSCRIBE
export const ZMQ_RATE: typeof compat.ZMQ_RATE = zeromq.ZMQ_RATE
export const ZMQ_RECOVERY_IVL: typeof compat.ZMQ_RECOVERY_IVL = zeromq.ZMQ_RECOVERY_IVL
export const ZMQ_RECOVERY_IVL_MSEC: typeof compat.ZMQ_RECOVERY_IVL_MSEC =
  zeromq.ZMQ_RECOVERY_IVL_MSEC
export const ZMQ_SNDBUF: typeof compat.ZMQ_SNDBUF = zeromq.ZMQ_SNDBUF
export const ZMQ_RCVBUF: typeof compat.ZMQ_RCVBUF = zeromq.ZMQ_RCVBUF
export const ZMQ_RCVMORE: typeof compat.ZMQ_RCVMORE = zeromq.ZMQ_RCVMORE
export const ZMQ_FD: typeof compat.ZMQ_FD = zeromq.ZMQ_FD
export const ZMQ_EVENTS: typeof compat.ZMQ_EVENTS = zeromq.ZMQ_EVENTS
export const ZMQ_TYPE: typeof compat.ZMQ_TYPE = zeromq.ZMQ_TYPE
export const ZMQ_LINGER: typeof compat.ZMQ_LINGER = zeromq.ZMQ_LINGER
export const ZMQ_RECONNECT_IVL: typeof compat.ZMQ_RECONNECT_IVL = zeromq.ZMQ_RECONNECT_IVL
export const ZMQ_BACKLOG: typeof compat.ZMQ_BACKLOG = zeromq.ZMQ_BACKLOG
export const ZMQ_RECONNECT_IVL_MAX: typeof compat.ZMQ_RECONNECT_IVL_MAX =
  zeromq.ZMQ_RECONNECT_IVL_MAX
export const ZMQ_MAXMSGSIZE: typeof compat.ZMQ_MAXMSGSIZE = zeromq.ZMQ_MAXMSGSIZE
export const ZMQ_SNDHWM: typeof compat.ZMQ_SNDHWM = zeromq.ZMQ_SNDHWM
export const ZMQ_RCVHWM: typeof compat.ZMQ_RCVHWM = zeromq.ZMQ_RCVHWM
export const ZMQ_MULTICAST_HOPS: typeof compat.ZMQ_MULTICAST_HOPS = zeromq.ZMQ_MULTICAST_HOPS
export const ZMQ_RCVTIMEO: typeof compat.ZMQ_RCVTIMEO = zeromq.ZMQ_RCVTIMEO
export const ZMQ_SNDTIMEO: typeof compat.ZMQ_SNDTIMEO = zeromq.ZMQ_SNDTIMEO
export const ZMQ_IPV4ONLY: typeof compat.ZMQ_IPV4ONLY = zeromq.ZMQ_IPV4ONLY
export const ZMQ_LAST_ENDPOINT: typeof compat.ZMQ_LAST_ENDPOINT = zeromq.ZMQ_LAST_ENDPOINT
export const ZMQ_ROUTER_MANDATORY: typeof compat.ZMQ_ROUTER_MANDATORY = zeromq.ZMQ_ROUTER_MANDATORY
export const ZMQ_TCP_KEEPALIVE: typeof compat.ZMQ_TCP_KEEPALIVE = zeromq.ZMQ_TCP_KEEPALIVE
export const ZMQ_TCP_KEEPALIVE_CNT: typeof compat.ZMQ_TCP_KEEPALIVE_CNT =
  zeromq.ZMQ_TCP_KEEPALIVE_CNT
export const ZMQ_TCP_KEEPALIVE_IDLE: typeof compat.ZMQ_TCP_KEEPALIVE_IDLE =
  zeromq.ZMQ_TCP_KEEPALIVE_IDLE
export const ZMQ_TCP_KEEPALIVE_INTVL: typeof compat.ZMQ_TCP_KEEPALIVE_INTVL =
  zeromq.ZMQ_TCP_KEEPALIVE_INTVL
export const ZMQ_TCP_ACCEPT_FILTER: typeof compat.ZMQ_TCP_ACCEPT_FILTER =
  zeromq.ZMQ_TCP_ACCEPT_FILTER
export const ZMQ_DELAY_ATTACH_ON_CONNECT: typeof compat.ZMQ_DELAY_ATTACH_ON_CONNECT =
  zeromq.ZMQ_DELAY_ATTACH_ON_CONNECT
export const ZMQ_XPUB_VERBOSE: typeof compat.ZMQ_XPUB_VERBOSE = zeromq.ZMQ_XPUB_VERBOSE
export const ZMQ_ROUTER_RAW: typeof compat.ZMQ_ROUTER_RAW = zeromq.ZMQ_ROUTER_RAW
export const ZMQ_IPV6: typeof compat.ZMQ_IPV6 = zeromq.ZMQ_IPV6
export const ZMQ_MECHANISM: typeof compat.ZMQ_MECHANISM = zeromq.ZMQ_MECHANISM
export const ZMQ_PLAIN_SERVER: typeof compat.ZMQ_PLAIN_SERVER = zeromq.ZMQ_PLAIN_SERVER
export const ZMQ_PLAIN_USERNAME: typeof compat.ZMQ_PLAIN_USERNAME = zeromq.ZMQ_PLAIN_USERNAME
export const ZMQ_PLAIN_PASSWORD: typeof compat.ZMQ_PLAIN_PASSWORD = zeromq.ZMQ_PLAIN_PASSWORD
export const ZMQ_CURVE_SERVER: typeof compat.ZMQ_CURVE_SERVER = zeromq.ZMQ_CURVE_SERVER
export const ZMQ_CURVE_PUBLICKEY: typeof compat.ZMQ_CURVE_PUBLICKEY = zeromq.ZMQ_CURVE_PUBLICKEY
export const ZMQ_CURVE_SECRETKEY: typeof compat.ZMQ_CURVE_SECRETKEY = zeromq.ZMQ_CURVE_SECRETKEY
export const ZMQ_CURVE_SERVERKEY: typeof compat.ZMQ_CURVE_SERVERKEY = zeromq.ZMQ_CURVE_SERVERKEY
export const ZMQ_ZAP_DOMAIN: typeof compat.ZMQ_ZAP_DOMAIN = zeromq.ZMQ_ZAP_DOMAIN
export const ZMQ_HEARTBEAT_IVL: typeof compat.ZMQ_HEARTBEAT_IVL = zeromq.ZMQ_HEARTBEAT_IVL
export const ZMQ_HEARTBEAT_TTL: typeof compat.ZMQ_HEARTBEAT_TTL = zeromq.ZMQ_HEARTBEAT_TTL
export const ZMQ_HEARTBEAT_TIMEOUT: typeof compat.ZMQ_HEARTBEAT_TIMEOUT =
  zeromq.ZMQ_HEARTBEAT_TIMEOUT
export const ZMQ_CONNECT_TIMEOUT: typeof compat.ZMQ_CONNECT_TIMEOUT = zeromq.ZMQ_CONNECT_TIMEOUT
export const ZMQ_IO_THREADS: typeof compat.ZMQ_IO_THREADS = zeromq.ZMQ_IO_THREADS
export const ZMQ_MAX_SOCKETS: typeof compat.ZMQ_MAX_SOCKETS = zeromq.ZMQ_MAX_SOCKETS
export const ZMQ_ROUTER_HANDOVER: typeof compat.ZMQ_ROUTER_HANDOVER = zeromq.ZMQ_ROUTER_HANDOVER
export const ZMQ_PAIR: typeof compat.ZMQ_PAIR = zeromq.ZMQ_PAIR
export const ZMQ_PUB: typeof compat.ZMQ_PUB = zeromq.ZMQ_PUB
export const ZMQ_SUB: typeof compat.ZMQ_SUB = zeromq.ZMQ_SUB
export const ZMQ_REQ: typeof compat.ZMQ_REQ = zeromq.ZMQ_REQ
export const ZMQ_REP: typeof compat.ZMQ_REP = zeromq.ZMQ_REP
export const ZMQ_DEALER: typeof compat.ZMQ_DEALER = zeromq.ZMQ_DEALER
export const ZMQ_XREQ: typeof compat.ZMQ_XREQ = zeromq.ZMQ_XREQ
export const ZMQ_ROUTER: typeof compat.ZMQ_ROUTER = zeromq.ZMQ_ROUTER
export const ZMQ_XREP: typeof compat.ZMQ_XREP = zeromq.ZMQ_XREP
export const ZMQ_PULL: typeof compat.ZMQ_PULL = zeromq.ZMQ_PULL
export const ZMQ_PUSH: typeof compat.ZMQ_PUSH = zeromq.ZMQ_PUSH
export const ZMQ_XPUB: typeof compat.ZMQ_XPUB = zeromq.ZMQ_XPUB
export const ZMQ_XSUB: typeof compat.ZMQ_XSUB = zeromq.ZMQ_XSUB
export const ZMQ_STREAM: typeof compat.ZMQ_STREAM = zeromq.ZMQ_STREAM
export const ZMQ_POLLIN: typeof compat.ZMQ_POLLIN = zeromq.ZMQ_POLLIN
export const ZMQ_POLLOUT: typeof compat.ZMQ_POLLOUT = zeromq.ZMQ_POLLOUT
export const ZMQ_POLLERR: typeof compat.ZMQ_POLLERR = zeromq.ZMQ_POLLERR
export const ZMQ_SNDMORE: typeof compat.ZMQ_SNDMORE = zeromq.ZMQ_SNDMORE
export const ZMQ_CAN_MONITOR: typeof compat.ZMQ_CAN_MONITOR = zeromq.ZMQ_CAN_MONITOR
export const ZMQ_CAN_DISCONNECT: typeof compat.ZMQ_CAN_DISCONNECT = zeromq.ZMQ_CAN_DISCONNECT
export const ZMQ_CAN_UNBIND: typeof compat.ZMQ_CAN_UNBIND = zeromq.ZMQ_CAN_UNBIND
export const ZMQ_CAN_SET_CTX: typeof compat.ZMQ_CAN_SET_CTX = zeromq.ZMQ_CAN_SET_CTX
export const STATE_READY: typeof compat.STATE_READY = zeromq.STATE_READY
export const STATE_BUSY: typeof compat.STATE_BUSY = zeromq.STATE_BUSY
export const STATE_CLOSED: typeof compat.STATE_CLOSED = zeromq.STATE_CLOSED
