import type { Time } from "../events.js"
import { firstEndingAfter } from "./first-ending-after.js"
import { type Fragment, type IpPayload, isExtension, pastExtensions } from "./ip.js"
import { type Segment, segmentIn, TCP } from "./segment.js"

/** Nanoseconds for which the fragments of an incomplete packet are kept, as in Linux. */
const WAITING_MAX_NS = 30_000_000_000n
/** Nanoseconds in which further fragments of a complete packet are duplicates. */
const REPEATED_MAX_NS = 1_000_000_000n
/** Limits for all packets together, including complete ones. */
const MAX_PACKETS = 1024
const MAX_FRAGMENTS = 65_536
/** Maximum size of an IP packet. */
const PACKET_MAX_BYTES = 65_535

/** The bytes of a packet from `start` to `end`, of which `bytes` were captured. */
interface Piece {
  start: number
  end: number
  bytes: Uint8Array
  /** The offset of `bytes` in the file. */
  offset: number
}

interface Packet {
  key: string
  /** The time of its first fragment. */
  time: Time
  version: 4 | 6
  protocol: number
  addresses: Uint8Array
  /** The pieces in order, without overlaps. */
  pieces: Piece[]
  bytes: number
  /** Length of the packet; undefined before its last fragment. */
  length: number | undefined
  complete: boolean
}

/** Reassembles fragmented IP packets (RFC 791 section 3.2, RFC 8200 section 4.5). */
export class IpFragments {
  /** The packets, oldest first. */
  readonly #packets = new Map<string, Packet>()
  readonly #missing: () => void
  #fragments = 0

  /** @param missing is called for each packet that remains incomplete. */
  constructor(missing: () => void) {
    this.#missing = missing
  }

  /**
   * Adds the fragment that `ip` describes in `bytes`, which are copied. Returns the TCP segment
   * that it completes, split into pieces that are contiguous in the file.
   */
  push(
    bytes: Uint8Array,
    ip: IpPayload,
    fragment: Fragment,
    offset: number,
    time: Time,
  ): Segment[] {
    if (ip.protocol !== TCP && !isExtension(ip.protocol)) return []
    this.#forgetOld(time)
    const packet = this.#packetOf(bytes, ip, fragment, time)
    if (packet.complete) return []
    const { start, end, more } = place(ip, fragment)
    if (end > (packet.length ?? PACKET_MAX_BYTES)) return []
    if (!more) {
      if ((packet.pieces.at(-1)?.end ?? 0) > end) return []
      packet.length = end
    }
    this.#add(packet, {
      start,
      end,
      bytes: bytes.subarray(ip.start, ip.end),
      offset: offset + ip.start,
    })
    if (packet.bytes !== packet.length) return []
    packet.complete = true
    const segments = segmentsOf(packet, time)
    this.#drop(packet)
    return segments
  }

  end(): void {
    for (const packet of this.#packets.values()) this.#forget(packet)
  }

  #packetOf(bytes: Uint8Array, ip: IpPayload, { id }: Fragment, time: Time): Packet {
    const { version, addresses: at } = ip
    const addresses = bytes.slice(at, at + (version === 4 ? 8 : 32))
    // An id of IPv4 depends on the protocol; an id of IPv6 does not.
    const key = `${addresses.join()} ${id} ${version === 4 ? ip.protocol : ""}`
    const known = this.#packets.get(key)
    if (known && !isNew(known, time)) return known
    if (known) this.#forget(known)
    const packet: Packet = {
      ...{ key, time, version, protocol: ip.protocol, addresses },
      ...{ pieces: [], bytes: 0, length: undefined, complete: false },
    }
    this.#packets.set(key, packet)
    if (this.#packets.size > MAX_PACKETS) this.#forgetOldest()
    return packet
  }

  /** Adds the bytes of a piece that are new. If pieces overlap, the first one counts, as in TCP. */
  #add(packet: Packet, piece: Piece): void {
    const { pieces } = packet
    let at = piece.start
    for (let index = firstEndingAfter(pieces, at); at < piece.end; index++) {
      const next = pieces[index]
      const end = Math.min(piece.end, next?.start ?? piece.end)
      if (at < end) {
        pieces.splice(index, 0, part(piece, at, end))
        packet.bytes += end - at
        this.#fragments++
      } else if (next) {
        at = next.end
        continue
      }
      at = end
    }
    while (this.#fragments > MAX_FRAGMENTS) this.#forgetOldest()
  }

  #forgetOld(time: Time): void {
    for (const packet of this.#packets.values()) {
      if (time === undefined || packet.time === undefined) return
      if (time - packet.time < WAITING_MAX_NS) return
      this.#forget(packet)
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#packets.values()
    if (oldest) this.#forget(oldest)
  }

  #forget(packet: Packet): void {
    this.#packets.delete(packet.key)
    if (!packet.complete) this.#missing()
    this.#drop(packet)
  }

  #drop(packet: Packet): void {
    this.#fragments -= packet.pieces.length
    packet.pieces = []
  }
}

function place(
  ip: IpPayload,
  { offset, more }: Fragment,
): { start: number; end: number; more: boolean } {
  return { start: offset, end: offset + Math.max(ip.end - ip.start, 0), more }
}

/** Returns whether a fragment with this packet's key belongs to a later packet. */
function isNew({ complete, time: first }: Packet, time: Time): boolean {
  if (!complete) return false
  return time === undefined || first === undefined || time - first > REPEATED_MAX_NS
}

function part({ start, bytes, offset }: Piece, from: number, end: number): Piece {
  const skipped = Math.min(from - start, bytes.length)
  return { start: from, end, bytes: bytes.slice(skipped, end - start), offset: offset + skipped }
}

/** Returns the segment in a complete packet, split where its bytes are not contiguous in the file. */
function segmentsOf(
  { version, protocol, addresses, pieces, length = 0 }: Packet,
  time: Time,
): Segment[] {
  const front = addresses.length
  const whole = new Uint8Array(front + length)
  whole.set(addresses)
  // All bytes before this were captured, and must include the head of the segment.
  let captured = front
  for (const { start, bytes } of pieces) {
    whole.set(bytes, front + start)
    if (captured === front + start) captured += bytes.length
  }
  const upper =
    version === 4
      ? { protocol, start: front, fragment: undefined }
      : pastExtensions(whole, protocol, front)
  if (upper.protocol !== TCP || upper.fragment) return []
  const ip = { ...upper, version, addresses: 0, end: whole.length }
  const segment = segmentIn(whole, ip, 0, time)
  if (!segment || segment.offset > captured) return []
  const dataStart = segment.offset
  const cut = pieces.flatMap((piece): Segment[] => {
    const start = Math.max(front + piece.start, dataStart)
    const end = front + piece.end
    if (start >= end) return []
    const skipped = Math.min(start - front - piece.start, piece.bytes.length)
    const bytes = whole.subarray(start, start + piece.bytes.length - skipped)
    const before = start - dataStart
    return [
      {
        ...segment,
        sequence: (segment.sequence + before + Number(segment.syn && before > 0)) >>> 0,
        syn: segment.syn && before === 0,
        fin: segment.fin && end === whole.length,
        bytes,
        cut: end - start - bytes.length,
        offset: piece.offset + skipped,
      },
    ]
  })
  return cut.length === 0 || segment.rst ? [segment] : cut
}
