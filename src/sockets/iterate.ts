import type { Socket as ZmqSocket } from "zeromq"
import type { Received } from "./message.js"
import type { SocketCore } from "./socket-core.js"

type Receiver = ZmqSocket & { receive(): Promise<Received> }
type Next = IteratorResult<Received, undefined>

/**
 * Returns the iterator of `for await`. It does what zeromq.js's does, with fewer promises, and without
 * asking libzmq for each message whether the socket is closed.
 */
export function iterate(
  socket: ZmqSocket,
  coreOf: (socket: ZmqSocket) => SocketCore | undefined,
): AsyncIterator<Received, undefined> {
  const failed = (error: unknown) => {
    const { code } = error as { code?: string }
    return socket.closed && code === "EAGAIN" ? ended() : Promise.reject(error)
  }
  return {
    next: () => {
      const core = coreOf(socket)
      if (core ? core.operations.isClosed : socket.closed) return ended()
      try {
        return Promise.resolve((socket as Receiver).receive()).then(toNext, failed)
      } catch (error) {
        return failed(error)
      }
    },
  }
}

function ended(): Promise<Next> {
  return Promise.resolve({ done: true } as Next)
}

function toNext(value: Received): Next {
  return { value, done: false }
}
