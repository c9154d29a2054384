/** The draft sockets of zeromq, which also speak `lz4+tcp://`. */
import * as draft from "zeromq/draft.js"
import { extend, type Lz4Class } from "./sockets/extend.js"

export * from "zeromq/draft.js"

export const Server: Lz4Class<typeof draft.Server> = extend(draft.Server)
export type Server = InstanceType<typeof Server>
export const Client: Lz4Class<typeof draft.Client> = extend(draft.Client)
export type Client = InstanceType<typeof Client>
export const Radio: Lz4Class<typeof draft.Radio> = extend(draft.Radio)
export type Radio = InstanceType<typeof Radio>
export const Dish: Lz4Class<typeof draft.Dish> = extend(draft.Dish)
export type Dish = InstanceType<typeof Dish>
export const Gather: Lz4Class<typeof draft.Gather> = extend(draft.Gather)
export type Gather = InstanceType<typeof Gather>
export const Scatter: Lz4Class<typeof draft.Scatter> = extend(draft.Scatter)
export type Scatter = InstanceType<typeof Scatter>
