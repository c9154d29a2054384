/** The greeting at the beginning of a ZMTP 3 connection (RFC.md section 3.1). */

export const GREETING_BYTES = 64
export const SIGNATURE_BYTES = 10
const MAJOR = 10
const MINOR = 11
const MECHANISM = 12
const AS_SERVER = 32

export type MechanismName = "NULL" | "PLAIN" | "CURVE"

/** The fields of a greeting. */
export interface Greeting {
  major: number
  minor: number
  /** Empty for ZMTP 1 and 2, which have no mechanisms. */
  mechanism: string
  asServer: boolean
  /**
   * Whether it is that of libzmq, or of one of its ports: they put the size of the routing id plus one
   * into the signature. Other implementations, such as those in Ruby, Rust and Python that read RFC.md,
   * have zeros there.
   */
  isLibzmq: boolean
}

/**
 * Returns the greeting of ZMTP 3.1.
 *
 * @param asServer CURVE: whether this side is the server. libzmq leaves the field at 0 and ignores it.
 */
export function writeGreeting(mechanism: MechanismName, asServer = false): Uint8Array {
  const greeting = new Uint8Array(GREETING_BYTES)
  greeting[0] = 0xff
  greeting[8] = 1
  greeting[9] = 0x7f
  greeting[MAJOR] = 3
  greeting[MINOR] = 1
  greeting[AS_SERVER] = Number(asServer)
  for (let i = 0; i < mechanism.length; i++) greeting[MECHANISM + i] = mechanism.charCodeAt(i)
  return greeting
}

/** Returns a copy of `bytes`, a greeting's from position `start` on, with another mechanism. */
export function withMechanism(
  bytes: Uint8Array,
  start: number,
  mechanism: MechanismName,
  asServer = false,
): Uint8Array {
  const changed = writeGreeting(mechanism, asServer)
  const copy = new Uint8Array(bytes)
  const from = Math.max(start, MECHANISM)
  const to = Math.min(start + copy.length, AS_SERVER + 1)
  if (from < to) copy.set(changed.subarray(from, to), from - start)
  return copy
}

/**
 * Returns a copy of some bytes of a greeting, which are those from `start` on, as that of a peer which
 * is not libzmq: with a bridge, it reads what libzmq's peers do not.
 */
export function notLibzmq(bytes: Uint8Array, start: number): Uint8Array {
  if (start === 0 && !mayGreet(bytes)) return bytes // it is refused as it is
  const at = (index: number) => Math.max(0, index - start)
  return new Uint8Array(bytes).fill(0, at(1), at(SIGNATURE_BYTES - 1))
}

/** Returns whether the bytes received so far can be the beginning of a greeting. */
export function mayGreet(bytes: Uint8Array): boolean {
  return (bytes[0] ?? 0xff) === 0xff && (bytes[SIGNATURE_BYTES - 1] ?? 0x7f) === 0x7f
}

/** Returns whether a greeting is that of ZMTP 1 or 2, which differ after the signature. */
export function isOld(greeting: Uint8Array): boolean {
  return (greeting[MAJOR] as number) < 3
}

/** Reads a greeting. Of ZMTP 1 and 2, only the version is read. */
export function readGreeting(greeting: Uint8Array): Greeting {
  const major = greeting[MAJOR] as number
  const isLibzmq = greeting.subarray(1, SIGNATURE_BYTES - 1).some((byte) => byte !== 0)
  if (isOld(greeting))
    return { major: major === 0 ? 1 : 2, minor: 0, mechanism: "", asServer: false, isLibzmq }
  let end = AS_SERVER
  while (end > MECHANISM && greeting[end - 1] === 0) end--
  const mechanism = String.fromCharCode(...greeting.subarray(MECHANISM, end))
  const minor = greeting[MINOR] as number
  return { major, minor, mechanism, asServer: greeting[AS_SERVER] === 1, isLibzmq }
}
