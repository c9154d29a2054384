import type { Socket } from "zeromq"
import type { TcpOptions } from "../transport/tcp-options.js"
import { zmqError } from "../transport/zmq-error.js"

/** Options that libzmq applies to its TCP connections and Node has no way to, with their defaults. */
const REFUSED = {
  tcpKeepaliveCount: -1,
  tcpKeepaliveInterval: -1,
  tcpMaxRetransmitTimeout: 0,
  typeOfService: 0,
  sendBufferSize: -1,
  receiveBufferSize: -1,
  interface: null,
  socksProxy: null,
}

/**
 * The options of a socket that act on its TCP connections, as they are now.
 *
 * @throws Error with code ENOTSUP for one that cannot, rather than to ignore it.
 */
export function readTcpOptions(socket: Socket, endpoint: string): TcpOptions {
  const { securityMechanism } = socket
  if (securityMechanism !== null && securityMechanism !== "plain")
    throw zmqError(
      "ENOTSUP",
      `lz4+tcp:// cannot be used with ${securityMechanism.toUpperCase()}, which encrypts parts before they can be compressed`,
      endpoint,
    )
  for (const [name, usual] of Object.entries(REFUSED)) {
    const value = socket[name as keyof Socket] as unknown
    if (value !== undefined && value !== usual)
      throw zmqError(
        "ENOTSUP",
        `${name} (${value}) has no effect on lz4+tcp://; leave it at ${usual}`,
        endpoint,
      )
  }
  return {
    keepAlive: socket.tcpKeepalive < 0 ? undefined : socket.tcpKeepalive === 1,
    keepAliveDelayMs: Math.max(0, socket.tcpKeepaliveIdle) * 1000,
    ipv6: socket.ipv6,
    backlog: socket.backlog,
    connectTimeoutMs: socket.connectTimeout,
    reconnectMs: socket.reconnectInterval,
    reconnectMaxMs: socket.reconnectMaxInterval,
  }
}
