/**
 * Builds captures. `conversation` returns the TCP packets of a connection in an array, which tests
 * may damage; `framesOf` adds IP and a link layer; `pcapFile` and `pcapngFile` write the frames to
 * a file.
 */
import type { Side } from "../../src/capture/events.js"
import { concat, joined } from "./wire.js"

export interface TcpPacket {
  from: Side
  /** Address and port, such as "127.0.0.1:5555" or "[::1]:5555". */
  client: string
  server: string
  sequence: number
  acknowledged: number
  /** A combination of "SAFR". */
  flags: string
  data: Uint8Array
  /** Nanoseconds since 1970. */
  time: bigint
}

/** The data that the sides send, in order. */
export type Said = readonly (readonly [from: Side, bytes: Uint8Array])[]

export interface ConversationOptions {
  client?: string
  server?: string
  /** Sequence numbers of the SYNs. */
  initial?: Record<Side, number>
  /** Maximum bytes of data in a segment. */
  segmentBytes?: number
  /** Whether there is a handshake. */
  begun?: boolean
  closed?: "FIN" | "RST" | undefined
  /** The time of the first packet. Each of the others is a microsecond later. */
  time?: bigint
}

export const CLIENT = "127.0.0.1:40000"
export const SERVER = "127.0.0.1:5555"
export const START: bigint = 1_700_000_000_123_456_000n

/** Returns the packets of a connection. Each packet acknowledges the data of the previous one. */
export function conversation(said: Said, options: ConversationOptions = {}): TcpPacket[] {
  const { client = CLIENT, server = SERVER, segmentBytes = 1448, time = START } = options
  const { initial = { client: 1000, server: 2000 }, begun = true, closed } = options
  const packets: TcpPacket[] = []
  const next = { client: wrapped(initial.client + 1), server: wrapped(initial.server + 1) }
  const say = (from: Side, flags: string, data: Uint8Array = new Uint8Array(0)) => {
    const syn = flags.includes("S")
    packets.push({
      from,
      client,
      server,
      sequence: syn ? initial[from] : next[from],
      acknowledged: flags.includes("A") ? next[other(from)] : 0,
      flags,
      data,
      time: time + BigInt(packets.length) * 1000n,
    })
    next[from] = wrapped(next[from] + data.length + Number(flags.includes("F")))
  }
  if (begun) {
    say("client", "S")
    say("server", "SA")
    say("client", "A")
  }
  for (const [from, bytes] of said) {
    for (let at = 0; at < bytes.length; at += segmentBytes) {
      say(from, "A", bytes.subarray(at, at + segmentBytes))
      say(other(from), "A")
    }
  }
  if (closed === "FIN") {
    say("client", "FA")
    say("server", "FA")
    say("client", "A")
  }
  if (closed === "RST") say("client", "RA")
  return packets
}

export const other = (side: Side): Side => (side === "client" ? "server" : "client")

/** Wraps a number to a sequence number, which has 32 bits. */
export const wrapped = (sequence: number): number => sequence >>> 0

export interface Frame {
  /** Undefined only in Simple Packet Blocks. */
  time: bigint | undefined
  bytes: Uint8Array
  /** Bytes on the wire, if a snap length cut the frame. */
  length?: number
  /** The interface, for pcapng. */
  interface?: number
}

/** The supported numbers of https://www.tcpdump.org/linktypes.html. */
export const LINK_TYPES = {
  NULL: 0,
  ETHERNET: 1,
  RAW_12: 12,
  RAW_14: 14,
  RAW: 101,
  LOOP: 108,
  LINUX_SLL: 113,
  IPV4: 228,
  IPV6: 229,
  LINUX_SLL2: 276,
} as const

export interface FrameOptions {
  linkType?: number
  /** EtherTypes of tags before that of IP: 0x8100 is 802.1Q. */
  tags?: readonly number[]
  /** The byte order, for NULL. */
  littleEndian?: boolean
  /** Omits the length, as segmentation offload does. */
  withoutLength?: boolean
  /** Maximum bytes captured of a frame. */
  snapLength?: number
}

