import type * as zmq from "zeromq"
import { extend, type Lz4Class } from "./sockets/extend.js"
import { NamedObserver } from "./sockets/observer.js"
import { NamedProxy } from "./sockets/proxy.js"
import { withoutLz4 } from "./sockets/without-lz4.js"
import { loadZeromq } from "./zeromq.js"

export type {
  Event,
  EventOfType,
  EventSubscriber,
  EventType,
  Message,
  MessageLike,
  Readable,
  RouterConnectOptions,
  SocketOptions,
  StreamConnectOptions,
  Writable,
} from "zeromq"
export { ProtocolError, type ProtocolErrorCode } from "./codec/errors.js"
export type { Lz4Level, Lz4Options } from "./codec/options.js"
export type { Traffic } from "./codec/traffic.js"
export { z85Decode, z85Encode } from "./curve/z85-text.js"
export {
  type AllowClientsOptions,
  type AllowedClients,
  allowClients,
  type ClientKeys,
} from "./sockets/allow-clients.js"
export type {
  ConnectionMessage,
  DiagnosticsMessage,
  LevelMessage,
  Lz4Channel,
  PeerMessage,
  ProtocolErrorMessage,
  ReconnectMessage,
} from "./sockets/diagnostics.js"
export { channels } from "./sockets/diagnostics.js"
export type { EndpointOptions } from "./sockets/endpoints/endpoint-options.js"
export type {
  Lz4Class,
  Lz4Instance,
  Lz4Socket,
  NativeAddress,
  OptionsOf,
  SocketClass,
} from "./sockets/extend.js"
export type {
  ConnectEvent,
  DisconnectEvent,
  FlushOptions,
  Lz4,
  Lz4Events,
  ProtocolErrorEvent,
} from "./sockets/lz4.js"
export type {
  Connection,
  ConnectionTraffic,
  Incidents,
  SentTraffic,
  Statistics,
  Stats,
} from "./sockets/statistics.js"
export type { Waiting } from "./transport/transport.js"

const zeromq = loadZeromq()

// A class and its type have the same name, as in zeromq.js.
/** The features that the libzmq inside zeromq.js was built with. */
export const capability: typeof zmq.capability = zeromq.capability
/**
 * The context of all sockets that are created without one. Set `ioThreads` and other options before
 * the first socket.
 */
export const context: typeof zmq.context = zeromq.context
/** Makes a pair of keys for CURVE. */
export const curveKeyPair: typeof zmq.curveKeyPair = zeromq.curveKeyPair
/** The version of libzmq inside zeromq.js. */
export const version: typeof zmq.version = zeromq.version
/** zeromq.js's Context: the resources that sockets share, such as I/O threads. */
export const Context: typeof zmq.Context = zeromq.Context
/** zeromq.js's Context: the resources that sockets share, such as I/O threads. */
export type Context = zmq.Context
/** zeromq.js's Socket: the base of all sockets. */
export const Socket: typeof zmq.Socket = zeromq.Socket
/** zeromq.js's Socket: the base of all sockets. */
export type Socket = zmq.Socket
/** zeromq.js's Observer: the events of a socket. */
export const Observer: typeof zmq.Observer = NamedObserver
/** zeromq.js's Observer: the events of a socket. */
export type Observer = zmq.Observer
/** Forwards messages between two sockets, which may have `lz4+tcp://` endpoints. */
// biome-ignore lint/suspicious/noShadowRestrictedNames: zeromq.js calls it so.
export const Proxy: typeof zmq.Proxy = NamedProxy
/** Forwards messages between two sockets, which may have `lz4+tcp://` endpoints. */
export type Proxy<F extends zmq.Socket = zmq.Socket, B extends zmq.Socket = zmq.Socket> = zmq.Proxy<
  F,
  B
>
/** zeromq.js's Stream: plain TCP, without ZMTP. It does not support `lz4+tcp://`, and its errors say so. */
export const Stream: typeof zmq.Stream = withoutLz4(zeromq.Stream, "plain TCP")
/** zeromq.js's Stream: plain TCP, without ZMTP. It does not support `lz4+tcp://`, and its errors say so. */
export type Stream = zmq.Stream
/** PAIR: exactly one peer, both ways. As zeromq.js's Pair, and also for `lz4+tcp://`. */
export const Pair: Lz4Class<typeof zmq.Pair> = extend(zeromq.Pair)
/** PAIR: exactly one peer, both ways. As zeromq.js's Pair, and also for `lz4+tcp://`. */
export type Pair = InstanceType<typeof Pair>
/**
 * PUB: sends messages to all peers whose subscriptions match. Topics are matched against the
 * message as it was sent, not against the wire. As zeromq.js's Publisher, and also for
 * `lz4+tcp://`.
 */
