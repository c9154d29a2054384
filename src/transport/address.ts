import * as net from "node:net"
import { networkInterfaces } from "node:os"
import type { FormatName } from "../codec/format.js"
import { mistake, quoted } from "./zmq-error.js"

/** The schemes of this package. */
export type OwnScheme = "lz4+tcp://" | "zstd+tcp://"

/** The schemes of endpoints whose parts have a format. */
export const SCHEMES: Readonly<Record<FormatName, OwnScheme>> = {
  lz4: "lz4+tcp://",
  zstd: "zstd+tcp://",
}

/** The schemes whose endpoints consist of a host and a port. */
export type TcpScheme = OwnScheme | "tcp://"

/** A host and a port, as node:net takes them. */
export interface HostPort {
  host: string
  port: number
}

/** An address to connect to, and the local address if one was given. */
export interface Destination extends HostPort {
  source: HostPort | undefined
}

/**
 * Returns the family of an address; 0 if it is none. Text without a colon is not tested for IPv6,
 * because Node's pattern for that takes milliseconds to compile.
 */
export function familyOf(host: string): 0 | 4 | 6 {
  if (host.includes(":")) return net.isIPv6(host) ? 6 : 0
  return net.isIPv4(host) ? 4 : 0
}

/** Returns the format of an endpoint's parts; undefined if it is none of this package. */
export function formatOf(endpoint: unknown): FormatName | undefined {
  if (typeof endpoint !== "string") return undefined
  if (endpoint.startsWith(SCHEMES.lz4)) return "lz4"
  return endpoint.startsWith(SCHEMES.zstd) ? "zstd" : undefined
}

export const isOurs = (endpoint: unknown): endpoint is string => formatOf(endpoint) !== undefined

/**
 * Parses an endpoint to bind: `*`, an address, the name of an interface or of a host (which still
 * has to be resolved), and a port. The system chooses the port for `*` and 0.
 *
 * @throws Error with code EINVAL or ENODEV.
 */
export function parseBind(endpoint: string, ipv6: boolean): HostPort {
  const address = withoutScheme(endpoint)
  if (address.includes(";"))
    throw mistake("EINVAL", endpoint, "has a source address, which is only for connecting")
  const [host, digits] = split(endpoint, address)
  const port = parsePort(endpoint, digits, true)
  const local = localAddress(endpoint, host, ipv6)
  // Neither an address nor an interface: a host name.
  if (local === undefined && !/^[\w.-]+$/.test(host))
    throw wrongHost("ENODEV", endpoint, host, `*:${digits}`)
  return { host: local ?? host, port }
}

/**
 * Parses an endpoint to connect to: a host name or address and a port, optionally after a source
 * address and `;`.
 *
 * @throws Error with code EINVAL or, for a source interface that does not exist, ENODEV.
 */
export function parseConnect(endpoint: string, ipv6: boolean): Destination {
  const parts = withoutScheme(endpoint).split(";")
  if (parts.length > 2)
    throw mistake("EINVAL", endpoint, "has more than one ';'", "SOURCE:PORT;HOST:PORT")
  const [host, digits] = split(endpoint, parts.at(-1) as string)
  if (host === "*")
    throw onlyForBinding(endpoint, "* as its host", `${schemeOf(endpoint)}127.0.0.1:${digits}`)
  const isWrongIpv6 = host.includes(":") && familyOf(host) !== 6
  if (isWrongIpv6 || !/^[\w[:][\w.:%[\]-]*$|^$/.test(host) || host.startsWith("_"))
    throw wrongHost("EINVAL", endpoint, host, `127.0.0.1:${digits}`)
  const destination = {
    host: ipv6 ? host : unmapped(host),
    port: parsePort(endpoint, digits, false),
    source: undefined,
  }
  if (parts.length === 1) return destination
  const [from, fromDigits] = split(endpoint, parts[0] as string)
  const source = localAddress(endpoint, from, ipv6)
  if (source === undefined)
    throw mistake(
      "ENODEV",
      endpoint,
      `has source ${quoted(from)}, which is neither an address nor an interface`,
      interfaceNames(),
    )
  const sourcePort = parsePort(endpoint, fromDigits, true)
  // Node connects to an IPv4 address only from an IPv4 address.
  return { ...destination, source: { host: unmapped(source), port: sourcePort } }
}

/** Returns the endpoint of a bound address. */
export function formatEndpoint({ host, port }: HostPort, scheme: TcpScheme): string {
  return `${scheme}${familyOf(host) === 6 ? `[${host}]` : host}:${port}`
}

/**
 * Returns libzmq's name of a bound endpoint, given another name of it. Returns `endpoint` itself if
 * there is none.
 */
export function canonicalEndpoint(endpoint: string, ipv6: boolean): string {
  const [, bare] = /^(.*):\d+$/.exec(withoutScheme(endpoint)) ?? []
  if (bare === undefined) return endpoint
  const host = trimBrackets(bare)
  const address = host.toLowerCase() === "localhost" ? "127.0.0.1" : host
  const family = familyOf(address)
  if (family === 0) return endpoint
  const port = Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))
  if (family === 4 || address.includes("%"))
    return formatEndpoint({ host: mapped(address, ipv6), port }, schemeOf(endpoint))
  // An IPv6 address has several forms.
  const { address: normal } = new net.SocketAddress({ address, family: "ipv6" })
  return formatEndpoint({ host: normal, port }, schemeOf(endpoint))
}

