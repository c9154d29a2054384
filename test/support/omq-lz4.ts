/** Recorded traffic between Ruby's omq-lz4 and our sockets; see test/recorded/README.md. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import type { Side } from "../../src/capture/events.js"
import { record, saidBy } from "./recorded-streams.js"

// A real copy in a Uint8Array: slice() of a Buffer does not copy.
export const capture: Uint8Array = new Uint8Array(
  gunzipSync(readFileSync(new URL("../recorded/omq-lz4-0.3.4.pcap.gz", import.meta.url))),
)

/** Formats messages so that they can be compared quickly. */
export const texts = (messages: readonly (readonly Uint8Array[])[]): string[][] =>
  messages.map((parts) => parts.map((part) => Buffer.from(part).toString("latin1")))

/** Returns all bytes that each side of each connection sent. */
export function streams(): Record<Side, Uint8Array>[] {
  const { connections } = record(capture)
  const bytesOf = (connection: (typeof connections)[number], side: Side): Uint8Array => {
    const [bytes, ...rest] = saidBy(connection, side)
    if (!(bytes instanceof Uint8Array) || rest.some((item) => typeof item !== "string"))
      throw new Error(`the ${side} did not send one run of bytes`)
    return bytes
  }
  return connections.map((connection) => ({
    client: bytesOf(connection, "client"),
    server: bytesOf(connection, "server"),
  }))
}