export function framesOf(packets: readonly TcpPacket[], options: FrameOptions = {}): Frame[] {
  const { snapLength = Number.POSITIVE_INFINITY } = options
  return packets.map((packet) => {
    const bytes = linkPacket(ipPacket(packet, options), options)
    return { time: packet.time, bytes: bytes.subarray(0, snapLength), length: bytes.length }
  })
}

/** Returns an IP packet with TCP in it. Checksums are 0, as they are when the sending machine captures. */
export function ipPacket(packet: TcpPacket, options: FrameOptions = {}): Uint8Array {
  const { source, destination } =
    packet.from === "client"
      ? { source: packet.client, destination: packet.server }
      : { source: packet.server, destination: packet.client }
  return ipHeader(source, destination, 6, tcpSegment(packet), options)
}

/** Options of TCP that most packets have. */
const TIME_STAMPS = [1, 1, 8, 10]
/** With these options, which take 12 bytes. */
const TCP_HEAD_BYTES = 20 + 12

export function tcpSegment(packet: TcpPacket): Uint8Array {
  const { sequence, acknowledged, flags, data } = packet
  const segment = new Uint8Array(TCP_HEAD_BYTES + data.length)
  const view = new DataView(segment.buffer)
  view.setUint16(0, portOf(packet[packet.from]))
  view.setUint16(2, portOf(packet[other(packet.from)]))
  view.setUint32(4, sequence)
  view.setUint32(8, acknowledged)
  segment[12] = (TCP_HEAD_BYTES / 4) << 4
  for (let i = 0; i < 6; i++) if (flags.includes("FSRPAU"[i]!)) segment[13]! |= 1 << i
  view.setUint16(14, 65535)
  segment.set(TIME_STAMPS, 20)
  segment.set(data, TCP_HEAD_BYTES)
  return segment
}

/** Adds an IPv4 or IPv6 header to a payload. */
export function ipHeader(
  source: string,
  destination: string,
  protocol: number,
  payload: Uint8Array,
  { withoutLength = false }: FrameOptions = {},
): Uint8Array {
  const [from, to] = [addressBytes(source), addressBytes(destination)]
  const v4 = from.length === 4
  const headBytes = v4 ? 12 : 8
  const packet = new Uint8Array(headBytes + 2 * from.length + payload.length)
  const view = new DataView(packet.buffer)
  if (v4) {
    packet[0] = 0x45
    view.setUint16(2, withoutLength ? 0 : 20 + payload.length)
    packet[8] = 64
    packet[9] = protocol
  } else {
    packet[0] = 0x60
    view.setUint16(4, withoutLength ? 0 : payload.length)
    packet[6] = protocol
    packet[7] = 64
  }
  packet.set(from, headBytes)
  packet.set(to, headBytes + from.length)
  packet.set(payload, headBytes + 2 * from.length)
  return packet
}

/** Splits an IP packet into fragments with `payloadBytes` of payload each, which is a multiple of 8. */
export function ipFragments(packet: Uint8Array, payloadBytes: number, id = 1): Uint8Array[] {
  const v4 = packet[0] === 0x45
  const headBytes = v4 ? 20 : 40
  const payload = packet.subarray(headBytes)
  const fragments: Uint8Array[] = []
  for (let at = 0; at < payload.length; at += payloadBytes) {
    const bytes = payload.subarray(at, at + payloadBytes)
    const more = at + payloadBytes < payload.length
    const head = packet.slice(0, headBytes)
    const extension = new Uint8Array(v4 ? 0 : 8)
    const view = new DataView(head.buffer)
    if (v4) {
      view.setUint16(2, headBytes + bytes.length)
      view.setUint16(4, id)
      view.setUint16(6, (at / 8) | (more ? 0x2000 : 0))
    } else {
      view.setUint16(4, extension.length + bytes.length)
      extension[0] = packet[6] as number
      head[6] = 44
      new DataView(extension.buffer).setUint16(2, at | Number(more))
      new DataView(extension.buffer).setUint32(4, id)
    }
    fragments.push(concat(head, extension, bytes))
  }
  return fragments
}

const ETHERNET_ADDRESSES = new Uint8Array(12)

