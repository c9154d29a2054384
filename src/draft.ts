/** The draft sockets of zeromq, which also speak `lz4+tcp://`. */
import type * as draft from "zeromq/draft.js"
import type { Lz4Class } from "./exports.js"
import { extend } from "./sockets/extend.js"
import { withoutLz4 } from "./sockets/without-lz4.js"
import { loadDraft } from "./zeromq.js"

const zeromq = loadDraft()

/** SERVER: talks to many CLIENTs, by `routingId`. As zeromq.js's Server, and also for `lz4+tcp://`. */
export const Server: Lz4Class<typeof draft.Server> = extend(zeromq.Server)
/** SERVER: talks to many CLIENTs, by `routingId`. As zeromq.js's Server, and also for `lz4+tcp://`. */
export type Server = InstanceType<typeof Server>
/** CLIENT: talks to SERVERs; safe from several threads in C. As zeromq.js's Client, and also for `lz4+tcp://`. */
export const Client: Lz4Class<typeof draft.Client> = extend(zeromq.Client)
/** CLIENT: talks to SERVERs; safe from several threads in C. As zeromq.js's Client, and also for `lz4+tcp://`. */
export type Client = InstanceType<typeof Client>
/** RADIO: sends messages to groups. As zeromq.js's Radio, and also for `lz4+tcp://`. */
export const Radio: Lz4Class<typeof draft.Radio> = extend(zeromq.Radio)
/** RADIO: sends messages to groups. As zeromq.js's Radio, and also for `lz4+tcp://`. */
export type Radio = InstanceType<typeof Radio>
/** DISH: receives the messages of groups it has joined. As zeromq.js's Dish, and also for `lz4+tcp://`. */
export const Dish: Lz4Class<typeof draft.Dish> = extend(zeromq.Dish)
/** DISH: receives the messages of groups it has joined. As zeromq.js's Dish, and also for `lz4+tcp://`. */
export type Dish = InstanceType<typeof Dish>
/** GATHER: receives from all its SCATTER peers in turn. As zeromq.js's Gather, and also for `lz4+tcp://`. */
export const Gather: Lz4Class<typeof draft.Gather> = extend(zeromq.Gather)
/** GATHER: receives from all its SCATTER peers in turn. As zeromq.js's Gather, and also for `lz4+tcp://`. */
export type Gather = InstanceType<typeof Gather>
/** SCATTER: deals messages out to its GATHER peers in turn. As zeromq.js's Scatter, and also for `lz4+tcp://`. */
export const Scatter: Lz4Class<typeof draft.Scatter> = extend(zeromq.Scatter)
/** SCATTER: deals messages out to its GATHER peers in turn. As zeromq.js's Scatter, and also for `lz4+tcp://`. */
export type Scatter = InstanceType<typeof Scatter>
/**
 * zeromq.js's Datagram: UDP, without connections. It does not support `lz4+tcp://`, and its errors
 * say so.
 */
export const Datagram: typeof draft.Datagram = withoutLz4(zeromq.Datagram, "UDP")
/**
 * zeromq.js's Datagram: UDP, without connections. It does not support `lz4+tcp://`, and its errors
 * say so.
 */
export type Datagram = draft.Datagram
