import { copy } from "../codec/arrays.js"
import type { Handshake } from "./events.js"

/** Of a greeting of ZMTP 3 (RFC.md section 3.1). */
export const GREETING_BYTES = 64
export const SIGNATURE_BYTES = 10
const MAJOR = 10
const MINOR = 11
const MECHANISM = 12
const AS_SERVER = 32

const latin = (bytes: Uint8Array) => String.fromCharCode(...bytes)

/** Whether bytes can begin a greeting, as far as they go. */
export function mayGreet(bytes: Uint8Array): boolean {
  return (bytes[0] ?? 0xff) === 0xff && (bytes[SIGNATURE_BYTES - 1] ?? 0x7f) === 0x7f
}

/** Whether a greeting is that of ZMTP 1 or 2, which are quite different after the signature. */
export function isOld(greeting: Uint8Array): boolean {
  return (greeting[MAJOR] as number) < 3
}

/** What a greeting says; of an old one no more than the version. */
export function readGreeting(greeting: Uint8Array): Handshake {
  const old = isOld(greeting)
  return {
    version: old ? `${greeting[MAJOR] === 0 ? 1 : 2}.0` : `${greeting[MAJOR]}.${greeting[MINOR]}`,
    mechanism: old ? "" : latin(greeting.subarray(MECHANISM, AS_SERVER)).replace(/\0.*$/s, ""),
    asServer: !old && greeting[AS_SERVER] === 1,
    socketType: undefined,
    identity: undefined,
    properties: new Map(),
  }
}

/** The metadata of READY or INITIATE; undefined where it is not well-formed. */
export function readProperties(body: Uint8Array): Map<string, Uint8Array> | undefined {
  const properties = new Map<string, Uint8Array>()
  for (let at = 0; at < body.length; ) {
    const nameEnd = at + 1 + (body[at] as number)
    const start = nameEnd + 4
    if (start > body.length) return undefined
    const length = new DataView(body.buffer, body.byteOffset).getUint32(nameEnd)
    if (length > body.length - start) return undefined
    properties.set(latin(body.subarray(at + 1, nameEnd)), copy(body, start, start + length))
    at = start + length
  }
  return properties
}

/** A greeting with what READY adds to it. */
export function withProperties(
  greeting: Handshake,
  properties: ReadonlyMap<string, Uint8Array>,
): Handshake {
  const others = new Map(properties)
  // ZMTP compares names without regard to case.
  const take = (wanted: string) => {
    for (const [name, value] of others) {
      if (name.toLowerCase() !== wanted) continue
      others.delete(name)
      return value
    }
    return undefined
  }
  const socketType = take("socket-type")
  return {
    ...greeting,
    socketType: socketType && latin(socketType),
    identity: take("identity") ?? new Uint8Array(0),
    properties: others,
  }
}
