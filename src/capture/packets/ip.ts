/** The payload of an IP packet. */
export interface IpPayload {
  version: 4 | 6
  protocol: number
  /** The offset of the source address; the destination follows it. */
  addresses: number
  /** The start of the payload, and its end on the wire. */
  start: number
  end: number
  /** Set if the payload is a fragment. */
  fragment: Fragment | undefined
}

export interface Fragment {
  /** The id, which all fragments of a packet share. */
  id: number
  /** Its offset in the payload of the packet, in bytes. */
  offset: number
  more: boolean
}

const IPV4_HEAD_BYTES = 20
const IPV6_HEAD_BYTES = 40

const FRAGMENT = 44
const AUTHENTICATION = 51
/** Extension headers whose second byte is their length in units of 8 bytes, less one. */
const USUAL_EXTENSIONS = new Set([0, 43, 60, 135, 139, 140])

/**
 * Returns the payload of the IP packet at `at`; undefined if it is not an IP packet. The packet's
 * own length excludes the padding of short Ethernet frames. It is 0 if the network card did the
 * segmentation; then the packet ends at `end`, the end of the bytes on the wire.
 */
export function ipPayload(bytes: Uint8Array, at: number, end: number): IpPayload | undefined {
  const version = (bytes[at] as number) >> 4
  if (version === 4) return ipv4Payload(bytes, at, end)
  if (version === 6) return ipv6Payload(bytes, at, end)
  return undefined
}

function ipv4Payload(bytes: Uint8Array, at: number, end: number): IpPayload | undefined {
  const headBytes = ((bytes[at] as number) & 15) * 4
  if (headBytes < IPV4_HEAD_BYTES || at + headBytes > bytes.length) return undefined
  const length = u16(bytes, at + 2)
  const moreAndOffset = u16(bytes, at + 6) & 0x3fff
  return {
    version: 4,
    protocol: bytes[at + 9] as number,
    addresses: at + 12,
    start: at + headBytes,
    end: length === 0 ? end : at + length,
    fragment:
      moreAndOffset === 0
        ? undefined
        : {
            id: u16(bytes, at + 4),
            offset: (moreAndOffset & 0x1fff) * 8,
            more: (moreAndOffset & 0x2000) !== 0,
          },
  }
}

function ipv6Payload(bytes: Uint8Array, at: number, wireEnd: number): IpPayload | undefined {
  if (at + IPV6_HEAD_BYTES > bytes.length) return undefined
  const length = u16(bytes, at + 4)
  const end = length === 0 ? wireEnd : at + IPV6_HEAD_BYTES + length
  const front = pastExtensions(bytes, bytes[at + 6] as number, at + IPV6_HEAD_BYTES)
  return { version: 6, addresses: at + 8, end, ...front }
}

export function isExtension(protocol: number): boolean {
  return USUAL_EXTENSIONS.has(protocol) || protocol === AUTHENTICATION || protocol === FRAGMENT
}

/** Skips the extension headers of IPv6, up to that of a fragment. */
export function pastExtensions(
  bytes: Uint8Array,
  first: number,
  at: number,
): Pick<IpPayload, "protocol" | "start" | "fragment"> {
  let protocol = first
  let start = at
  while (start + 8 <= bytes.length) {
    const next = bytes[start] as number
    const size = bytes[start + 1] as number
    if (USUAL_EXTENSIONS.has(protocol)) {
      start += 8 * (size + 1)
    } else if (protocol === AUTHENTICATION) {
      start += 4 * (size + 2)
    } else if (protocol === FRAGMENT) {
      const offsetAndMore = u16(bytes, start + 2) & 0xfff9
      const id = u32(bytes, start + 4)
      start += 8
      // RFC 6946: an atomic fragment is a whole packet.
      if (offsetAndMore !== 0) {
        const fragment = { id, offset: offsetAndMore & 0xfff8, more: (offsetAndMore & 1) !== 0 }
        return { protocol: next, start, fragment }
      }
    } else {
      break
    }
    protocol = next
  }
  return { protocol, start, fragment: undefined }
}

// Integers in network byte order.
export const u16 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 8) | (bytes[at + 1] as number)

export const u32 = (bytes: Uint8Array, at: number): number =>
  ((u16(bytes, at) << 16) | u16(bytes, at + 2)) >>> 0
