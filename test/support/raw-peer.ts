/** A peer that writes bytes chosen by the test to an endpoint. */
import { once } from "node:events"
import { connect, isIPv4, type Socket } from "node:net"

import { handshake, parseStream } from "./zmtp.js"

export interface RawPeer {
  socket: Socket
  address: { remoteAddress: string; remotePort: number }
  /** Resolves when the other side has closed the connection. */
  closed: Promise<void>
  close(): void
}

export const portOf = (endpoint: string): number =>
  Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))

/** The host, as numbers: of a server that listens on all addresses, the one that all systems have. */
const hostOf = (endpoint: string): string => {
  const host = endpoint.slice(endpoint.indexOf("://") + 3, endpoint.lastIndexOf(":"))
  return isIPv4(host) && host !== "0.0.0.0" ? host : "127.0.0.1"
}

export const dial = (endpoint: string): Socket => connect(portOf(endpoint), hostOf(endpoint))

export async function rawPeer(endpoint: string, bytes: Uint8Array): Promise<RawPeer> {
  const socket = dial(endpoint)
  socket.on("error", () => {}) // "close" follows
  socket.resume()
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  await new Promise((resolve) => socket.once("connect", resolve))
  const { localAddress, localPort } = socket as { localAddress: string; localPort: number }
  const address = { remoteAddress: localAddress, remotePort: localPort }
  socket.write(bytes)
  return { socket, address, closed, close: () => socket.destroy() }
}

/** Does the same after a valid handshake. libzmq accepts no messages before it has sent its own READY. */
export async function rawZmtpPeer(
  endpoint: string,
  socketType: string,
  ...messages: readonly Uint8Array[]
): Promise<RawPeer> {
  const peer = await rawPeer(endpoint, handshake(socketType))
  let received = new Uint8Array()
  while (parseStream(received).frames.length === 0) {
    const [bytes] = await once(peer.socket, "data")
    received = Buffer.concat([received, bytes])
  }
  peer.socket.write(Buffer.concat(messages))
  return peer
}
