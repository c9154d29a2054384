/** Writes IP packets with a TCP segment. */

export const FIN = 1
export const SYN = 2
export const RST = 4
export const PSH = 8
export const ACK = 16

const TCP = 6
const HOPS = 64
const DO_NOT_FRAGMENT = 0x4000
const IP4_HEAD_BYTES = 20
const IP6_HEAD_BYTES = 40
const TCP_HEAD_BYTES = 20
/** The window that every segment announces, without a scale. */
const WINDOW = 0xffff

/** One end of a TCP connection: the bytes of its address, 4 or 16, and its port. */
export interface End {
  address: Uint8Array
  port: number
}

/** A segment. Sequence numbers may exceed 32 bits. */
export interface SegmentOptions {
  sequence: number
  /** Its bytes, in pieces. */
  data: readonly Uint8Array[]
  flags: number
  /** Only with ACK. */
  acknowledged: number
}

/** Reads an address and port, such as "127.0.0.1:5555" or "[::1]:5555". */
export function readEnd(text: string): End {
  const colon = text.lastIndexOf(":")
  const port = Number(text.slice(colon + 1))
  if (!text.startsWith("["))
    return { address: Uint8Array.from(text.slice(0, colon).split("."), Number), port }
  const [front = [], back = []] = text
    .slice(1, colon - 1)
    .split("::")
    .map((words) => words.split(":").filter(Boolean))
  const zeros = Array<string>(8 - front.length - back.length).fill("0")
  const address = new Uint8Array(16)
  const view = new DataView(address.buffer)
  for (const [i, word] of [...front, ...zeros, ...back].entries())
    view.setUint16(2 * i, Number.parseInt(word, 16))
  return { address, port }
}

/** Returns the IPv4 or IPv6 packet of a segment, with its checksums. */
export function tcpPacket(from: End, to: End, segment: SegmentOptions): Uint8Array {
  const { sequence, acknowledged, flags, data } = segment
  const isIp4 = from.address.length === 4
  const start = isIp4 ? IP4_HEAD_BYTES : IP6_HEAD_BYTES
  const tcpBytes = TCP_HEAD_BYTES + data.reduce((sum, { length }) => sum + length, 0)
  const packet = new Uint8Array(start + tcpBytes)
  const view = new DataView(packet.buffer)
  view.setUint16(start, from.port)
  view.setUint16(start + 2, to.port)
  view.setUint32(start + 4, sequence)
  view.setUint32(start + 8, flags & ACK ? acknowledged : 0)
  view.setUint8(start + 12, (TCP_HEAD_BYTES / 4) << 4)
  view.setUint8(start + 13, flags)
  view.setUint16(start + 14, WINDOW)
  let at = start + TCP_HEAD_BYTES
  for (const piece of data) {
    packet.set(piece, at)
    at += piece.length
  }
  const addresses = start - 2 * from.address.length
  packet.set(from.address, addresses)
  packet.set(to.address, addresses + from.address.length)
  // The addresses are next to the segment, so one sum covers both.
  view.setUint16(start + 16, checksum(packet, addresses, TCP + tcpBytes))
  if (isIp4) {
    view.setUint8(0, (4 << 4) | (IP4_HEAD_BYTES / 4))
    view.setUint16(2, packet.length)
    view.setUint16(6, DO_NOT_FRAGMENT)
    view.setUint8(8, HOPS)
    view.setUint8(9, TCP)
    view.setUint16(10, checksum(packet.subarray(0, IP4_HEAD_BYTES), 0, 0))
  } else {
    view.setUint8(0, 6 << 4)
    view.setUint16(4, tcpBytes)
    view.setUint8(6, TCP)
    view.setUint8(7, HOPS)
  }
  return packet
}

/** Returns the Internet checksum (RFC 1071) of bytes from an even offset on, added to `sum`. */
function checksum(bytes: Uint8Array, from: number, sum: number): number {
  let total = sum
  for (let at = from; at < bytes.length; at += 2)
    total += ((bytes[at] as number) << 8) | (bytes[at + 1] ?? 0)
  while (total > 0xffff) total = (total & 0xffff) + (total >>> 16)
  return total ^ 0xffff
}
