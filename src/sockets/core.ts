import type { Context, Socket } from "zeromq"
import type { Message } from "../patterns/message.js"
import type { Routing, SocketType } from "../patterns/socket-type.js"
import type { Departure } from "../transport/transport.js"

/** The result of `receive`: the parts, and for some draft types their routing. */
export type Received = (Buffer | Routing)[]

/** The `lz4+tcp://` side of a socket, as its state and the end of the process see it. */
export interface Core {
  readonly type: SocketType
  readonly context: Context | undefined
  lingerMs: number
  readonly isClosed: boolean
  /** The number of endpoints. */
  readonly endpoints: number
  readonly openEndpoints: Iterable<{ depart(departure: Departure): void }>
  optionChanged(): void
  changeHighWaterMarks(socket: Socket): void
  send(message: Message, routing: Routing): Promise<void>
  receive(): Promise<Received>
  flush(timeoutMs: number): Promise<void>
  close(lingerMs: number): void
}
