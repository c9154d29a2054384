import type * as zmq from "zeromq"
import type { Socket } from "zeromq"
import type { Message } from "../patterns/message.js"
import type { Routing } from "../patterns/socket-type.js"
import { zmqError } from "../transport/zmq-error.js"
import { loadZeromq } from "../zeromq.js"
import { coreFor } from "./extend.js"
import type { Received } from "./message.js"
import type { SocketCore } from "./socket-core.js"
import { ensureState, type SocketState, stateOf } from "./state.js"

const zeromq: typeof zmq = loadZeromq()

/**
 * A proxy that forwards messages between two sockets. libzmq forwards if both have only its
 * endpoints; otherwise this class does.
 */
export class Lz4Proxy<F extends Socket = Socket, B extends Socket = Socket> extends zeromq.Proxy<
  F,
  B
> {
  #forwarding: Forwarding | undefined
  #isNative = false

  override run(...args: []): Promise<void> {
    const front = stateOf(this.frontEnd)
    const back = stateOf(this.backEnd)
    if (args.length > 0 || (!front?.core && !back?.core)) {
      this.#isNative = true
      const running = super.run(...args)
      // libzmq's thread uses the sockets until they are closed.
      for (const socket of [this.frontEnd, this.backEnd]) ensureState(socket).blocked = "native"
      return running
    }
    checkEndpoints(front, "Front-end")
    checkEndpoints(back, "Back-end")
    const forwarding = new Forwarding(this.frontEnd, this.backEnd)
    this.#forwarding = forwarding
    return forwarding.done.finally(() => {
      this.#forwarding = undefined
    })
  }

  override pause(...args: []): void {
    if (this.#isNative || args.length > 0) super.pause(...args)
    else this.#running.pause()
  }

  override resume(...args: []): void {
    if (this.#isNative || args.length > 0) super.resume(...args)
    else this.#running.resume()
  }

  override terminate(...args: []): void {
    if (this.#isNative || args.length > 0) super.terminate(...args)
    else this.#running.terminate()
  }

  get #running(): Forwarding {
    if (!this.#forwarding) throw zmqError("EBADF")
    return this.#forwarding
  }
}

function checkEndpoints(state: SocketState | undefined, name: string): void {
  if (state && (state.nativeEndpoints > 0 || state.endpointCount !== 0)) return
  throw zmqError("EINVAL", undefined, `${name} socket must be bound or connected`)
}

/** Both directions of a running proxy. */
class Forwarding {
  readonly done: Promise<void>
  readonly #sockets: readonly Socket[]
  #terminated = false
  #paused: Promise<void> | undefined
  #unpause: (() => void) | undefined

  constructor(front: Socket, back: Socket) {
    this.#sockets = [front, back]
    const [frontCore, backCore] = [coreFor(front), coreFor(back)]
    for (const socket of this.#sockets) (stateOf(socket) as SocketState).blocked = "own"
    for (const { operations } of [frontCore, backCore]) operations.endPending()
    this.done = Promise.all([
      this.#forward(frontCore, backCore),
      this.#forward(backCore, frontCore),
    ]).then(() => {})
  }

  pause(): void {
    this.#paused ??= new Promise((resolve) => {
      this.#unpause = resolve
    })
  }

  resume(): void {
    this.#paused = undefined
    this.#unpause?.()
  }

  /** Stops both directions and closes the sockets. */
  terminate(): void {
    this.#terminated = true
    this.resume()
    for (const socket of this.#sockets) {
      ;(stateOf(socket) as SocketState).blocked = undefined
      socket.close()
    }
  }

  async #forward(from: SocketCore, to: SocketCore): Promise<void> {
    if (!from.canReceive || !to.canSend) return
    try {
      while (!this.#terminated) {
        const received = await from.operations.receiveForProxy()
        if (this.#paused) await this.#paused
        await to.operations.sendForProxy(...splitRouting(received))
      }
    } catch (error) {
      // Operations that are pending when the sockets are closed fail, which is expected.
      if (!this.#terminated) throw error
    }
  }
}

/** Splits a received message into its parts and its routing. */
function splitRouting(received: Received): [message: Message, routing: Routing] {
  const last = received.at(-1)
  if (Buffer.isBuffer(last)) return [received as Message, {}]
  return [received.slice(0, -1) as Message, last as Routing]
}

Object.defineProperty(Lz4Proxy, "name", { value: "Proxy" })

/** The class under its public name, with zeromq.js's error for a call without `new`. */
export const NamedProxy: typeof Lz4Proxy = new Proxy(Lz4Proxy, {
  apply() {
    throw new TypeError("Class constructors cannot be invoked without 'new'")
  },
})
