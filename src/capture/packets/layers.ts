import type { Packet } from "./file-format.js"
import { type IpPayload, ipPayload, isExtension, u16 } from "./ip.js"
import { TCP } from "./segment.js"
import { linkTypeName, nameOfEtherType, nameOfProtocol, nameOfUdp } from "./unread.js"

/** Takes what is found in the layers of packets. `bytes` begin where those of the packet do. */
export interface Found {
  /** TCP, or a fragment of a packet that may have TCP in it. */
  ip(bytes: Uint8Array, ip: IpPayload): void
  /** The place of a checksum of a tunnel, which covers what is inside. */
  checksum?(at: number): void
  /** A packet that is not read: what it is. */
  unread(what: string): void
}

const IPV4 = 0x0800
const IPV6 = 0x86dd
/** 802.1Q, 802.1ad and its predecessor. */
const TAGS = new Set([0x8100, 0x88a8, 0x9100])
const ETHERNET = 0x6558
const MPLS = 0x8847
const MPLS_MULTICAST = 0x8848
const PPPOE_SESSION = 0x8864
const ERSPAN = 0x88be
const ERSPAN_3 = 0x22eb

const IPV4_IN_IP = 4
const UDP = 17
const IPV6_IN_IP = 41
const GRE = 47
const MPLS_IN_IP = 137

const ETHERNET_BYTES = 14
const UDP_BYTES = 8
const UDP_CHECKSUM = 6

/** AF_INET, and the values of AF_INET6 on Linux, Windows, and the BSDs. */
const FAMILIES_OF_IP = new Set([2, 10, 23, 24, 28, 30])

/** Tunnels in tunnels that are read. More are an attack, or a loop. */
const MAX_TUNNELS = 8

/**
 * Reads the layers of packets up to TCP, through tunnels. An inner packet never has more bytes than
 * the packet around it. Tunnels do not distinguish connections: the same packet may be recorded
 * both inside and outside of one.
 */
export class Layers {
  readonly #found: Found
  /** The bytes of the current packet, up to the end of what the innermost tunnel contains. */
  #bytes: Uint8Array = new Uint8Array(0)
  #tunnels = 0

  constructor(found: Found) {
    this.#found = found
  }

  /**
   * Reads a packet. Returns false if its link type is not known: see
   * https://www.tcpdump.org/linktypes.html.
   */
  read({ linkType, bytes, length: end }: Packet): boolean {
    this.#bytes = bytes
    this.#tunnels = 0
    switch (linkType) {
      case 1:
        this.#ethernet(0, end)
        return true
      case 113: // Linux cooked capture
        this.#etherType(u16(bytes, 14), 16, end)
        return true
      case 276: // Linux cooked capture, version 2
        this.#etherType(u16(bytes, 0), 20, end)
        return true
      case 0: // BSD loopback
      case 108:
        this.#loopback(end)
        return true
      case 12: // Raw IP, on various systems
      case 14:
      case 101:
      case 228:
      case 229:
        this.#ip(0, end)
        return true
      default:
        this.#found.unread(`link type ${linkTypeName(linkType)}`)
        return false
    }
  }

  /** The family is below 256, in the byte order of the capturing machine or of the network. */
  #loopback(end: number): void {
    const family = (this.#bytes[0] as number) | (this.#bytes[3] as number)
    if (FAMILIES_OF_IP.has(family)) this.#ip(4, end)
    else this.#found.unread(`address family ${family}`)
  }

  #ethernet(at: number, end: number): void {
    if (this.#has("Ethernet", at, ETHERNET_BYTES))
      this.#etherType(u16(this.#bytes, at + 12), at + ETHERNET_BYTES, end)
  }

