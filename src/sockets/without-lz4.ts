import type { Socket } from "zeromq"
import { isLz4 } from "../transport/address.js"
import { explanation } from "../transport/zmq-error.js"
import { defineEndpointMethods } from "./endpoints/endpoint-methods.js"
import { explainRefusal, nativeRefusalReason } from "./mistakes.js"

/** Returns a socket class of zeromq.js that does not support `lz4+tcp://`, and whose errors say so. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires it of the base of a mixin
export function withoutLz4<C extends new (...args: any[]) => Socket>(Base: C, speaks: string): C {
  class Socket extends Base {}
  defineEndpointMethods(Socket.prototype, (name, socket, args) => {
    const [address] = args
    const reason = isLz4(address)
      ? explanation(address, `is not for ${Base.name}, which speaks ${speaks}, not ZMTP`)
      : nativeRefusalReason([address])
    const call = Base.prototype[name] as (...args: unknown[]) => unknown
    return explainRefusal(reason, args, () => call.apply(socket, args))
  })
  Object.defineProperty(Socket, "name", { value: Base.name })
  return Socket
}
