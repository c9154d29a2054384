import type * as zmq from "zeromq"
import { extend, type Lz4Class, NamedObserver, withoutLz4 } from "./sockets/extend.js"
import { NamedProxy } from "./sockets/proxy.js"
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
export type { Level, Lz4Level, Lz4Options, ZstdLevel } from "./codec/options.js"
export type { Traffic } from "./codec/traffic.js"
export { z85Decode, z85Encode } from "./curve/z85-text.js"
export {
  type AllowClientsOptions,
  type AllowedClients,
  allowClients,
  type ClientKeys,
} from "./sockets/allow-clients.js"
export { type CompressedForm, CompressedPart } from "./sockets/compressed-part.js"
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
  Lz4Writable,
  NativeAddress,
  OptionsOf,
  SendOptionsOf,
  SentMessage,
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
export type { SendOptions } from "./sockets/message-methods.js"
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

// A class and its type have the same name, as in zeromq.js, which all classes are derived from.
/** The features that the libzmq inside zeromq.js was built with. */
export const capability: typeof zmq.capability = zeromq.capability
/**
 * The context of all sockets that are created without one. Set `ioThreads` and other options before
 * the first socket.
 */
export const context: typeof zmq.context = zeromq.context
/** Makes a pair of keys for CURVE, as text in Z85. */
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
/** Forwards messages between two sockets, whose endpoints may be `lz4+tcp://` and `zstd+tcp://`. */
// biome-ignore lint/suspicious/noShadowRestrictedNames: zeromq.js calls it so.
export const Proxy: typeof zmq.Proxy = NamedProxy
/** Forwards messages between two sockets, whose endpoints may be `lz4+tcp://` and `zstd+tcp://`. */
export type Proxy<F extends zmq.Socket = zmq.Socket, B extends zmq.Socket = zmq.Socket> = zmq.Proxy<
  F,
  B
>
/** zeromq.js's Stream: plain TCP, without ZMTP. Its errors say that it has no `lz4+tcp://`. */
export const Stream: typeof zmq.Stream = withoutLz4(zeromq.Stream, "plain TCP")
/** A STREAM socket. */
export type Stream = zmq.Stream
/** PAIR: exactly one peer, both ways. */
export const Pair: Lz4Class<typeof zmq.Pair> = extend(zeromq.Pair)
/** A PAIR socket. */
export type Pair = InstanceType<typeof Pair>
/**
 * PUB: sends messages to all peers whose subscriptions match. Topics are matched against the
 * message as it was sent, not against the wire.
 */
export const Publisher: Lz4Class<typeof zmq.Publisher> = extend(zeromq.Publisher)
/** A PUB socket. */
export type Publisher = InstanceType<typeof Publisher>
/** SUB: receives the messages of publishers that match its subscriptions. */
export const Subscriber: Lz4Class<typeof zmq.Subscriber> = extend(zeromq.Subscriber)
/** A SUB socket. */
export type Subscriber = InstanceType<typeof Subscriber>
/** XPUB: a PUB that receives subscriptions as messages. */
export const XPublisher: Lz4Class<typeof zmq.XPublisher> = extend(zeromq.XPublisher)
/** An XPUB socket. */
export type XPublisher = InstanceType<typeof XPublisher>
/** XSUB: a SUB that sends subscriptions as messages. */
export const XSubscriber: Lz4Class<typeof zmq.XSubscriber> = extend(zeromq.XSubscriber)
/** An XSUB socket. */
export type XSubscriber = InstanceType<typeof XSubscriber>
/** PUSH: deals messages out to its PULL peers in turn. */
export const Push: Lz4Class<typeof zmq.Push> = extend(zeromq.Push)
/** A PUSH socket. */
export type Push = InstanceType<typeof Push>
/** PULL: receives from all its PUSH peers in turn. */
export const Pull: Lz4Class<typeof zmq.Pull> = extend(zeromq.Pull)
/** A PULL socket. */
export type Pull = InstanceType<typeof Pull>
/** REQ: sends a request, then receives its reply. */
export const Request: Lz4Class<typeof zmq.Request> = extend(zeromq.Request)
/** A REQ socket. */
export type Request = InstanceType<typeof Request>
/** REP: receives a request, then sends its reply. */
export const Reply: Lz4Class<typeof zmq.Reply> = extend(zeromq.Reply)
/** A REP socket. */
export type Reply = InstanceType<typeof Reply>
/** DEALER: deals messages out to all peers, and receives from all, without waiting for replies. */
export const Dealer: Lz4Class<typeof zmq.Dealer> = extend(zeromq.Dealer)
/** A DEALER socket. */
export type Dealer = InstanceType<typeof Dealer>
/** ROUTER: the first part of a message is the routing id of the peer that it comes from or goes to. */
export const Router: Lz4Class<typeof zmq.Router> = extend(zeromq.Router)
/** A ROUTER socket. */
export type Router = InstanceType<typeof Router>