  #etherType(first: number, start: number, end: number): void {
    let etherType = first
    let at = start
    // Each tag has the next EtherType.
    while (TAGS.has(etherType) && at + 4 <= this.#bytes.length) {
      etherType = u16(this.#bytes, at + 2)
      at += 4
    }
    if (etherType === IPV4 || etherType === IPV6) this.#ip(at, end)
    else if (etherType === MPLS || etherType === MPLS_MULTICAST) this.#mpls(at, end)
    else if (etherType === PPPOE_SESSION) this.#pppoe(at, end)
    else if (etherType === ETHERNET) this.#inside(ETHERNET, at, end)
    else this.#found.unread(nameOfEtherType(etherType))
  }

  #ip(at: number, packetEnd: number): void {
    const ip = ipPayload(this.#bytes, at, packetEnd)
    if (!ip) this.#damaged("IP")
    else if (ip.protocol === TCP || (ip.fragment && isExtension(ip.protocol)))
      this.#found.ip(this.#bytes, ip)
    else if (ip.fragment) this.#found.unread(`fragments of ${nameOfProtocol(ip.protocol)}`)
    else this.#ipPayload(ip.protocol, ip.start, ip.end)
  }

  #ipPayload(protocol: number, start: number, end: number): void {
    if (protocol === UDP) this.#udp(start, end)
    else if (protocol === GRE) this.#gre(start, end)
    else if (protocol === MPLS_IN_IP) this.#mpls(start, end)
    else if (protocol === IPV4_IN_IP || protocol === IPV6_IN_IP) this.#inside(IPV4, start, end)
    else this.#found.unread(nameOfProtocol(protocol))
  }

  #udp(at: number, ipEnd: number): void {
    if (!this.#has("UDP", at, UDP_BYTES)) return
    const port = u16(this.#bytes, at + 2)
    const start = at + UDP_BYTES
    // The length is 0 in packets that are longer than it can say.
    const length = u16(this.#bytes, at + 4)
    const end = length === 0 ? ipEnd : at + length
    if (port !== 4789 && port !== 8472 && port !== 6081) {
      this.#found.unread(nameOfUdp(u16(this.#bytes, at), port))
    } else if (end > ipEnd) {
      this.#damaged("UDP")
    } else {
      this.#found.checksum?.(at + UDP_CHECKSUM)
      if (port === 6081) this.#geneve(start, end)
      else this.#vxlan(start, end)
    }
  }

  /** VXLAN (RFC 7348): a bit says that there is a network identifier. */
  #vxlan(at: number, end: number): void {
    if (!this.#has("VXLAN", at, 8)) return
    if ((this.#bytes[at] as number) & 0x08) this.#inside(ETHERNET, at + 8, end)
    else this.#damaged("VXLAN")
  }

  /** Geneve (RFC 8926): version and length of the options, EtherType, network identifier. */
  #geneve(at: number, end: number): void {
    if (!this.#has("Geneve", at, 8)) return
    const first = this.#bytes[at] as number
    if (first >> 6 === 0) this.#inside(u16(this.#bytes, at + 2), at + 8 + (first & 0x3f) * 4, end)
    else this.#damaged("Geneve")
  }

  /** GRE: RFC 2784, with the key and sequence number of RFC 2890. */
  #gre(at: number, end: number): void {
    if (!this.#has("GRE", at, 4)) return
    const flags = u16(this.#bytes, at)
    const type = u16(this.#bytes, at + 2)
    const [checksum, key, sequence] = [flags & 0x8000, flags & 0x2000, flags & 0x1000]
    const start = at + 4 + (checksum ? 4 : 0) + (key ? 4 : 0) + (sequence ? 4 : 0)
    if (checksum) this.#found.checksum?.(at + 4)
    if ((flags & 7) === 1) this.#found.unread("GRE version 1 (PPTP)")
    else if (flags & 0x4007) this.#found.unread("GRE with routing, or of another version")
    // ERSPAN I has no header of its own, and GRE's without a sequence number.
    else if (type === ERSPAN && !sequence) this.#inside(ETHERNET, start, end)
    else if (type === ERSPAN) this.#erspan2(start, end)
    else if (type === ERSPAN_3) this.#erspan3(start, end)
    else this.#inside(type, start, end)
  }

  /** ERSPAN II (draft-foschiano-erspan), whose version is 1. */
  #erspan2(at: number, end: number): void {
    if (!this.#has("ERSPAN II", at, 8)) return
    if ((this.#bytes[at] as number) >> 4 === 1) this.#inside(ETHERNET, at + 8, end)
    else this.#damaged("ERSPAN II")
  }

  /** ERSPAN III, whose version is 2: with the type of the frame, and whether 8 more bytes follow. */
  #erspan3(at: number, end: number): void {
    if (!this.#has("ERSPAN III", at, 12)) return
    const frameType = ((this.#bytes[at + 10] as number) >> 2) & 0x1f
    const start = at + 12 + ((this.#bytes[at + 11] as number) & 1 ? 8 : 0)
    if ((this.#bytes[at] as number) >> 4 !== 2) this.#damaged("ERSPAN III")
    else if (frameType === 0) this.#inside(ETHERNET, start, end)
    else if (frameType === 2) this.#inside(IPV4, start, end)
    else this.#found.unread(`ERSPAN III with frames of type ${frameType}`)
  }

  /** MPLS (RFC 3032), which does not say what is inside: IP, or a pseudowire of Ethernet (RFC 4448). */
  #mpls(start: number, end: number): void {
    let at = start
    let isLast = false
    while (!isLast) {
      if (!this.#has("MPLS", at, 4)) return
      isLast = ((this.#bytes[at + 2] as number) & 1) === 1
      at += 4
    }
    if (!this.#enter(at, end)) return
    if (this.#looksLikeIp(at, end)) this.#ip(at, end)
    // The control word of a pseudowire begins with four zeros.
    else if ((this.#bytes[at] as number) >> 4 === 0) this.#ethernet(at + 4, end)
    else this.#ethernet(at, end)
  }

  /** Returns whether this is a whole IP packet. An address of Ethernet may begin with the same digit. */
  #looksLikeIp(at: number, end: number): boolean {
    const ip = ipPayload(this.#bytes, at, end)
    return ip !== undefined && ip.start <= ip.end && ip.end <= end
  }

  /** PPPoE: RFC 2516. */
  #pppoe(at: number, end: number): void {
    if (!this.#has("PPPoE", at, 8)) return
    const innerEnd = at + 6 + u16(this.#bytes, at + 4)
    const protocol = u16(this.#bytes, at + 6)
    if (u16(this.#bytes, at) !== 0x1100 || innerEnd > end) this.#damaged("PPPoE")
    else if (protocol === 0x0021 || protocol === 0x0057) this.#inside(IPV4, at + 8, innerEnd)
    else if (protocol === 0x0281) this.#mpls(at + 8, innerEnd)
    else this.#found.unread(`PPP protocol 0x${protocol.toString(16).padStart(4, "0")}`)
  }

  #inside(etherType: number, at: number, end: number): void {
    if (!this.#enter(at, end)) return
    if (etherType === ETHERNET) this.#ethernet(at, end)
    else this.#etherType(etherType, at, end)
  }

  /** Returns whether the inside of a tunnel is to be read, and hides the bytes that are behind it. */
  #enter(at: number, end: number): boolean {
    if (++this.#tunnels > MAX_TUNNELS) {
      this.#found.unread(`more than ${MAX_TUNNELS} tunnels in one another`)
      return false
    }
    if (at > end || at > this.#bytes.length) {
      this.#damaged("a tunnel")
      return false
    }
    this.#bytes = this.#bytes.subarray(0, end)
    return true
  }

  /** Returns whether a header of this size was captured. */
  #has(name: string, at: number, bytes: number): boolean {
    if (at + bytes <= this.#bytes.length) return true
    this.#damaged(name)
    return false
  }

  #damaged(name: string): void {
    this.#found.unread(`${name}, cut off or damaged`)
  }
}
