/** Creates the TCP sockets of connections, for listeners and dialers. */
import type { NetConnectOpts } from "node:net"
import * as net from "node:net"
import { getSystemErrorName } from "node:util"
import {
  type Destination,
  familyOf,
  formatEndpoint,
  type HostPort,
  interfaceNames,
  mapped,
  type TcpScheme,
} from "./address.js"
import { Channel } from "./channel.js"
import { Deadline } from "./deadline.js"
import type { TcpOptions } from "./tcp-options.js"
import { mistake, quoted, systemError, zmqError } from "./zmq-error.js"

/** A handle that net.Server listens with. Creating one binds at once; net.Server binds later. */
interface ServerHandle {
  listen(backlog: number): number
  close(): void
}

/**
 * The method of net.Server that takes the handle. node:net calls it once it knows that the port is
 * not shared in a cluster.
 */
interface InnerServer {
  _handle: ServerHandle
  _listen2?(host: null, port: -1, family: -1, backlog: number): void
}

type CreateServerHandle = (host: string, port: number, family: 4 | 6) => ServerHandle | number
const { _createServerHandle: createServerHandle } = net as unknown as {
  _createServerHandle: CreateServerHandle
}

/** Methods of sockets in recent versions of Node. */
interface RecentSocket {
  setKeepAlive(enable: true, delayMs: number, intervalMs: number, count: number): void
  setTypeOfService?(value: number): void
}

const recent = net.Socket.prototype as unknown as RecentSocket

/** Whether Node can set the interval and the number of keep-alive probes. */
export const setsKeepAliveProbes: boolean = recent.setKeepAlive.length >= 4
export const setsTypeOfService: boolean = recent.setTypeOfService !== undefined

/** What systems usually have by default. Node sets all three or none. */
const KEEP_ALIVE_DEFAULTS = { delayMs: 7_200_000, intervalMs: 75_000, count: 9 }

/** Sets the options that Node takes only once there is a connection. */
export function setConnectedOptions(socket: net.Socket, tcp: TcpOptions): void {
  const { keepAliveDelayMs, keepAliveIntervalMs, keepAliveCount, typeOfService } = tcp
  const connected = socket as unknown as RecentSocket
  const isProbing = tcp.keepAlive && keepAliveDelayMs + keepAliveIntervalMs + keepAliveCount > 0
  if (setsKeepAliveProbes && isProbing) {
    const { delayMs, intervalMs, count } = KEEP_ALIVE_DEFAULTS
    connected.setKeepAlive(
      true,
      keepAliveDelayMs || delayMs,
      keepAliveIntervalMs || intervalMs,
      keepAliveCount || count,
    )
  }
  if (typeOfService === 0) return
  try {
    connected.setTypeOfService?.(typeOfService)
  } catch {
    // The system refuses it. Node says nothing about its other options either.
  }
}

/** Returns the options that a server passes on to the sockets it accepts, which start paused. */
export function serverOptions({ keepAlive, keepAliveDelayMs }: TcpOptions): net.ServerOpts {
  return {
    pauseOnConnect: true,
    noDelay: true,
    keepAlive: keepAlive ?? false,
    keepAliveInitialDelay: keepAliveDelayMs,
  }
}

/**
 * Starts to listen at an address, and returns the bound one.
 *
 * @throws Error in the form of zeromq.js.
 */
export function listenTcp(
  server: net.Server,
  { host, port }: HostPort,
  { backlog }: TcpOptions,
  scheme: TcpScheme,
): HostPort {
  const endpoint = formatEndpoint({ host, port }, scheme)
  const handle = createServerHandle(host, port, familyOf(host) === 6 ? 6 : 4)
  if (typeof handle === "number") throw systemError(nameOf(handle), endpoint)
  const status = handle.listen(backlog)
  if (status !== 0) {
    handle.close()
    throw systemError(nameOf(status), endpoint)
  }
  server.on("error", () => {}) // a connection that could not be accepted
  listenAtOnce(server, handle, backlog)
  const bound = server.address() as net.AddressInfo
  return { host: bound.address, port: bound.port }
}

/**
 * Listens as `server.listen(handle)` does, but without loading node:cluster, which takes a third of
 * a process's first bind(). Falls back to `server.listen()` if the runtime has no such method.
 */
function listenAtOnce(server: net.Server, handle: ServerHandle, backlog: number): void {
  const inner = server as unknown as InnerServer
  if (!inner._listen2) {
    server.listen(handle, backlog)
    return
  }
  inner._handle = handle
  inner._listen2(null, -1, -1, backlog)
}

