/** Connections as a capture's events describe them, for tests of what shows them. */
import type { CaptureConnection } from "../../src/capture/events.js"

/** Returns a connection without any traffic, except for `changes`. */
export function captureConnection(changes: Partial<CaptureConnection> = {}): CaptureConnection {
  const none = () => ({ messages: 0, plainBytes: 0, wireBytes: 0 })
  return {
    id: 1,
    client: "127.0.0.1:40000",
    server: "127.0.0.1:5555",
    begun: true,
    transport: "lz4+tcp",
    handshakes: { client: undefined, server: undefined },
    warning: undefined,
    encrypted: undefined,
    curveKey: undefined,
    dictionaries: { client: undefined, server: undefined },
    traffic: { client: none(), server: none() },
    repeatedSegments: { client: 0, server: 0 },
    ended: undefined,
    ...changes,
  }
}