export const withoutScheme = (endpoint: string): string =>
  endpoint.slice(endpoint.indexOf("://") + 3)

/** Returns the scheme of an endpoint that has one of these. */
export const schemeOf = (endpoint: string): TcpScheme =>
  endpoint.slice(0, endpoint.indexOf("://") + 3) as TcpScheme

/** Splits an address at its last colon. */
function split(endpoint: string, address: string): [host: string, port: string] {
  const colon = address.endsWith("]") ? -1 : address.lastIndexOf(":")
  if (withoutScheme(endpoint) === "")
    throw mistake("EINVAL", endpoint, "has neither host nor port", `${endpoint}127.0.0.1:5555`)
  if (colon < 0 || colon === address.length - 1) {
    const host = colon < 0 ? address : address.slice(0, colon)
    if (withoutScheme(endpoint) !== address)
      throw mistake(
        "EINVAL",
        endpoint,
        `has no port in ${quoted(address)}`,
        "SOURCE:PORT;HOST:PORT",
      )
    throw mistake("EINVAL", endpoint, "has no port", `${schemeOf(endpoint)}${host}:5555`)
  }
  return [trimBrackets(address.slice(0, colon)), address.slice(colon + 1)]
}

function trimBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
}

function parsePort(endpoint: string, port: string, wildcard: boolean): number {
  if (wildcard && (port === "*" || port === "0")) return 0
  const number = /^0*\d{1,5}$/.test(port) ? Number(port) : 0
  if (!wildcard && (port === "*" || /^0+$/.test(port)))
    throw onlyForBinding(endpoint, `port ${port}`, "the port must be 1 to 65535")
  if (/\s/.test(port)) throw whiteSpace("EINVAL", endpoint)
  if (number < 1 || number > 65535)
    throw mistake(
      "EINVAL",
      endpoint,
      `has port ${quoted(port)}`,
      `the port must be ${wildcard ? "*, or 0" : "1"} to 65535`,
    )
  return number
}

/** Returns the error for a wildcard in an endpoint to connect to, where only bind() allows it. */
function onlyForBinding(endpoint: string, what: string, meant: string): Error {
  return mistake("EINVAL", endpoint, `has ${what}, which is only for binding`, meant)
}

function wrongHost(
  code: "EINVAL" | "ENODEV",
  endpoint: string,
  host: string,
  example: string,
): Error {
  const scheme = schemeOf(endpoint)
  const inner = endpoint.lastIndexOf("//") + 2
  if (inner > scheme.length)
    return mistake(code, endpoint, "has two schemes", scheme + endpoint.slice(inner))
  if (/\s/.test(host)) return whiteSpace(code, endpoint)
  if (host === "") return mistake(code, endpoint, "has no host", scheme + example)
  const what = `has host ${quoted(host)}, which is`
  return host.includes(":") || host.includes("]")
    ? mistake(code, endpoint, `${what} not an IPv6 address`, `${scheme}[2001:db8::1]:5555`)
    : mistake(code, endpoint, `${what} neither an address nor a name`, scheme + example)
}

function whiteSpace(code: "EINVAL" | "ENODEV", endpoint: string): Error {
  return mistake(code, endpoint, "has white space", endpoint.replace(/\s+/g, ""))
}

/** Returns the names of this machine's interfaces, for use in errors. */
export function interfaceNames(): string {
  return `interfaces: ${Object.keys(networkInterfaces()).join(", ")}`
}

/** Returns the local address that `*`, an address or the name of an interface stands for. */
function localAddress(endpoint: string, host: string, ipv6: boolean): string | undefined {
  if (host === "*") return ipv6 ? "::" : "0.0.0.0"
  const address = ipv6 ? host : unmapped(host)
  const addressFamily = familyOf(address)
  if (addressFamily !== 0) {
    if (addressFamily === 6 && !ipv6)
      throw mistake(
        "ENODEV",
        endpoint,
        "is IPv6, which the socket's option ipv6 allows",
        "ipv6: true",
      )
    return mapped(address, ipv6)
  }
  const family = ipv6 ? "IPv6" : "IPv4"
  return networkInterfaces()[host]?.find((address) => address.family === family)?.address
}

/** Maps an IPv4 address to IPv6 if `ipv6` is set, because libzmq then uses IPv6 sockets for IPv4 too. */
export function mapped(address: string, ipv6: boolean): string {
  return ipv6 && familyOf(address) === 4 ? `::ffff:${address}` : address
}

/** Returns the IPv4 address that an IPv6 address stands for, or the address itself if it is none. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "")
}
