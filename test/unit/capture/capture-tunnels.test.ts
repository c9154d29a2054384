/** Connections in tunnels, and packets that are not read. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { decodeCapture } from "zeromq-lz4/capture"

import { withoutSecrets } from "../../../src/capture/without-secrets.js"
import {
  conversation,
  type Frame,
  ipFragments,
  ipHeader,
  ipPacket,
  linkPacket,
  pcapFile,
  START,
} from "../../support/capture-files.js"
import { record, saidBy, textBy } from "../../support/recorded-streams.js"
import { ethernet, nested, TUNNELS, udp } from "../../support/tunnels.js"
import { concat } from "../../support/wire.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const said = [
  ["client", ascii("hello ".repeat(20))],
  ["server", ascii("world")],
] as const
const ENDS = [{}, { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }]
const talk = (ends = {}) => conversation(said, { ...ends, closed: "FIN" })

const framesIn = (wrap: (ip: Uint8Array) => Uint8Array, ends = {}): Frame[] =>
  talk(ends).map((packet) => ({ time: packet.time, bytes: wrap(ipPacket(packet)) }))

const unreadIn = (...frames: Uint8Array[]) => {
  const file = pcapFile(frames.map((bytes) => ({ time: START, bytes })))
  return Object.fromEntries(record(file).unread)
}

describe("tunnels are read", () => {
  test.each(Object.keys(TUNNELS).flatMap((name) => ENDS.map((ends) => ({ name, ends }))))(
    "$name: $ends",
    ({ name, ends }) => {
      const { connections, errors, unread } = record(pcapFile(framesIn(TUNNELS[name]!, ends)))
      expect(errors).toEqual([])
      expect([...unread]).toEqual([])
      expect(connections).toMatchObject([{ client: "127.0.0.1:40000", begun: true, ...ends }])
      expect(textBy(connections[0]!, "client")).toEqual([`"${"hello ".repeat(20)}"`, "end"])
      expect(textBy(connections[0]!, "server")).toEqual(['"world"', "end"])
    },
  )

  test.each(Object.keys(TUNNELS))(
    "%s, cut off anywhere: nothing is taken for data that is not",
    (name) => {
      const [, , , { time, bytes } = { time: START, bytes: new Uint8Array(0) }] = framesIn(
        TUNNELS[name]!,
      )
      for (let length = 0; length < bytes.length; length++) {
        // Cut by a snap length, and in a packet that is as short as what is left of it.
        for (const frame of [
          { time, bytes: bytes.slice(0, length), length: bytes.length },
          { time, bytes: bytes.slice(0, length) },
        ]) {
          const { connections, errors } = record(pcapFile([frame]))
          expect(errors).toEqual([])
          const [data = ""] = connections.flatMap((connection) => saidBy(connection, "client"))
          if (data instanceof Uint8Array)
            expect("hello ".repeat(20)).toContain(Buffer.from(data).toString("latin1"))
        }
      }
    },
  )

  test("up to 8 in one another", () => {
    const framesOf = (tunnels: number) => framesIn((ip) => linkPacket(nested(ip, tunnels)))
    expect(record(pcapFile(framesOf(8))).connections).toHaveLength(1)
    const { connections, unread } = record(pcapFile(framesOf(9)))
    expect(connections).toEqual([])
    expect([...unread]).toEqual([["more than 8 tunnels in one another", talk().length]])
  })

  test("what an inner packet claims beyond the outer one is missing, and what is behind that is not data", () => {
    const [packet] = talk().slice(3)
    const inner = ipPacket(packet!)
    const cut = inner.subarray(0, inner.length - 100)
    const frame = concat(linkPacket(ipHeader("10.1.1.1:0", "10.1.1.2:0", 4, cut)), ascii("behind"))
    const { connections } = record(pcapFile([{ time: START, bytes: frame }]))
    expect(textBy(connections[0]!, "client")).toEqual(['"hello hello hello he"', 100, "cut"])
  })

  test("fragments of what is inside are reassembled", () => {
    const frames = talk().flatMap((packet, id) =>
      ipFragments(ipPacket(packet), 64, id).map((ip) => ({
        time: packet.time,
        bytes: TUNNELS["VXLAN, port 4789"]!(ip),
      })),
    )
    const { connections, errors } = record(pcapFile(frames))
    expect(errors).toEqual([])
    expect(textBy(connections[0]!, "client")).toEqual([`"${"hello ".repeat(20)}"`, "end"])
  })

  test.each(["vxlan-4789", "vxlan-8472", "vxlan-ipv6"])(
    "recorded from the kernel's device: %s",
    (name) => {
      const file = new Uint8Array(gunzipSync(readFileSync(`test/recorded/${name}.pcap.gz`)))
      const { connections, errors, unread } = decodeCapture(file)
      expect(errors).toEqual([])
      expect(connections).toHaveLength(1)
      const [{ server, transport, messages, errors: problems }] = connections as [
        (typeof connections)[0],
      ]
      expect({ server, transport, problems }).toEqual({
        server: "10.0.0.2:5555",
        transport: "lz4+tcp",
        problems: [],
      })
      const texts = messages
        .filter(({ parts }) => parts[0]?.kind !== "LZ4D")
        .map(({ parts }) => Buffer.from(parts[0]!.plain!).toString())
      expect(texts).toEqual(Array.from({ length: 20 }, (_, i) => `order ${i}`))
      expect(unread.get("ARP (EtherType 0x0806)")).toBeGreaterThan(0)
    },
  )
})

describe("what is not read is counted and named", () => {
  const v4 = (protocol: number, payload: Uint8Array) =>
    linkPacket(ipHeader("10.0.0.1:0", "10.0.0.2:0", protocol, payload))
  const empty = new Uint8Array(20)

  test.each([
    ["ARP (EtherType 0x0806)", ethernet(0x0806, empty)],
    ["EtherType 0x1234", ethernet(0x1234, empty)],
    ["IEEE 802.3 without an EtherType", ethernet(100, empty)],
    ["ICMP (IP protocol 1)", v4(1, empty)],
    ["ESP, encrypted (IP protocol 50)", v4(50, empty)],
    ["IP protocol 200", v4(200, empty)],
    ["UDP (IP protocol 17)", v4(17, udp(53, empty))],
    ["WireGuard (UDP port 51820)", v4(17, udp(51_820, empty))],
    ["GTP-U (UDP port 2152)", v4(17, udp(9999, empty, 2152))],
    ["GRE version 1 (PPTP)", v4(47, concat(Uint8Array.of(0x30, 1, 0x88, 0x0b), empty))],
    ["GRE with routing, or of another version", v4(47, Uint8Array.of(0x40, 0, 8, 0, 0, 0))],
    ["VXLAN, cut off or damaged", v4(17, udp(4789, empty))],
    ["Geneve, cut off or damaged", v4(17, udp(6081, Uint8Array.of(0xc0, 0, 8, 0, 0, 0, 0, 0)))],
    ["PPP protocol 0xc021", ethernet(0x8864, Uint8Array.of(0x11, 0, 0, 9, 0, 4, 0xc0, 0x21, 1, 1))],
    ["PPPoE, cut off or damaged", ethernet(0x8864, Uint8Array.of(0x11, 0, 0, 9, 9, 9, 0, 0x21))],
    ["IP, cut off or damaged", ethernet(0x0800, empty)],
    ["TCP, cut off or damaged", v4(6, Uint8Array.of(1, 2, 3))],
    [
      "fragments of UDP (IP protocol 17)",
      linkPacket(ipFragments(v4(17, udp(4789, new Uint8Array(64))).slice(14), 32)[0]!),
    ],
  ] as const)("%s", (name, frame) => {
    expect(unreadIn(frame, frame)).toEqual({ [name]: 2 })
  })

  test("what is not read is counted in up to 1000 kinds", () => {
    const frames = Array.from({ length: 1500 }, (_, i) => ethernet(0x2000 + i, empty))
    const unread = unreadIn(...frames)
    expect(Object.keys(unread)).toHaveLength(1000)
    expect(unread.others).toBe(501)
  })
})

test("passwords in tunnels are hidden, and the checksums of the tunnels cleared", () => {
  const hello = (password: string) => {
    const body = concat(ascii("\x05HELLO\x04user"), Uint8Array.of(password.length), ascii(password))
    return concat(Uint8Array.of(4, body.length), body)
  }
  const greeting = new Uint8Array(64)
  greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1])
  greeting.set(ascii("PLAIN"), 12)
  for (const [name, wrap] of Object.entries(TUNNELS)) {
    const packets = conversation([
      ["client", greeting],
      ["client", hello("correct horse")],
    ])
    const frames = packets.map((packet) => ({
      time: packet.time,
      bytes: wrap(ipPacket(packet)),
    }))
    const hidden = Buffer.from(withoutSecrets([pcapFile(frames)])[0]!)
    expect(hidden.includes("correct horse"), name).toBe(false)
    const secret = hidden.indexOf("user\x0d*************")
    expect(secret, name).toBeGreaterThan(0)
    // The generator's checksums are 0xabcd: other packets have them still.
    const record = hidden.subarray(
      hidden.lastIndexOf(Buffer.from([2, 0, 0, 0, 0, 2]), secret),
      secret,
    )
    expect(record.includes(Buffer.from([0xab, 0xcd])), name).toBe(false)
  }
})
