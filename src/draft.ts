/** The draft sockets of zeromq, which also speak `lz4+tcp://` and `zstd+tcp://`. */
import type * as draft from "zeromq/draft.js"
import type { Lz4Class } from "./exports.js"
import { extend, withoutLz4 } from "./sockets/extend.js"
import { loadDraft } from "./zeromq.js"

const zeromq = loadDraft()

/** SERVER: talks to many CLIENTs, by `routingId`. */
export const Server: Lz4Class<typeof draft.Server> = extend(zeromq.Server)
/** A SERVER socket. */
export type Server = InstanceType<typeof Server>
/** CLIENT: talks to SERVERs; safe from several threads in C. */
export const Client: Lz4Class<typeof draft.Client> = extend(zeromq.Client)
/** A CLIENT socket. */
export type Client = InstanceType<typeof Client>
/** RADIO: sends messages to groups. */
export const Radio: Lz4Class<typeof draft.Radio> = extend(zeromq.Radio)
/** A RADIO socket. */
export type Radio = InstanceType<typeof Radio>
/** DISH: receives the messages of groups it has joined. */
export const Dish: Lz4Class<typeof draft.Dish> = extend(zeromq.Dish)
/** A DISH socket. */
export type Dish = InstanceType<typeof Dish>
/** GATHER: receives from all its SCATTER peers in turn. */
export const Gather: Lz4Class<typeof draft.Gather> = extend(zeromq.Gather)
/** A GATHER socket. */
export type Gather = InstanceType<typeof Gather>
/** SCATTER: deals messages out to its GATHER peers in turn. */
export const Scatter: Lz4Class<typeof draft.Scatter> = extend(zeromq.Scatter)
/** A SCATTER socket. */
export type Scatter = InstanceType<typeof Scatter>
/** zeromq.js's Datagram: UDP, without connections. Its errors say that it has no `lz4+tcp://`. */
export const Datagram: typeof draft.Datagram = withoutLz4(zeromq.Datagram, "UDP")
/** A socket of UDP. */
export type Datagram = draft.Datagram
