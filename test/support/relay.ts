/** A TCP relay between two peers, which records both directions. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

import { ownHost } from "./own-host.mjs"
import { lz4 } from "./transports.js"
import { concat, formOf } from "./wire.js"
import { messagesOf, parseStream } from "./zmtp.js"

/** The bytes of one connection so far. */
export interface Relayed {
  fromClient: Uint8Array[]
  fromServer: Uint8Array[]
}

export class Relay {
  readonly connections: Relayed[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  /** Starts a relay in front of an endpoint. */
  static async before(endpoint: string): Promise<Relay> {
    const relay = new Relay(new URL(endpoint.replace(/^(lz4|zstd)\+tcp/, "http")))
    await once(relay.#server.listen(0, ownHost), "listening")
    return relay
  }

  private constructor({ hostname, port }: URL) {
    this.#server = createServer((client) => {
      const server = connect(Number(port), hostname)
      const relayed: Relayed = { fromClient: [], fromServer: [] }
      this.connections.push(relayed)
      this.#forward(client, server, relayed.fromClient)
      this.#forward(server, client, relayed.fromServer)
    })
  }

  get endpoint(): string {
    return this.endpointOf(lz4.scheme)
  }

  endpointOf(scheme: string): string {
    const { port } = this.#server.address() as AddressInfo
    return `${scheme}${ownHost}:${port}`
  }

  /** Ends all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Does the same with a reset. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  close(): void {
    this.#server.close()
    this.cut()
  }

  #forward(from: Socket, to: Socket, kept: Uint8Array[]): void {
    this.#sockets.add(from)
    from.setNoDelay()
    from.on("data", (bytes) => kept.push(bytes as Uint8Array))
    from.on("error", () => {}) // "close" follows
    from.on("close", () => {
      this.#sockets.delete(from)
      to.destroySoon()
    })
    from.pipe(to)
  }
}

/** Returns the wire parts of the messages in a stream. */
export const messagesIn = (stream: readonly Uint8Array[]): Uint8Array[][] =>
  messagesOf(parseStream(concat(...stream)).frames)

/** Returns the dictionaries in a stream. */
export const dictionariesIn = (stream: readonly Uint8Array[]): Uint8Array[] =>
  messagesIn(stream)
    .flat()
    .filter((part) => formOf(part) === "LZ4D")
    .map((part) => part.subarray(4))