export const Publisher: Lz4Class<typeof zmq.Publisher> = extend(zeromq.Publisher)
/**
 * PUB: sends messages to all peers whose subscriptions match. Topics are matched against the
 * message as it was sent, not against the wire. As zeromq.js's Publisher, and also for
 * `lz4+tcp://`.
 */
export type Publisher = InstanceType<typeof Publisher>
/**
 * SUB: receives the messages of publishers that match its subscriptions. As zeromq.js's Subscriber,
 * and also for `lz4+tcp://`.
 */
export const Subscriber: Lz4Class<typeof zmq.Subscriber> = extend(zeromq.Subscriber)
/**
 * SUB: receives the messages of publishers that match its subscriptions. As zeromq.js's Subscriber,
 * and also for `lz4+tcp://`.
 */
export type Subscriber = InstanceType<typeof Subscriber>
/** XPUB: a PUB that receives subscriptions as messages. As zeromq.js's XPublisher, and also for `lz4+tcp://`. */
export const XPublisher: Lz4Class<typeof zmq.XPublisher> = extend(zeromq.XPublisher)
/** XPUB: a PUB that receives subscriptions as messages. As zeromq.js's XPublisher, and also for `lz4+tcp://`. */
export type XPublisher = InstanceType<typeof XPublisher>
/** XSUB: a SUB that sends subscriptions as messages. As zeromq.js's XSubscriber, and also for `lz4+tcp://`. */
export const XSubscriber: Lz4Class<typeof zmq.XSubscriber> = extend(zeromq.XSubscriber)
/** XSUB: a SUB that sends subscriptions as messages. As zeromq.js's XSubscriber, and also for `lz4+tcp://`. */
export type XSubscriber = InstanceType<typeof XSubscriber>
/** PUSH: deals messages out to its PULL peers in turn. As zeromq.js's Push, and also for `lz4+tcp://`. */
export const Push: Lz4Class<typeof zmq.Push> = extend(zeromq.Push)
/** PUSH: deals messages out to its PULL peers in turn. As zeromq.js's Push, and also for `lz4+tcp://`. */
export type Push = InstanceType<typeof Push>
/** PULL: receives from all its PUSH peers in turn. As zeromq.js's Pull, and also for `lz4+tcp://`. */
export const Pull: Lz4Class<typeof zmq.Pull> = extend(zeromq.Pull)
/** PULL: receives from all its PUSH peers in turn. As zeromq.js's Pull, and also for `lz4+tcp://`. */
export type Pull = InstanceType<typeof Pull>
/** REQ: sends a request, then receives its reply. As zeromq.js's Request, and also for `lz4+tcp://`. */
export const Request: Lz4Class<typeof zmq.Request> = extend(zeromq.Request)
/** REQ: sends a request, then receives its reply. As zeromq.js's Request, and also for `lz4+tcp://`. */
export type Request = InstanceType<typeof Request>
/** REP: receives a request, then sends its reply. As zeromq.js's Reply, and also for `lz4+tcp://`. */
export const Reply: Lz4Class<typeof zmq.Reply> = extend(zeromq.Reply)
/** REP: receives a request, then sends its reply. As zeromq.js's Reply, and also for `lz4+tcp://`. */
export type Reply = InstanceType<typeof Reply>
/** DEALER: deals messages out to all peers, and receives from all, without waiting for replies. As zeromq.js's Dealer, and also for `lz4+tcp://`. */
export const Dealer: Lz4Class<typeof zmq.Dealer> = extend(zeromq.Dealer)
/** DEALER: deals messages out to all peers, and receives from all, without waiting for replies. As zeromq.js's Dealer, and also for `lz4+tcp://`. */
export type Dealer = InstanceType<typeof Dealer>
/** ROUTER: the first part of a message is the routing id of the peer that it comes from or goes to. As zeromq.js's Router, and also for `lz4+tcp://`. */
export const Router: Lz4Class<typeof zmq.Router> = extend(zeromq.Router)
/** ROUTER: the first part of a message is the routing id of the peer that it comes from or goes to. As zeromq.js's Router, and also for `lz4+tcp://`. */
export type Router = InstanceType<typeof Router>
