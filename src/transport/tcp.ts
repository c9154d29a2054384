/** TCP connections as links have them, whichever side makes them. */
import { lookup } from "node:dns/promises"
import type { AddressInfo, Server, ServerOpts } from "node:net"
import { Channel } from "./channel.js"
import type { Destination, HostPort } from "./endpoint.js"
import type { TcpOptions } from "./tcp-options.js"
import { zmqError } from "./zmq-error.js"

/** Options of a server that are handed on to what it accepts, which is not read from yet. */
export function serverOptions({ keepAlive, keepAliveDelayMs }: TcpOptions): ServerOpts {
  return {
    pauseOnConnect: true,
    noDelay: true,
    keepAlive: keepAlive ?? false,
    keepAliveInitialDelay: keepAliveDelayMs,
  }
}

/** Starts to listen. Rejects with an error that has a code. */
export async function listenTcp(
  server: Server,
  { host, port }: HostPort,
  { ipv6, backlog }: TcpOptions,
): Promise<HostPort> {
  const address = await addressOf(host, ipv6)
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    // Not shared with other processes of a cluster, as libzmq's are not.
    server.listen({ host: address, port, backlog, exclusive: true }, () => {
      server.off("error", reject)
      server.on("error", () => {}) // a connection that could not be accepted
      const bound = server.address() as AddressInfo
      resolve({ host: bound.address, port: bound.port })
    })
  })
}

/** Dials. */
export function connectTcp({ host, port, source }: Destination, tcp: TcpOptions): Channel {
  const channel = Channel.connect({
    host,
    port,
    family: tcp.ipv6 ? 0 : 4,
    ...(source && { localAddress: source.host, localPort: source.port }),
    noDelay: true,
    keepAlive: tcp.keepAlive ?? false,
    keepAliveInitialDelay: tcp.keepAliveDelayMs,
  })
  const { socket } = channel
  if (tcp.connectTimeoutMs > 0) {
    const timeout = setTimeout(() => socket.destroy(), tcp.connectTimeoutMs).unref()
    socket.once("connect", () => clearTimeout(timeout))
    socket.once("close", () => clearTimeout(timeout))
  }
  return channel
}

/** The address of a host. Node's own look-up would not mind the option ipv6. */
async function addressOf(host: string, ipv6: boolean): Promise<string> {
  try {
    return (await lookup(host, { family: ipv6 ? 0 : 4 })).address
  } catch {
    throw zmqError("ENODEV", `no interface, address or host ${host}`)
  }
}
