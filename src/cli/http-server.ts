/** HTTP for commands: short requests, from anybody who can connect. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { setImmediate } from "../base/runtime.js"
import { HalfOpen } from "../transport/half-open.js"
import { errorText, InputError } from "./errors.js"

export interface HttpServer {
  /** The URL of the server, with the real port and no path. */
  url: string
  /** Ends at once, in the middle of responses. */
  close(): void
}

/** Where a server listens. `name` is what errors call it. */
export interface HttpAddress {
  host: string
  /** 0 for one that is free. */
  port: number
  name: string
}

/** A request has no body, and is short. */
const LIMITS = {
  headersTimeout: 2_000,
  requestTimeout: 10_000,
  maxHeaderSize: 8192,
  connectionsCheckingInterval: 500,
}
/** Milliseconds after which a connection that is idle, or whose peer reads nothing, is closed. */
const IDLE_MS = 30_000
/** Connections beyond the maximum, until the first bytes of each were read. */
const UNREAD_MAX = 1024

/**
 * Starts to listen, and answers requests.
 *
 * @param maxConnections beyond it, the oldest connection that never had a whole request is closed, or
 * else the one that has been idle for longest.
 * @throws InputError if the address cannot be used.
 */
export async function serveHttp(
  { host, port, name }: HttpAddress,
  maxConnections: number,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpServer> {
  const { createServer } = await import("node:http")
  const answering = new WeakSet<Socket>()
  const server = createServer(LIMITS, (request, response) => {
    const { socket } = request
    // Nobody needs to send requests before the answer, and there may be very many in a few packets.
    if (answering.has(socket)) socket.destroy()
    if (socket.destroyed) return
    answering.add(socket)
    response.once("close", () => answering.delete(socket))
    answer(request, response)
  })
  server.setTimeout(IDLE_MS)
  keepPlaces(server, maxConnections)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen({ host, port, exclusive: true }, resolve)
    })
  } catch (error) {
    throw new InputError(`cannot listen on ${name}: ${errorText(error)}`)
  }
  server.on("error", () => {}) // a connection that could not be accepted
  const { address, family, port: realPort } = server.address() as AddressInfo
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${realPort}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Keeps those that ask for nothing from taking the places of others. */
function keepPlaces(server: Server, maxConnections: number): void {
  const open = new Set<Socket>()
  const close = (socket: Socket) => {
    open.delete(socket)
    socket.destroy()
  }
  const silent = new HalfOpen(close)
  const idle = new HalfOpen(close)
  const asking = new WeakSet<Socket>()
  server.maxConnections = maxConnections + UNREAD_MAX
  server.on("connection", (socket) => {
    open.add(socket)
    socket.once("close", () => {
      open.delete(socket)
      silent.end(socket)
      idle.end(socket)
    })
    const afterRead = () => {
      if (open.has(socket) && !asking.has(socket)) silent.begin(socket)
      while (open.size > maxConnections && (silent.closeOldest() || idle.closeOldest()));
    }
    // Once its first bytes were read, by the poll between the two: many may be accepted at once whose
    // requests have arrived as well.
    setImmediate(() => setImmediate(afterRead))
  })
  server.on("request", ({ socket }, response) => {
    asking.add(socket)
    silent.end(socket)
    idle.end(socket)
    response.once("close", () => {
      if (open.has(socket)) idle.begin(socket)
    })
  })
}