/** Adds the header of a link type to an IP packet, and the padding of a short one. */
export function linkPacket(ip: Uint8Array, options: FrameOptions = {}): Uint8Array {
  const { linkType = LINK_TYPES.ETHERNET, tags = [], littleEndian = true } = options
  const etherType = (ip[0] as number) >> 4 === 4 ? 0x0800 : 0x86dd
  // A tag is its number, followed by the EtherType of its content.
  const [outer = etherType, ...inner] = [...tags, etherType]
  const tagged = [...inner.flatMap((type) => [u16(1), u16(type)]), ip]
  switch (linkType) {
    case LINK_TYPES.ETHERNET: {
      const bytes = tagged.reduce((sum, { length }) => sum + length, 14)
      return concat(
        ETHERNET_ADDRESSES,
        u16(outer),
        ...tagged,
        new Uint8Array(Math.max(0, 60 - bytes)),
      )
    }
    case LINK_TYPES.LINUX_SLL:
      return concat(u16(0), u16(1), u16(6), new Uint8Array(8), u16(outer), ...tagged)
    case LINK_TYPES.LINUX_SLL2:
      return concat(u16(outer), u16(0), new Uint8Array(16), ...tagged)
    case LINK_TYPES.NULL:
    case LINK_TYPES.LOOP: {
      const family = new Uint8Array(4)
      family[littleEndian && linkType === LINK_TYPES.NULL ? 0 : 3] = etherType === 0x0800 ? 2 : 30
      return concat(family, ip)
    }
    default:
      return ip
  }
}

export interface PcapOptions {
  linkType?: number
  littleEndian?: boolean
  nanoseconds?: boolean
}

export function pcapFile(frames: readonly Frame[], options: PcapOptions = {}): Uint8Array {
  const { linkType = LINK_TYPES.ETHERNET, littleEndian = true, nanoseconds = false } = options
  const { u16, u32, four } = integers(littleEndian)
  const magic = nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4
  const unit = nanoseconds ? 1n : 1000n
  const second = 1_000_000_000n
  return joined([
    concat(u32(magic), u16(2), u16(4), u32(0), u32(0), u32(262144), u32(linkType)),
    ...frames.flatMap(({ time = 0n, bytes, length = bytes.length }) => [
      four(Number(time / second), Number((time % second) / unit), bytes.length, length),
      bytes,
    ]),
  ])
}

const PCAP_HEAD_BYTES = 24
const RECORD_HEAD_BYTES = 16
/** The place of the client's address in a frame of each side. */
const ADDRESSES = { client: 14 + 12, server: 14 + 16 }

/**
 * Returns the records of these packets in a .pcap, in Ethernet and IPv4, as often as `count` says: each time
 * the client has another address, from 10.0.0.0 on. Faster than making all packets.
 */
export function* fromClients(
  count: number,
  packets: readonly TcpPacket[],
  options: Pick<FrameOptions, "withoutLength"> = {},
): Generator<Uint8Array> {
  const frames = framesOf(packets, options)
  const records = pcapFile(frames).subarray(PCAP_HEAD_BYTES)
  const addresses: number[] = []
  let at = RECORD_HEAD_BYTES
  for (const [i, { bytes }] of frames.entries()) {
    addresses.push(at + ADDRESSES[packets[i]!.from])
    at += bytes.length + RECORD_HEAD_BYTES
  }
  for (let i = 0; i < count; i++) {
    const copy = records.slice()
    for (const address of addresses) copy.set([10, i >> 16, (i >> 8) & 255, i & 255], address)
    yield copy
  }
}

export interface PcapngOptions {
  /** The link type of each interface. */
  linkTypes?: readonly number[]
  littleEndian?: boolean
  /** if_tsresol as in the file: 6 is microseconds; the highest bit selects powers of 2. */
  resolution?: number
  /** if_tsoffset. */
  offsetSeconds?: bigint
  snapLength?: number
  block?: "enhanced" | "simple" | "obsolete"
}

