import * as net from "node:net"
import { networkInterfaces } from "node:os"
import { zmqError } from "./zmq-error.js"

export const SCHEME = "lz4+tcp://"

/** Those whose endpoints are a host and a port. */
export type TcpScheme = typeof SCHEME | "tcp://"

/** A host and a port, as net takes them. */
export interface HostPort {
  host: string
  port: number
}

/** Where to connect to, and from, when that was given. */
export interface Destination extends HostPort {
  source: HostPort | undefined
}

/**
 * The family of an address; 0 for what is none. What has no colon is not tried as IPv6: Node's
 * pattern for that takes milliseconds to compile.
 */
export function familyOf(host: string): 0 | 4 | 6 {
  if (host.includes(":")) return net.isIPv6(host) ? 6 : 0
  return net.isIPv4(host) ? 4 : 0
}

export function isLz4(endpoint: unknown): endpoint is string {
  return typeof endpoint === "string" && endpoint.startsWith(SCHEME)
}

/**
 * Reads what may be bound: `*`, an address, the name of an interface or of a host, which is yet to
 * be resolved, and a port of which `*` and 0 let the system choose.
 *
 * @throws Error with code EINVAL or ENODEV.
 */
export function parseBind(endpoint: string, ipv6: boolean): HostPort {
  const [host, digits] = split(endpoint, withoutScheme(endpoint))
  const port = parsePort(endpoint, digits, true)
  const address = localAddress(endpoint, host, ipv6)
  // What is neither an address nor an interface has to be the name of a host.
  if (address === undefined && !/^[\w.-]+$/.test(host)) throw zmqError("ENODEV", endpoint)
  return { host: address ?? host, port }
}

/**
 * Reads what may be connected to: a host name or address and a port, behind a source address and
 * `;` if need be.
 *
 * @throws Error with code EINVAL or, for a source interface that is not there, ENODEV.
 */
export function parseConnect(endpoint: string, ipv6: boolean): Destination {
  const parts = withoutScheme(endpoint).split(";")
  if (parts.length > 2) throw invalid(endpoint, "at most one ';' is allowed")
  const [host, port] = split(endpoint, parts.at(-1) as string)
  if (!/^[\w[:][\w.:%[\]-]*$|^$/.test(host) || host.startsWith("_"))
    throw zmqError("EINVAL", endpoint)
  const destination = { host, port: parsePort(endpoint, port, false), source: undefined }
  if (parts.length === 1) return destination
  const [from, fromPort] = split(endpoint, parts[0] as string)
  const source = localAddress(endpoint, from, ipv6)
  if (source === undefined) throw zmqError("ENODEV", endpoint)
  const sourcePort = parsePort(endpoint, fromPort, true)
  return { ...destination, source: { host: source, port: sourcePort } }
}

/** The endpoint of an address that is bound. */
export function formatEndpoint({ host, port }: HostPort, scheme: TcpScheme = SCHEME): string {
  return `${scheme}${familyOf(host) === 6 ? `[${host}]` : host}:${port}`
}

/**
 * The name under which libzmq knows what is bound, for a name that may be another for it; the
 * same where there is none.
 */
export function canonicalEndpoint(endpoint: string, ipv6: boolean): string {
  const [, bare] = /^(.*):\d+$/.exec(withoutScheme(endpoint)) ?? []
  if (bare === undefined) return endpoint
  const host = trimBrackets(bare)
  const address = host === "localhost" ? "127.0.0.1" : host
  if (familyOf(address) === 0) return endpoint
  const port = Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))
  return formatEndpoint({ host: mapped(address, ipv6), port })
}

export const withoutScheme = (endpoint: string): string =>
  endpoint.slice(endpoint.indexOf("://") + 3)

/** Parts at the last colon. */
function split(endpoint: string, address: string): [host: string, port: string] {
  const colon = address.lastIndexOf(":")
  if (colon < 0) throw zmqError("EINVAL", endpoint)
  return [trimBrackets(address.slice(0, colon)), address.slice(colon + 1)]
}

function trimBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
}

function parsePort(endpoint: string, port: string, wildcard: boolean): number {
  if (wildcard && port === "*") return 0
  // What libzmq takes for a number is refused with a reason, as it would take part of it.
  if (!(wildcard ? /^\s*[+-]?\d/ : /^\d/).test(port)) throw zmqError("EINVAL", endpoint)
  const number = /^\d{1,5}$/.test(port) ? Number(port) : -1
  if (number < (wildcard ? 0 : 1) || number > 65535)
    throw invalid(
      endpoint,
      `the port must be ${wildcard ? "*, or 0" : "1"} to 65535; got ${JSON.stringify(port)}`,
    )
  return number
}

/** The address of this machine that `*`, an address or an interface's name stand for. */
function localAddress(endpoint: string, host: string, ipv6: boolean): string | undefined {
  if (host === "*") return ipv6 ? "::" : "0.0.0.0"
  const addressFamily = familyOf(host)
  if (addressFamily !== 0) {
    if (addressFamily === 6 && !ipv6) throw zmqError("ENODEV", endpoint)
    return mapped(host, ipv6)
  }
  const family = ipv6 ? "IPv6" : "IPv4"
  return networkInterfaces()[host]?.find((address) => address.family === family)?.address
}

/** With the option ipv6, libzmq has IPv6 sockets for IPv4, too. */
export function mapped(address: string, ipv6: boolean): string {
  return ipv6 && familyOf(address) === 4 ? `::ffff:${address}` : address
}

function invalid(endpoint: string, why: string): Error {
  return zmqError("EINVAL", endpoint, `Invalid argument: ${why}`)
}
