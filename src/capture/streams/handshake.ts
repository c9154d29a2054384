import { type Greeting, readGreeting } from "../../zmtp/greeting.js"
import { findProperty, latin1 } from "../../zmtp/metadata.js"
import type { Handshake } from "../events.js"

const NOTHING = new Uint8Array(0)
/** Further properties are dropped, because each takes many times its size in memory. */
const MAX_PROPERTIES = 256
/** Bytes of a socket type, or of an identity, that are kept if handshakes take too much memory. */
const ESSENTIAL_MAX_BYTES = 255
/** Memory of a property besides its name and value, in bytes. */
const PROPERTY_BYTES = 200

/** Reads the fields of a greeting that matter for the handshake. */
export function greetingHandshake(bytes: Uint8Array): Handshake {
  const { major, minor, mechanism, asServer }: Greeting = readGreeting(bytes)
  return {
    version: `${major}.${minor}`,
    mechanism,
    asServer,
    socketType: undefined,
    identity: undefined,
    properties: new Map(),
  }
}

/** Adds the metadata of READY or INITIATE to a handshake. */
export function withMetadata(
  handshake: Handshake,
  metadata: ReadonlyMap<string, Uint8Array>,
): Handshake {
  const others = new Map(metadata)
  const take = (name: string): Uint8Array | undefined => {
    const property = findProperty(others, name)
    if (property) others.delete(property[0])
    return property?.[1]
  }
  const socketType = take("Socket-Type")
  return {
    ...handshake,
    socketType: socketType && latin1(socketType),
    identity: take("Identity") ?? NOTHING,
    properties: others.size > MAX_PROPERTIES ? first(others, MAX_PROPERTIES) : others,
  }
}

function first<Key, Value>(map: ReadonlyMap<Key, Value>, count: number): Map<Key, Value> {
  return new Map([...map].slice(0, count))
}

/** Returns approximately the memory of a handshake, in bytes. */
export function handshakeBytes({ socketType = "", identity, properties }: Handshake): number {
  let bytes = socketType.length + (identity?.length ?? 0)
  for (const [name, value] of properties) bytes += PROPERTY_BYTES + name.length + value.length
  return bytes
}

/** Returns a handshake without its properties, and with the beginning of its longer fields. */
export const essentialOf = (handshake: Handshake): Handshake => ({
  ...handshake,
  socketType: handshake.socketType?.slice(0, ESSENTIAL_MAX_BYTES),
  identity: handshake.identity?.slice(0, ESSENTIAL_MAX_BYTES),
  properties: new Map(),
})