/** Returns a file, or one section of it. */
export function pcapngFile(frames: readonly Frame[], options: PcapngOptions = {}): Uint8Array {
  const { linkTypes = [LINK_TYPES.ETHERNET], littleEndian = true, snapLength = 0 } = options
  const { block: kind = "enhanced", resolution, offsetSeconds = 0n } = options
  const { u16, u32, u64 } = integers(littleEndian)
  const block = (type: number, ...fields: Uint8Array[]) =>
    pcapngBlock(type, concat(...fields), littleEndian)
  const option = (code: number, value: Uint8Array) =>
    concat(u16(code), u16(value.length), padded(value))
  const unknownLength = new Uint8Array(8).fill(0xff)
  const interfaces = new Map(
    [...new Set(linkTypes)].map((linkType) => [
      linkType,
      block(
        1,
        concat(u16(linkType), u16(0), u32(snapLength)),
        option(2, Buffer.from("interface")),
        resolution === undefined ? new Uint8Array(0) : option(9, Uint8Array.of(resolution)),
        offsetSeconds === 0n ? new Uint8Array(0) : option(14, u64(offsetSeconds)),
        option(0, new Uint8Array(0)),
      ),
    ]),
  )
  return joined([
    block(0x0a0d0d0a, u32(0x1a2b3c4d), u16(1), u16(0), unknownLength),
    ...linkTypes.map((linkType) => interfaces.get(linkType)!),
    ...frames.map(({ time = 0n, bytes, length = bytes.length, interface: id = 0 }) => {
      const units = unitsPerSecond(resolution ?? 6)
      const stamp = ((time - offsetSeconds * 1_000_000_000n) * units) / 1_000_000_000n
      const high = u32(Number(BigInt.asUintN(32, stamp >> 32n)))
      const low = u32(Number(BigInt.asUintN(32, stamp)))
      const lengths = concat(u32(bytes.length), u32(length))
      if (kind === "simple") return block(3, u32(length), padded(bytes))
      if (kind === "obsolete")
        return block(2, u16(id), u16(0xffff), high, low, lengths, padded(bytes))
      return block(6, u32(id), high, low, lengths, padded(bytes))
    }),
  ])
}

export function pcapngBlock(type: number, body: Uint8Array, littleEndian = true): Uint8Array {
  const { u32 } = integers(littleEndian)
  const length = u32(12 + body.length)
  return concat(u32(type), length, body, length)
}

function unitsPerSecond(resolution: number): bigint {
  return (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f)
}

function padded(bytes: Uint8Array): Uint8Array {
  return concat(bytes, new Uint8Array(-bytes.length & 3))
}

/** Writes integers in a byte order. */
function integers(littleEndian: boolean) {
  const written = (bytes: number, write: (view: DataView) => void) => {
    const target = new Uint8Array(bytes)
    write(new DataView(target.buffer))
    return target
  }
  return {
    u16: (value: number) => written(2, (view) => view.setUint16(0, value, littleEndian)),
    u32: (value: number) => written(4, (view) => view.setUint32(0, value, littleEndian)),
    four: (a: number, b: number, c: number, d: number) =>
      written(16, (view) => {
        view.setUint32(0, a, littleEndian)
        view.setUint32(4, b, littleEndian)
        view.setUint32(8, c, littleEndian)
        view.setUint32(12, d, littleEndian)
      }),
    u64: (value: bigint) => written(8, (view) => view.setBigUint64(0, value, littleEndian)),
  }
}

const { u16 } = integers(false)

const portOf = (endpoint: string): number => Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))

const known = new Map<string, Uint8Array>()

/** Returns the bytes of the address, which most packets share with others. */
function addressBytes(endpoint: string): Uint8Array {
  const bytes = known.get(endpoint) ?? parsedAddress(endpoint)
  known.set(endpoint, bytes)
  return bytes
}

function parsedAddress(endpoint: string): Uint8Array {
  const address = endpoint.slice(0, endpoint.lastIndexOf(":"))
  if (!address.startsWith("[")) return Uint8Array.from(address.split("."), Number)
  const [front = [], back = []] = address
    .slice(1, -1)
    .split("::")
    .map((words) => words.split(":").filter(Boolean))
  const zeros = Array<string>(8 - front.length - back.length).fill("0")
  return concat(...[...front, ...zeros, ...back].map((word) => u16(Number.parseInt(word, 16))))
}
