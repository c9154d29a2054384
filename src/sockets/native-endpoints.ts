import type { Socket } from "zeromq"
import { familyOf, formatEndpoint, type HostPort, parseBind } from "../transport/endpoint.js"
import { resolveHost } from "../transport/tcp.js"

/**
 * Returns one of libzmq's endpoints with its host name resolved, because libzmq would resolve it
 * on this thread and block.
 *
 * @throws Error with code ENODEV.
 */
export async function resolveNative(socket: Socket, address: string): Promise<string> {
  if (!address.startsWith("tcp://")) return address
  let where: HostPort
  try {
    where = parseBind(address, socket.ipv6)
  } catch {
    return address // libzmq reports the error
  }
  if (familyOf(where.host) !== 0) return address
  return formatEndpoint(await resolveHost(where, socket.ipv6, address), "tcp://")
}
