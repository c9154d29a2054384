import { isIP, isIPv6 } from "node:net"
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

export function isLz4(endpoint: unknown): endpoint is string {
  return typeof endpoint === "string" && endpoint.startsWith(SCHEME)
}

/**
 * Reads what may be bound: `*`, an address, the name of an interface or of a host,
 * which is yet to be resolved, and a port of which `*` and 0 let the system choose.
 *
 * @throws Error with code EINVAL, or ENODEV for an IPv6 address without the option ipv6.
 */
export function parseBind(endpoint: string, ipv6: boolean): HostPort {
  const [host, port] = split(endpoint, withoutScheme(endpoint))
  return { host: localHost(endpoint, host, ipv6) ?? host, port: parsePort(endpoint, port, true) }
}

/**
 * Reads what may be connected to: a host name or address and a port, behind a
 * source address and `;` if need be.
 *
 * @throws Error with code EINVAL or, for a source interface that is not there, ENODEV.
 */
export function parseConnect(endpoint: string, ipv6: boolean): Destination {
  const parts = withoutScheme(endpoint).split(";")
  if (parts.length > 2) throw invalid(endpoint, "at most one ';' is allowed")
  const [host, port] = split(endpoint, parts.at(-1) as string)
  if (host === "*" || !/^[\w.:%-]+$/.test(host))
    throw invalid(endpoint, `${JSON.stringify(host)} is no host to connect to`)
  const destination = { host, port: parsePort(endpoint, port, false), source: undefined }
  if (parts.length === 1) return destination
  const [from, fromPort] = split(endpoint, parts[0] as string)
  const source = localHost(endpoint, from, ipv6)
  if (!source) throw noDevice(endpoint, `no interface or address ${JSON.stringify(from)}`)
  const sourcePort = parsePort(endpoint, fromPort, true)
  return { ...destination, source: { host: source, port: sourcePort } }
}

/** The endpoint of an address that is bound. */
export function formatEndpoint({ host, port }: HostPort, scheme: TcpScheme = SCHEME): string {
  return `${scheme}${isIPv6(host) ? `[${host}]` : host}:${port}`
}

const withoutScheme = (endpoint: string) => endpoint.slice(endpoint.indexOf("://") + 3)

/** Parts at the last colon; brackets keep those of an IPv6 address together. */
function split(endpoint: string, address: string): [host: string, port: string] {
  const [, bracketed, bare, port] = /^(?:\[([^[\]]*)\]|([^[\]]*)):([^:]*)$/.exec(address) ?? []
  const host = bracketed ?? bare
  if (!host || port === undefined) throw invalid(endpoint, "expected HOST:PORT")
  return [host, port]
}

function parsePort(endpoint: string, port: string, wildcard: boolean): number {
  if (wildcard && port === "*") return 0
  const number = /^\d{1,5}$/.test(port) ? Number(port) : -1
  if (number < (wildcard ? 0 : 1) || number > 65535)
    throw invalid(
      endpoint,
      `the port must be ${wildcard ? "*, or 0" : "1"} to 65535; got ${JSON.stringify(port)}`,
    )
  return number
}

/** The address of this machine that `*`, an address or an interface's name stand for. */
function localHost(endpoint: string, host: string, ipv6: boolean): string | undefined {
  if (host === "*") return ipv6 ? "::" : "0.0.0.0"
  if (isIP(host)) {
    if (isIPv6(host) && !ipv6) throw noDevice(endpoint, "set the socket's ipv6 option first")
    return host
  }
  const addresses = networkInterfaces()[host] ?? []
  return addresses.find(({ family }) => family === "IPv4" || ipv6)?.address
}

function noDevice(endpoint: string, why: string): Error {
  return zmqError("ENODEV", why, endpoint)
}

function invalid(endpoint: string, why: string): Error {
  return zmqError("EINVAL", `invalid endpoint: ${why}`, endpoint)
}
