/** The metadata of READY and INITIATE: names and values (RFC.md section 3.1). */
import { copy } from "../codec/arrays.js"
import { PEERS, type SocketTypeName } from "./socket-types.js"

const VALUE_LENGTH_BYTES = 4
const DECODED_AT_ONCE = 4096

/** Returns bytes as latin1 text of the same length. There is no limit on the length. */
export function latin1(bytes: Uint8Array): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += DECODED_AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + DECODED_AT_ONCE))
  return text
}

/** The name and value of a property. */
export type Property = [name: string, value: Uint8Array]

/** Reads metadata; undefined if it is malformed. Values are copies. */
export function readMetadata(body: Uint8Array): Map<string, Uint8Array> | undefined {
  const properties = readProperties(body)
  return properties && new Map(properties)
}

/** Reads metadata as a list of properties in order, including repeated ones. */
export function readProperties(body: Uint8Array): Property[] | undefined {
  const properties: Property[] = []
  for (let at = 0; at < body.length; ) {
    const nameEnd = at + 1 + (body[at] as number)
    const start = nameEnd + VALUE_LENGTH_BYTES
    if (start > body.length) return undefined
    const length = new DataView(body.buffer, body.byteOffset).getUint32(nameEnd)
    if (length > body.length - start) return undefined
    properties.push([latin1(body.subarray(at + 1, nameEnd)), copy(body, start, start + length)])
    at = start + length
  }
  return properties
}

/** Writes metadata. Names may have up to 255 latin1 characters. */
export function writeMetadata(properties: Iterable<Property>): Uint8Array {
  const bytes: number[] = []
  for (const [name, value] of properties) {
    bytes.push(name.length)
    for (let i = 0; i < name.length; i++) bytes.push(name.charCodeAt(i))
    const { length } = value
    bytes.push(length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff)
    for (const byte of value) bytes.push(byte)
  }
  return Uint8Array.from(bytes)
}

/** Returns whether two names of properties are the same, ignoring case. */
export function isNamed(name: string, wanted: string): boolean {
  return name.toLowerCase() === wanted.toLowerCase()
}

/**
 * Returns the first socket type in metadata that does not go with another; undefined if there is none.
 * As in libzmq, every type counts that is named, and metadata without a type is accepted.
 */
export function wrongType(
  properties: readonly Property[],
  socketType: SocketTypeName,
): Uint8Array | undefined {
  const peers: readonly string[] = PEERS[socketType]
  return properties.find(
    ([name, value]) => isNamed(name, "Socket-Type") && !peers.includes(latin1(value)),
  )?.[1]
}

/** Returns the first property with a name, ignoring case. */
export function findProperty(properties: Iterable<Property>, wanted: string): Property | undefined {
  for (const property of properties) if (isNamed(property[0], wanted)) return property
  return undefined
}
