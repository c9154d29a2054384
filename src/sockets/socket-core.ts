import type { Socket } from "zeromq"
import type { SocketType } from "../patterns/socket-type.js"
import { explained } from "../transport/zmq-error.js"
import type { Core } from "./core.js"
import { EndpointRegistry } from "./endpoints/endpoint-registry.js"
import { exitsLater } from "./event-loop/exit.js"
import { Hold } from "./event-loop/hold.js"
import { flush } from "./flush.js"
import { Operations } from "./operations.js"
import type { SocketState } from "./state.js"
import { SOCKET_TYPE_NAMES } from "./zmq-numbers.js"

/** The `lz4+tcp://` side of a socket. It does not refer to the socket, which may be collected. */
export class SocketCore implements Core {
  readonly operations: Operations
  readonly endpoints: EndpointRegistry
  /** Whether the socket has send() and receive(). */
  readonly canSend: boolean
  readonly canReceive: boolean
  /** The latest value of the option, in case the socket is collected. */
  lingerMs: number
  readonly #hold = new Hold()

  constructor(socket: Socket, state: SocketState) {
    const typeName = SOCKET_TYPE_NAMES[socket.type]
    if (!typeName) throw explained("ENOTSUP", "STREAM sockets do not speak ZMTP")
    const isConnected = () => this.endpoints.isConnected
    this.operations = new Operations(typeName, state, this.#hold, isConnected)
    this.endpoints = new EndpointRegistry(socket, this.type, state, this.#hold)
    this.canSend = "send" in socket
    this.canReceive = "receive" in socket
    this.lingerMs = socket.linger
    for (const [subscribe, topic] of state.subscriptions)
      if (subscribe) this.type.subscribe(topic)
      else this.type.cancel(topic)
    state.subscriptions.length = 0
    for (const group of state.groups) this.type.join(Buffer.from(group, "latin1"))
  }

  get type(): SocketType {
    return this.operations.type
  }

  get isClosed(): boolean {
    return this.operations.isClosed
  }

  changeHighWaterMarks(socket: Socket): void {
    this.endpoints.changeHighWaterMarks(socket)
  }

  /**
   * Waits until all messages sent so far have been written, or never will be.
   *
   * @throws Error with code EAGAIN after `timeoutMs`; -1 is no limit.
   */
  flush(timeoutMs: number): Promise<void> {
    return flush(this.operations, this.endpoints, timeoutMs, this.#hold)
  }

  close(lingerMs: number, ended: () => void): void {
    if (this.isClosed) return
    const { context } = this.endpoints
    const { operations } = this
    const lingerLeftMs = lingerMs < 0 ? Number.POSITIVE_INFINITY : lingerMs
    // The process may end before held messages have been sent to the endpoints, which are closed then.
    const noticeEnds = () => {
      for (const endpoint of this.endpoints.open) endpoint.noticeEnds()
    }
    const depart = () => operations.sendHeld()
    const leaving = { lingerLeftMs, hasUnsent: true, noticeEnds, depart }
    const gone = operations.held.length > 0 ? exitsLater(leaving, context) : undefined
    operations.close(() => {
      gone?.()
      this.endpoints.close(lingerMs, ended)
      this.type.close()
    })
  }
}
