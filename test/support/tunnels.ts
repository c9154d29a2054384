/** Puts IP packets into tunnels, as frames of Ethernet. */
import { ipHeader, linkPacket } from "./capture-files.js"
import { concat } from "./wire.js"

const u16 = (value: number): Uint8Array => Uint8Array.of(value >> 8, value & 255)
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const etherTypeOf = (ip: Uint8Array): number => ((ip[0] as number) >> 4 === 4 ? 0x0800 : 0x86dd)

const V4 = ["192.0.2.1:0", "192.0.2.2:0"] as const
const V6 = ["[2001:db8::1]:0", "[2001:db8::2]:0"] as const

const overV4 = (protocol: number, payload: Uint8Array) => ipHeader(...V4, protocol, payload)
const overV6 = (protocol: number, payload: Uint8Array) => ipHeader(...V6, protocol, payload)

/** A frame of Ethernet, padded to the shortest one. */
export const ethernet = (etherType: number, payload: Uint8Array): Uint8Array =>
  concat(
    bytes(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1),
    u16(etherType),
    payload,
    new Uint8Array(Math.max(0, 46 - payload.length)),
  )
const framed = (ip: Uint8Array) => ethernet(etherTypeOf(ip), ip)

export const udp = (port: number, payload: Uint8Array, from = 40_000): Uint8Array =>
  concat(u16(from), u16(port), u16(8 + payload.length), bytes(0xab, 0xcd), payload)

const vxlan = (ip: Uint8Array) => concat(bytes(8, 0, 0, 0, 0, 0, 42, 0), framed(ip))
const geneve = (etherType: number, payload: Uint8Array, options: Uint8Array = new Uint8Array(0)) =>
  concat(bytes(options.length / 4, 0), u16(etherType), bytes(0, 0, 42, 0), options, payload)
const OPTION = bytes(1, 2, 3, 1, 9, 9, 9, 9)

const gre = (flags: number, etherType: number, fields: Uint8Array, payload: Uint8Array) =>
  concat(u16(flags), u16(etherType), fields, payload)
const KEY = bytes(0, 0, 0, 7)
const SEQUENCE = bytes(0, 0, 0, 1)
const CHECKSUM = bytes(0xab, 0xcd, 0, 0)
const erspan2 = (frame: Uint8Array) => concat(bytes(0x10, 1, 0, 100, 0, 0, 0, 5), frame)
const erspan3 = (frame: Uint8Array, type: number, more: Uint8Array): Uint8Array =>
  concat(bytes(0x20, 1, 0, 100, 1, 2, 3, 4, 0, 0, type << 2, more.length > 0 ? 1 : 0), more, frame)

const label = (value: number, isLast: boolean) =>
  bytes(value >> 12, (value >> 4) & 255, ((value & 15) << 4) | Number(isLast), 64)
/** The label of a pseudowire, which a reader such as tshark has to be told. */
export const PSEUDOWIRE = 200
const pppoe = (protocol: number, payload: Uint8Array) =>
  ethernet(0x8864, concat(bytes(0x11, 0, 0, 9), u16(2 + payload.length), u16(protocol), payload))

/** Returns the frame in which a packet travels, by the name of the tunnel. */
export const TUNNELS: Readonly<Record<string, (ip: Uint8Array) => Uint8Array>> = {
  "VXLAN, port 4789": (ip) => linkPacket(overV4(17, udp(4789, vxlan(ip)))),
  "VXLAN, port 8472": (ip) => linkPacket(overV4(17, udp(8472, vxlan(ip)))),
  "VXLAN over IPv6": (ip) => linkPacket(overV6(17, udp(4789, vxlan(ip)))),
  "Geneve with Ethernet": (ip) => linkPacket(overV4(17, udp(6081, geneve(0x6558, framed(ip))))),
  "Geneve with options": (ip) =>
    linkPacket(overV6(17, udp(6081, geneve(0x6558, framed(ip), OPTION)))),
  "Geneve with IP": (ip) => linkPacket(overV4(17, udp(6081, geneve(etherTypeOf(ip), ip)))),
  GRE: (ip) => linkPacket(overV4(47, gre(0, etherTypeOf(ip), bytes(), ip))),
  "GRE over IPv6": (ip) => linkPacket(overV6(47, gre(0, etherTypeOf(ip), bytes(), ip))),
  "GRE with a key": (ip) => linkPacket(overV4(47, gre(0x2000, etherTypeOf(ip), KEY, ip))),
  "GRE with a key and a sequence number": (ip) =>
    linkPacket(overV4(47, gre(0x3000, etherTypeOf(ip), concat(KEY, SEQUENCE), ip))),
  "GRE with all fields": (ip) =>
    linkPacket(overV4(47, gre(0xb000, etherTypeOf(ip), concat(CHECKSUM, KEY, SEQUENCE), ip))),
  "GRE with Ethernet": (ip) => linkPacket(overV4(47, gre(0x2000, 0x6558, KEY, framed(ip)))),
  "ERSPAN I": (ip) => linkPacket(overV4(47, gre(0, 0x88be, bytes(), framed(ip)))),
  "ERSPAN II": (ip) => linkPacket(overV4(47, gre(0x1000, 0x88be, SEQUENCE, erspan2(framed(ip))))),
  "ERSPAN III": (ip) =>
    linkPacket(overV4(47, gre(0x1000, 0x22eb, SEQUENCE, erspan3(framed(ip), 0, bytes())))),
  "ERSPAN III with a platform's header": (ip) =>
    linkPacket(
      overV4(47, gre(0x1000, 0x22eb, SEQUENCE, erspan3(framed(ip), 0, new Uint8Array(8)))),
    ),
  "IP in IPv4": (ip) => linkPacket(overV4(etherTypeOf(ip) === 0x0800 ? 4 : 41, ip)),
  "IP in IPv6": (ip) => linkPacket(overV6(etherTypeOf(ip) === 0x0800 ? 4 : 41, ip)),
  MPLS: (ip) => ethernet(0x8847, concat(label(100, true), ip)),
  "MPLS with labels": (ip) =>
    ethernet(0x8847, concat(label(100, false), label(70_000, false), label(16, true), ip)),
  "MPLS with a pseudowire": (ip) =>
    ethernet(0x8847, concat(label(PSEUDOWIRE, true), new Uint8Array(4), framed(ip))),
  "MPLS in IP": (ip) => linkPacket(overV4(137, concat(label(100, true), ip))),
  PPPoE: (ip) => pppoe(etherTypeOf(ip) === 0x0800 ? 0x0021 : 0x0057, ip),
  "PPPoE with MPLS": (ip) => pppoe(0x0281, concat(label(100, true), ip)),
  "VXLAN in GRE": (ip) =>
    linkPacket(overV4(47, gre(0, 0x0800, bytes(), overV4(17, udp(4789, vxlan(ip)))))),
}

/** Returns a packet in so many tunnels of IP in IP. */
export function nested(ip: Uint8Array, tunnels: number): Uint8Array {
  let packet = ip
  for (let i = 0; i < tunnels; i++) packet = overV4(4, packet)
  return packet
}
