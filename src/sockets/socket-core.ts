import type { Socket } from "zeromq"
import type { FlushWaiter } from "../patterns/flush-waiters.js"
import type { SocketType } from "../patterns/socket-type.js"
import { Deadline } from "../transport/deadline.js"
import { explained, zmqError } from "../transport/zmq-error.js"
import { EndpointRegistry } from "./endpoints/endpoint-registry.js"
import { exitsLater } from "./event-loop/exit.js"
import { Hold } from "./event-loop/hold.js"
import { Operations } from "./operations.js"
import type { Core, SocketState } from "./state.js"
import { SOCKET_TYPE_NAMES } from "./zmq-numbers.js"

/** The `lz4+tcp://` side of a socket, to which it does not refer: that may be collected. */
export class SocketCore implements Core {
  readonly operations: Operations
  readonly endpoints: EndpointRegistry
  /** The latest value of the option, in case the socket is collected. */
  lingerMs: number
  readonly #hold = new Hold()

  constructor(socket: Socket, state: SocketState) {
    const typeName = SOCKET_TYPE_NAMES[socket.type]
    if (!typeName) throw explained("ENOTSUP", "STREAM sockets do not speak ZMTP")
    const isConnected = () => this.endpoints.isConnected
    this.operations = new Operations(typeName, state, this.#hold, isConnected)
    this.endpoints = new EndpointRegistry(socket, this.type, state, this.#hold)
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

  /** Sets whether compressed parts are received as they came, for a proxy, if the type allows that. */
  keepForms(wanted: boolean): void {
    const keeps = wanted && this.type.mayKeepForms
    this.type.keepsForms = keeps
    for (const endpoint of this.endpoints.open) endpoint.keepForms(keeps)
  }

  changeHighWaterMarks(socket: Socket): void {
    this.endpoints.changeHighWaterMarks(socket)
  }

  /**
   * Waits until the pipes have written all messages sent so far, or never will.
   *
   * @throws Error with code EAGAIN after `timeoutMs`; -1 is no limit.
   */
  flush(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let pending = 0
      const over = (settle: () => void) => {
        limit?.clear()
        this.#hold.unref()
        waiter.isOver = true
        settle()
      }
      const waiter: FlushWaiter & { isOver: boolean } = {
        isOver: false,
        flushed: () => {
          if (--pending === 0 && !waiter.isOver) over(resolve)
        },
      }
      const timeOut = () => over(() => reject(flushTimedOut(timeoutMs)))
      const limit = timeoutMs < 0 ? undefined : new Deadline(timeoutMs, timeOut)
      this.#hold.ref()
      this.operations.afterSent(() => {
        if (waiter.isOver) return
        const pipes = this.endpoints.sendingPipes
        pending = pipes.length
        if (pending === 0) over(resolve)
        for (const pipe of pipes) pipe.out.whenFlushed(waiter)
      })
    })
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

function flushTimedOut(timeoutMs: number): Error {
  const message = `flush() timed out: after ${timeoutMs} ms, messages still wait to be written`
  return zmqError("EAGAIN", undefined, message)
}

/** The method of a socket that returns its core, and creates it if there is none. */
export const OPEN: unique symbol = Symbol("open")

/** Returns the core of a socket of this package's classes, and creates it if there is none. */
export function coreFor(socket: Socket): SocketCore {
  return (socket as unknown as { [OPEN](): SocketCore })[OPEN]()
}
