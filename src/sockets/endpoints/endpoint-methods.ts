import type { Socket } from "zeromq"
import type { SocketState } from "../state.js"

const NAMES = ["bind", "bindSync", "unbind", "unbindSync", "connect", "disconnect"] as const

type Name = (typeof NAMES)[number]
type Method = (socket: Socket, state: SocketState, args: unknown[]) => unknown

/** The methods of a socket that take an address, for endpoints of one kind. */
export type EndpointMethods = Record<Name, Method>

/** Makes the methods of a class that take an address call `call`. */
export function defineEndpointMethods(
  prototype: object,
  call: (name: Name, socket: Socket, args: unknown[]) => unknown,
): void {
  for (const name of NAMES) {
    const { [name]: value } = {
      [name](this: Socket, ...args: unknown[]): unknown {
        return call(name, this, args)
      },
    }
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value })
  }
}
