import type { Socket } from "zeromq"
import { own } from "../../codec/options.js"
import { explained } from "../../transport/zmq-error.js"
import { turn } from "../event-loop/turn.js"
import { copyBytes } from "../message.js"
import { checkRoutingId } from "../mistakes.js"
import { coreFor } from "../socket-core.js"
import type { SocketState } from "../state.js"
import { OPTION } from "../zmq-numbers.js"
import type { EndpointOptions } from "./endpoint-options.js"
import type { EndpointMethods } from "./native-endpoints.js"

type Args = [address: string, options?: EndpointOptions & { routingId?: string }]

/** Binds and connects `lz4+tcp://` endpoints. */
export const lz4Endpoints: EndpointMethods = {
  bind(socket: Socket, state: SocketState, args: unknown[]): Promise<void> {
    const [address, options = {}] = args as Args
    return state.block(socket, async () => {
      try {
        await coreFor(socket).endpoints.bind(socket, address, options)
      } finally {
        state.endpointCount++
      }
    })
  },

  bindSync(socket: Socket, state: SocketState, args: unknown[]): void {
    const [address, options = {}] = args as Args
    try {
      coreFor(socket).endpoints.bindSync(socket, address, options)
    } finally {
      state.endpointCount++
    }
  },

  unbind(socket: Socket, state: SocketState, args: unknown[]): Promise<void> {
    const [address] = args as Args
    let name: string
    return state.block(
      socket,
      async () => {
        const { endpoints, operations } = coreFor(socket)
        await turn()
        await operations.held.polled()
        name = await endpoints.resolve(socket, address)
      },
      // A listener of "close" may bind again.
      () => lz4Endpoints.unbindSync(socket, state, [name]),
    )
  },

  unbindSync(socket: Socket, state: SocketState, args: unknown[]): void {
    try {
      release(socket, args)
    } finally {
      state.endpointCount--
    }
  },

  connect(socket: Socket, state: SocketState, args: unknown[]): void {
    const [address, given] = args as Args
    const core = coreFor(socket)
    const isRouter = core.type.name === "ROUTER" && typeof given === "object"
    const options = isRouter ? withoutRoutingId(given ?? {}, state) : (given ?? {})
    core.endpoints.connect(socket, address, options)
    state.endpointCount++
  },

  disconnect(socket: Socket, state: SocketState, args: unknown[]): void {
    release(socket, args)
    state.endpointCount--
  },
}

function release(socket: Socket, args: unknown[]): void {
  const [address] = args as Args
  const { endpoints, operations } = coreFor(socket)
  operations.sendHeld() // also to the peers of this endpoint
  endpoints.disconnect(socket, address)
}

/** Takes the routing id of a ROUTER's next peer out of the options. */
function withoutRoutingId(
  given: EndpointOptions & { routingId?: string },
  state: SocketState,
): EndpointOptions {
  const { routingId, ...options } = own(given)
  if (routingId) {
    checkRoutingId(routingId)
    state.optionChanging(OPTION.connectRoutingId)
    const id = copyBytes(routingId)
    if (id.length === 0) throw explained("EINVAL", "the routing id of a peer cannot be empty")
    state.connectRoutingId = id
  }
  return options
}
