/** Everything zeromq exports, with sockets that also speak `lz4+tcp://`. */
import * as zmq from "zeromq"
import { extend, type Lz4Class } from "./sockets/extend.js"

export * from "zeromq"
export { ProtocolError, type ProtocolErrorCode } from "./codec/errors.js"
export type { Lz4Options } from "./codec/options.js"
export type { EndpointOptions } from "./sockets/engine.js"
export type { Lz4Class, Lz4Socket } from "./sockets/extend.js"
export type {
  ConnectEvent,
  Connection,
  ConnectionTraffic,
  DisconnectEvent,
  Lz4,
  Lz4Events,
  ProtocolErrorEvent,
} from "./sockets/lz4.js"

export { NamedProxy as Proxy } from "./sockets/proxy.js"

// A class and its type go by one name, as they do in zeromq.
export const Pair: Lz4Class<typeof zmq.Pair> = extend(zmq.Pair)
export type Pair = InstanceType<typeof Pair>
export const Publisher: Lz4Class<typeof zmq.Publisher> = extend(zmq.Publisher)
export type Publisher = InstanceType<typeof Publisher>
export const Subscriber: Lz4Class<typeof zmq.Subscriber> = extend(zmq.Subscriber)
export type Subscriber = InstanceType<typeof Subscriber>
export const XPublisher: Lz4Class<typeof zmq.XPublisher> = extend(zmq.XPublisher)
export type XPublisher = InstanceType<typeof XPublisher>
export const XSubscriber: Lz4Class<typeof zmq.XSubscriber> = extend(zmq.XSubscriber)
export type XSubscriber = InstanceType<typeof XSubscriber>
export const Push: Lz4Class<typeof zmq.Push> = extend(zmq.Push)
export type Push = InstanceType<typeof Push>
export const Pull: Lz4Class<typeof zmq.Pull> = extend(zmq.Pull)
export type Pull = InstanceType<typeof Pull>
export const Request: Lz4Class<typeof zmq.Request> = extend(zmq.Request)
export type Request = InstanceType<typeof Request>
export const Reply: Lz4Class<typeof zmq.Reply> = extend(zmq.Reply)
export type Reply = InstanceType<typeof Reply>
export const Dealer: Lz4Class<typeof zmq.Dealer> = extend(zmq.Dealer)
export type Dealer = InstanceType<typeof Dealer>
export const Router: Lz4Class<typeof zmq.Router> = extend(zmq.Router)
export type Router = InstanceType<typeof Router>