/** Scopes of Node's permission model; undefined without it. */
const { permission } = process as { permission?: { has(scope: string): boolean } }
/** Node knows the scope "net" if it has this flag. Earlier versions allow all connections. */
const NET_FLAG = "--allow-net"

/**
 * Refuses to connect if the permission model forbids it: each attempt would fail, and be repeated.
 *
 * @throws Error with the code ERR_ACCESS_DENIED, as Node has it for listening.
 */
export function checkMayConnect(): void {
  if (!permission || !process.allowedNodeEnvironmentFlags.has(NET_FLAG) || permission.has("net"))
    return
  const message = `Access to this API has been restricted. Use ${NET_FLAG} to manage permissions.`
  throw Object.assign(new Error(message), { code: "ERR_ACCESS_DENIED", permission: "Net" })
}

/**
 * Milliseconds that an address of a name has to answer before Node gives it up and tries the next
 * one; the last address has no limit.
 */
export const ADDRESS_MS = 250
/** The longest such limit. The system repeats a SYN that was lost after 1, 3, 7 and 15 s. */
const ADDRESS_MAX_MS = 16_000

/**
 * Returns the limit for the next attempt. After one in which an address did not answer in time it is
 * twice as long, in case the address answers late; beyond the maximum it begins again, in case
 * another one answers.
 */
export function nextAddressMs(addressMs: number, { errored }: net.Socket, tcp: TcpOptions): number {
  const errors: unknown[] = errored instanceof AggregateError ? errored.errors : [errored]
  if (!errors.some((error) => (error as NodeJS.ErrnoException)?.code === "ETIMEDOUT"))
    return addressMs
  const next = addressMs * 2
  return next > (tcp.connectTimeoutMs || ADDRESS_MAX_MS) ? ADDRESS_MS : next
}

/** @param addressMs limit for each address of a name. */
export function connectTcp(
  { host, port, source }: Destination,
  tcp: TcpOptions,
  addressMs: number = ADDRESS_MS,
): Channel {
  const channel = Channel.connect({
    // Otherwise node:net would take options, such as a path, from the prototype of all objects.
    __proto__: null,
    host,
    port,
    family: tcp.ipv6 ? 0 : 4,
    autoSelectFamilyAttemptTimeout: addressMs,
    localAddress: source?.host,
    localPort: source?.port,
    noDelay: true,
    keepAlive: tcp.keepAlive ?? false,
    keepAliveInitialDelay: tcp.keepAliveDelayMs,
    allowHalfOpen: true,
    onread: undefined,
  } as NetConnectOpts)
  const { socket } = channel
  socket.once("connect", () => setConnectedOptions(socket, tcp))
  if (tcp.connectTimeoutMs > 0) {
    const limit = new Deadline(tcp.connectTimeoutMs, () => socket.destroy(zmqError("ETIMEDOUT")))
    socket.once("connect", () => limit.clear())
    socket.once("close", () => limit.clear())
  }
  return channel
}

/** Returns the reason why a socket could not connect; one error for all addresses of a name. */
export function connectError({ errored }: net.Socket): Error | undefined {
  if (!(errored instanceof AggregateError)) return errored ?? undefined
  const { code } = errored as NodeJS.ErrnoException
  const message = errored.errors.map((error: Error) => error.message).join(", ")
  return Object.assign(new Error(message), { code })
}

/** Resolves a host name. Rejects with ENODEV and the endpoint. */
export async function resolveHost(
  { host, port }: HostPort,
  ipv6: boolean,
  endpoint: string,
): Promise<HostPort> {
  if (familyOf(host) !== 0) return { host, port }
  const { lookup } = await import("node:dns/promises")
  try {
    const { address } = await lookup(host, { family: ipv6 ? 0 : 4 })
    return { host: mapped(address, ipv6), port }
  } catch {
    throw mistake(
      "ENODEV",
      endpoint,
      `has host ${quoted(host)}, which is neither an interface of this machine nor the name of a host that is known`,
      `${interfaceNames()}; * is all of them`,
    )
  }
}

/**
 * Resolves a host name synchronously. Works for localhost only, as Node resolves other names in the
 * background.
 */
export function resolveHostSync(
  { host, port }: HostPort,
  ipv6: boolean,
  endpoint: string,
): HostPort {
  if (familyOf(host) !== 0) return { host, port }
  if (host.toLowerCase() === "localhost") return { host: mapped("127.0.0.1", ipv6), port }
  throw mistake(
    "ENODEV",
    endpoint,
    `has host ${quoted(host)}, which is not an interface of this machine`,
    `${interfaceNames()}; names of hosts are for bind(), which can wait for their addresses`,
  )
}

function nameOf(status: number): string {
  return status === -22 ? "EINVAL" : getSystemErrorName(status)
}
