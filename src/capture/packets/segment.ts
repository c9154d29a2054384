import type { Time } from "../events.js"
import type { IpPayload } from "./ip.js"
import { u16, u32 } from "./ip.js"

export const TCP = 6

const FIN = 1
const SYN = 2
const RST = 4
const ACK = 16
const HEAD_BYTES = 20
const WINDOW_SCALE = 3
export const WINDOW_SCALE_MAX = 14

export interface Segment {
  source: Address
  destination: Address
  sequence: number
  /** Undefined without ACK. */
  acknowledged: number | undefined
  syn: boolean
  fin: boolean
  rst: boolean
  /** The bytes that the sender has room for, to be multiplied by 2 to the power of the scale. */
  window: number
  /** The scale of the sender's windows, which a SYN announces: 0 if it has none. */
  windowScale: number
  /** Its captured data, valid during the call only. */
  bytes: Uint8Array
  /** Number of bytes after these that were not captured. */
  cut: number
  /** The offset of `bytes` in the file. */
  offset: number
  time: Time
}

/** Address and port, with 16 bits in each character: fast to compare, and usable in keys. */
export type Address = string & { readonly __brand: "Address" }

/** Returns the segment in an IP packet; undefined if it is too short to be one. */
export function segmentIn(
  bytes: Uint8Array,
  ip: IpPayload,
  offset: number,
  time: Time,
): Segment | undefined {
  const { start, end } = ip
  if (start + HEAD_BYTES > Math.min(bytes.length, end)) return undefined
  const dataStart = start + ((bytes[start + 12] as number) >> 4) * 4
  if (dataStart < start + HEAD_BYTES || dataStart > end) return undefined
  const flags = bytes[start + 13] as number
  const addressBytes = ip.version === 4 ? 4 : 16
  const data = bytes.subarray(dataStart, end)
  return {
    source: addressOf(bytes, ip.addresses, addressBytes, u16(bytes, start)),
    destination: addressOf(bytes, ip.addresses + addressBytes, addressBytes, u16(bytes, start + 2)),
    sequence: u32(bytes, start + 4),
    acknowledged: flags & ACK ? u32(bytes, start + 8) : undefined,
    syn: (flags & SYN) !== 0,
    fin: (flags & FIN) !== 0,
    rst: (flags & RST) !== 0,
    window: u16(bytes, start + 14),
    windowScale: flags & SYN ? windowScale(bytes, start + HEAD_BYTES, dataStart) : 0,
    bytes: data,
    cut: end - dataStart - data.length,
    offset: offset + dataStart,
    time,
  }
}

/** Finds the scale of windows among the options of a SYN (RFC 7323). */
function windowScale(bytes: Uint8Array, from: number, end: number): number {
  const size = (at: number) => ((bytes[at] as number) <= 1 ? 1 : (bytes[at + 1] as number))
  for (let at = from; at + 2 < end && bytes[at] !== 0 && size(at) > 0; at += size(at))
    if (bytes[at] === WINDOW_SCALE) return Math.min(bytes[at + 2] as number, WINDOW_SCALE_MAX)
  return 0
}

function addressOf(bytes: Uint8Array, at: number, addressBytes: number, port: number): Address {
  const word = (i: number) => u16(bytes, at + 2 * i)
  const text =
    addressBytes === 4
      ? String.fromCharCode(word(0), word(1), port)
      : String.fromCharCode(
          ...[word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7), port],
        )
  return text as Address
}

export const portOf = (address: Address): number => address.charCodeAt(address.length - 1)

/** Formats an address, such as "127.0.0.1:5555" or "[::1]:5555". */
export function formatAddress(address: Address): string {
  const words = Array.from({ length: address.length - 1 }, (_, i) => address.charCodeAt(i))
  const port = portOf(address)
  if (words.length === 2)
    return `${words.flatMap((word) => [word >> 8, word & 255]).join(".")}:${port}`
  // URL shortens the address as RFC 5952 requires.
  return new URL(`tcp://[${words.map((word) => word.toString(16)).join(":")}]:${port}`).host
}
