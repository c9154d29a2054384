/** Names of what is not read, to be counted. */

const LINK_TYPES: ReadonlyMap<number, string> = new Map([
  [9, "PPP"],
  [105, "802.11"],
  [127, "802.11 with radiotap"],
  [189, "USB"],
  [220, "USB"],
  [239, "NFLOG"],
  [249, "USB"],
  [253, "Netlink"],
])

const ETHER_TYPES: ReadonlyMap<number, string> = new Map([
  [0x0806, "ARP"],
  [0x8863, "PPPoE discovery"],
  [0x880b, "PPP"],
  [0x8809, "LACP"],
  [0x888e, "802.1X"],
  [0x88cc, "LLDP"],
  [0x88e5, "MACsec, encrypted"],
  [0x88e7, "802.1ah"],
  [0x88f7, "PTP"],
  [0x894f, "NSH"],
])
/** Smaller numbers are lengths of IEEE 802.3. */
const ETHER_TYPE_MIN = 0x0600

const PROTOCOLS: ReadonlyMap<number, string> = new Map([
  [1, "ICMP"],
  [2, "IGMP"],
  [4, "IPv4"],
  [17, "UDP"],
  [41, "IPv6"],
  [47, "GRE"],
  [50, "ESP, encrypted"],
  [51, "AH"],
  [58, "ICMPv6"],
  [89, "OSPF"],
  [97, "EtherIP"],
  [103, "PIM"],
  [108, "IPComp"],
  [112, "VRRP"],
  [115, "L2TPv3"],
  [132, "SCTP"],
  [137, "MPLS"],
])

const UDP_TUNNELS: ReadonlyMap<number, string> = new Map([
  [1194, "OpenVPN"],
  [1701, "L2TP"],
  [2152, "GTP-U"],
  [3544, "Teredo"],
  [4500, "IPsec"],
  [4754, "GRE"],
  [4790, "VXLAN-GPE"],
  [5247, "CAPWAP"],
  [6080, "GUE"],
  [6635, "MPLS"],
  [51820, "WireGuard"],
])

const numbered = (kind: string, number: string | number, name: string | undefined): string =>
  name === undefined ? `${kind} ${number}` : `${name} (${kind} ${number})`

export function linkTypeName(linkType: number): string {
  const name = LINK_TYPES.get(linkType)
  return name ? `${linkType} (${name})` : `${linkType}`
}

export function nameOfEtherType(etherType: number): string {
  if (etherType < ETHER_TYPE_MIN) return "IEEE 802.3 without an EtherType"
  const number = `0x${etherType.toString(16).padStart(4, "0")}`
  return numbered("EtherType", number, ETHER_TYPES.get(etherType))
}

export const nameOfProtocol = (protocol: number): string =>
  numbered("IP protocol", protocol, PROTOCOLS.get(protocol))

/** Names the tunnel that uses one of the ports of a packet. */
export function nameOfUdp(source: number, destination: number): string {
  for (const port of [destination, source]) {
    const tunnel = UDP_TUNNELS.get(port)
    if (tunnel) return numbered("UDP port", port, tunnel)
  }
  return nameOfProtocol(17)
}
