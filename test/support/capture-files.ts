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

export function tcpSegment(packet: TcpPacket): Uint8Array {
  const { sequence, acknowledged, flags, data } = packet
  const ports = { client: portOf(packet.client), server: portOf(packet.server) }
  // Time stamps, which most packets have: 12 bytes of options.
  const options = Uint8Array.of(1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0)
  const head = new Uint8Array(20)
  const view = new DataView(head.buffer)
  view.setUint16(0, ports[packet.from])
  view.setUint16(2, ports[other(packet.from)])
  view.setUint32(4, sequence)
  view.setUint32(8, acknowledged)
  head[12] = ((head.length + options.length) / 4) << 4
  head[13] = [..."FSRPAU"].reduce((bits, flag, i) => bits | (Number(flags.includes(flag)) << i), 0)
  view.setUint16(14, 65535)
  return concat(head, options, data)
}

/** Adds an IPv4 or IPv6 header to a payload. */
export function ipHeader(
  source: string,
  destination: string,
  protocol: number,
  payload: Uint8Array,
  { withoutLength = false }: FrameOptions = {},
): Uint8Array {
  const addresses = concat(addressBytes(source), addressBytes(destination))
  const v4 = addresses.length === 8
  const head = new Uint8Array(v4 ? 12 : 8)
  const view = new DataView(head.buffer)
  if (v4) {
    head[0] = 0x45
    view.setUint16(2, withoutLength ? 0 : 20 + payload.length)
    head.set([64, protocol], 8)
  } else {
    head[0] = 0x60
    view.setUint16(4, withoutLength ? 0 : payload.length)
    head.set([protocol, 64], 6)
  }
  return concat(head, addresses, payload)
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

/** Adds the header of a link type to an IP packet, and the padding of a short one. */
export function linkPacket(ip: Uint8Array, options: FrameOptions = {}): Uint8Array {
  const { linkType = LINK_TYPES.ETHERNET, tags = [], littleEndian = true } = options
  const etherType = (ip[0] as number) >> 4 === 4 ? 0x0800 : 0x86dd
  // A tag is its number, followed by the EtherType of its content.
  const [outer = etherType, ...inner] = [...tags, etherType]
  const tagged = concat(...inner.map((type) => concat(u16(1), u16(type))), ip)
  switch (linkType) {
    case LINK_TYPES.ETHERNET: {
      const frame = concat(new Uint8Array(12), u16(outer), tagged)
      return frame.length < 60 ? concat(frame, new Uint8Array(60 - frame.length)) : frame
    }
    case LINK_TYPES.LINUX_SLL:
      return concat(u16(0), u16(1), u16(6), new Uint8Array(8), u16(outer), tagged)
    case LINK_TYPES.LINUX_SLL2:
      return concat(u16(outer), u16(0), new Uint8Array(16), tagged)
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
  const { u16, u32 } = integers(littleEndian)
  const magic = nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4
  const unit = nanoseconds ? 1n : 1000n
  const second = 1_000_000_000n
  return joined([
    concat(u32(magic), u16(2), u16(4), u32(0), u32(0), u32(262144), u32(linkType)),
    ...frames.map(({ time = 0n, bytes, length = bytes.length }) =>
      concat(
        u32(Number(time / second)),
        u32(Number((time % second) / unit)),
        u32(bytes.length),
        u32(length),
        bytes,
      ),
    ),
  ])
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
  return joined([
    block(0x0a0d0d0a, u32(0x1a2b3c4d), u16(1), u16(0), unknownLength),
    ...linkTypes.map((linkType) =>
      block(
        1,
        concat(u16(linkType), u16(0), u32(snapLength)),
        option(2, Buffer.from("interface")),
        resolution === undefined ? new Uint8Array(0) : option(9, Uint8Array.of(resolution)),
        offsetSeconds === 0n ? new Uint8Array(0) : option(14, u64(offsetSeconds)),
        option(0, new Uint8Array(0)),
      ),
    ),
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
    u64: (value: bigint) => written(8, (view) => view.setBigUint64(0, value, littleEndian)),
  }
}

const { u16 } = integers(false)

const portOf = (endpoint: string): number => Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))

function addressBytes(endpoint: string): Uint8Array {
  const address = endpoint.slice(0, endpoint.lastIndexOf(":"))
  if (!address.startsWith("[")) return Uint8Array.from(address.split("."), Number)
  const [front = [], back = []] = address
    .slice(1, -1)
    .split("::")
    .map((words) => words.split(":").filter(Boolean))
  const zeros = Array<string>(8 - front.length - back.length).fill("0")
  return concat(...[...front, ...zeros, ...back].map((word) => u16(Number.parseInt(word, 16))))
}
