import { u16 } from "./ip.js"

/**
 * Returns the start of the IP header in a packet of one link type; undefined if the packet is not IP.
 * See https://www.tcpdump.org/linktypes.html.
 */
type LinkLayer = (bytes: Uint8Array) => number | undefined

const ETHER_TYPE_IPV4 = 0x0800
const ETHER_TYPE_IPV6 = 0x86dd
/** 802.1Q, 802.1ad and its predecessor. */
const ETHER_TYPES_OF_TAGS = new Set([0x8100, 0x88a8, 0x9100])

/** AF_INET, and the values of AF_INET6 on Linux, Windows, and the BSDs. */
const FAMILIES_OF_IP = new Set([2, 10, 23, 24, 28, 30])

/**
 * Returns the start of the IP header, given the EtherType of the bytes at `at`. Each tag has the
 * next EtherType.
 */
function behindTags(bytes: Uint8Array, etherType: number, at: number): number | undefined {
  while (ETHER_TYPES_OF_TAGS.has(etherType) && at + 4 <= bytes.length) {
    etherType = u16(bytes, at + 2)
    at += 4
  }
  return etherType === ETHER_TYPE_IPV4 || etherType === ETHER_TYPE_IPV6 ? at : undefined
}

const ethernet: LinkLayer = (bytes) => behindTags(bytes, u16(bytes, 12), 14)
const linuxCooked1: LinkLayer = (bytes) => behindTags(bytes, u16(bytes, 14), 16)
const linuxCooked2: LinkLayer = (bytes) => behindTags(bytes, u16(bytes, 0), 20)
/** The family is below 256, in the byte order of the capturing machine or of the network. */
const loopback: LinkLayer = (bytes) =>
  FAMILIES_OF_IP.has((bytes[0] as number) | (bytes[3] as number)) ? 4 : undefined
const rawIp: LinkLayer = () => 0

export const LINK_LAYERS: ReadonlyMap<number, LinkLayer> = new Map([
  [0, loopback],
  [1, ethernet],
  // The numbers of raw IP on various systems.
  [12, rawIp],
  [14, rawIp],
  [101, rawIp],
  [108, loopback],
  [113, linuxCooked1],
  [228, rawIp],
  [229, rawIp],
  [276, linuxCooked2],
])

/** Common types that are not supported, for the error that names them. */
const OTHERS: ReadonlyMap<number, string> = new Map([
  [9, "PPP"],
  [105, "802.11"],
  [127, "802.11 with radiotap"],
  [189, "USB"],
  [220, "USB"],
  [239, "NFLOG"],
  [249, "USB"],
  [253, "Netlink"],
])

export function describeLinkType(linkType: number): string {
  const name = OTHERS.get(linkType)
  return name ? `${linkType} (${name})` : `${linkType}`
}
