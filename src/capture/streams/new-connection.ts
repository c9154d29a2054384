import type { CaptureConnection, Side } from "../events.js"
import type { TcpConnection } from "../packets/stream-sink.js"

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** Returns the public object of a connection of which nothing was read. */
export function newConnection(
  { client, server, begun }: TcpConnection,
  id: number,
  repeatedSegments: Record<Side, number>,
): Mutable<CaptureConnection> {
  const none = () => ({ messages: 0, plainBytes: 0, wireBytes: 0 })
  return {
    ...{ id, client, server, begun, transport: undefined },
    handshakes: { client: undefined, server: undefined },
    dictionaries: { client: undefined, server: undefined },
    traffic: { client: none(), server: none() },
    ...{ repeatedSegments, warning: undefined, ended: undefined },
    ...{ encrypted: undefined, curveKey: undefined },
  }
}
