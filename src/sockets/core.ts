import type { Context, Socket } from "zeromq"
import type { Message } from "../patterns/message.js"
import type { Routing, SocketType } from "../patterns/socket-type.js"
import type { Departure } from "../transport/transport.js"
import type { Received } from "./message.js"

/** What the socket's state, and the code for the end of the process, use of a socket core. */
export interface Core {
  readonly type: SocketType
  lingerMs: number
  readonly isClosed: boolean
  readonly operations: {
    send(message: Message, routing: Routing, timeoutMs?: number): Promise<void>
    receive(timeoutMs?: number): Promise<Received>
    /** Sends the messages that wait for a poll of the event loop. */
    sendHeld(): void
  }
  readonly endpoints: {
    readonly context: Context | undefined
    /** The endpoints that were not released. */
    readonly open: Iterable<{ noticeEnds(): void; depart(departure: Departure): void }>
  }
  changeHighWaterMarks(socket: Socket): void
  flush(timeoutMs: number): Promise<void>
  /** Closes the socket. Calls `ended` when its messages have been sent, or dropped after `lingerMs`. */
  close(lingerMs: number, ended: () => void): void
}
