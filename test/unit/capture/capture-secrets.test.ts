/** Captures that are passed on without the passwords in them. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { withoutSecrets as withoutSecretsIn } from "../../../src/capture/without-secrets.js"
import {
  conversation,
  type Frame,
  framesOf,
  ipFragments,
  ipPacket,
  LINK_TYPES,
  linkPacket,
  pcapFile,
  pcapngBlock,
  pcapngFile,
  type TcpPacket,
} from "../../support/capture-files.js"
import { eventsOf, linesOf } from "../../support/captures.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, greeting, message, ready } from "../../support/zmtp.js"

const withoutSecrets = (file: Uint8Array): Uint8Array => withoutSecretsIn([file])[0] as Uint8Array
const text = (words: string): Uint8Array => Uint8Array.from(Buffer.from(words, "latin1"))
const short = (words: string) => concat(Uint8Array.of(words.length), text(words))

const hello = (password: string, data = concat(short("admin"), short(password))) =>
  frame(concat(short("HELLO"), data), COMMAND)
const plain = greeting({ mechanism: "PLAIN" })
const welcome = frame(short("WELCOME"), COMMAND)

/** A connection with a password, and messages after it. */
const packetsOf = (said: Uint8Array, segmentBytes = 1448, begun = true): TcpPacket[] =>
  conversation(
    [
      ["server", plain],
      ["client", concat(plain, said)],
      ["server", concat(welcome, ready("PULL"))],
      ["client", concat(ready("PUSH"), message(text("one")), message(text("two")))],
    ],
    { segmentBytes, begun, closed: "FIN" },
  )

/** Returns four bytes that depend on others. */
function sumOf(bytes: Uint8Array): Uint8Array {
  let sum = 1
  for (const byte of bytes) sum = (Math.imul(sum, 31) + byte) >>> 0
  return Uint8Array.of(sum >>> 24, sum >>> 16, sum >>> 8, sum)
}

const IPV4_HEAD = 20
const CHECKSUM = 16

/** Returns an IP packet with a checksum, as other machines receive it. */
function summed(packet: TcpPacket): Uint8Array {
  const bytes = ipPacket(packet)
  bytes.set(sumOf(packet.data).subarray(0, 2), IPV4_HEAD + CHECKSUM)
  return bytes
}

/** Returns frames with checksums of TCP, and with those of Ethernet at their ends. */
const frames = (packets: readonly TcpPacket[]): Frame[] =>
  packets.map((packet) => {
    const bytes = linkPacket(summed(packet))
    return { time: packet.time, bytes: concat(bytes, sumOf(bytes)) }
  })

const files: [what: string, (password: string) => Uint8Array][] = [
  ["whole segments", (password) => pcapFile(frames(packetsOf(hello(password))))],
  ["split segments", (password) => pcapFile(frames(packetsOf(hello(password), 3)))],
  [
    "segments that are sent again, split in another way",
    (password) => {
      const once = packetsOf(hello(password), 7)
      const again = packetsOf(hello(password), 11).filter(({ data }) => data.length > 0)
      return pcapFile(frames([...once.slice(0, -3), ...again, ...once.slice(-3)]))
    },
  ],
  [
    "segments that arrive late, each twice",
    (password) => {
      const packets = packetsOf(hello(password), 5)
      return pcapFile(frames([...packets.slice(0, 3), ...packets.slice(3).reverse(), ...packets]))
    },
  ],
  [
    "a missing segment",
    (password) => {
      const packets = packetsOf(hello(password), 9)
      const lost = packets.findIndex(({ data }) => Buffer.from(data).includes("HEL"))
      return pcapFile(frames(packets.filter((_, i) => i !== lost)))
    },
  ],
  [
    "segments that were cut",
    (password) =>
      pcapFile(framesOf(packetsOf(hello(password)), { snapLength: 14 + 20 + 32 + 64 + 20 })),
  ],
  [
    "a capture that ends in the password",
    (password) => {
      const packets = packetsOf(hello(password), 83)
      const last = packets.findIndex(({ data }) => Buffer.from(data).includes("HELLO"))
      return pcapFile(frames(packets.slice(0, last + 1)))
    },
  ],
  [
    "a file that ends in the password",
    (password) => {
      const file = pcapFile(frames(packetsOf(hello(password))))
      return file.subarray(0, Buffer.from(file).indexOf(password) + 5)
    },
  ],
  [
    "a capture that begins in the password",
    (password) => pcapFile(frames(packetsOf(hello(password), 83, false).slice(4))),
  ],
  [
    "a malformed HELLO",
    (password) => pcapFile(frames(packetsOf(hello("", concat(short(password), text("!!!")))))),
  ],
  [
    "a client that sends it to a server that wants none",
    (password) =>
      pcapFile(
        frames(
          conversation([
            ["client", concat(plain, hello(password))],
            ["server", greeting({ mechanism: "CURVE" })],
          ]),
        ),
      ),
  ],
  [
    "fragments, each twice",
    (password) =>
      pcapFile(
        packetsOf(hello(password)).flatMap((packet, i) => {
          const fragments = ipFragments(summed(packet), 32, i + 1)
          const shifted = ipFragments(summed(packet), 40, i + 1)
          return [...fragments.slice(0, -1), ...shifted, ...fragments.slice(-1)].map((ip) => ({
            time: packet.time,
            bytes: concat(linkPacket(ip), sumOf(ip)),
          }))
        }),
      ),
  ],
  [
    "a .pcapng with hashes of packets, and keys",
    (password) => {
      const options = (bytes: Uint8Array) =>
        concat(Uint8Array.of(3, 0, 5, 0, 2), sumOf(bytes), new Uint8Array(7))
      const u32 = (n: number) => Uint8Array.of(n, n >> 8, n >> 16, n >> 24)
      const blocks = frames(packetsOf(hello(password))).map(({ bytes }) => {
        const length = u32(bytes.length)
        const padding = new Uint8Array(-bytes.length & 3)
        const fields = concat(new Uint8Array(12), length, length, bytes, padding)
        return pcapngBlock(6, concat(fields, options(bytes)))
      })
      const keys = concat(text("TLSK"), u32(password.length), text(password))
      const padding = new Uint8Array(-keys.length & 3)
      return concat(pcapngFile([]), pcapngBlock(10, concat(keys, padding)), ...blocks)
    },
  ],
  [
    "packets of a link type that is not read",
    (password) => pcapFile(framesOf(packetsOf(hello(password))), { linkType: 105 }),
  ],
  [
    "a .pcap in IPv6, big endian",
    (password) => {
      const ends = { client: "[::1]:40000", server: "[::1]:5555" }
      const packets = packetsOf(hello(password), 8).map((packet) => ({ ...packet, ...ends }))
      const linkType = LINK_TYPES.RAW
      return pcapFile(framesOf(packets, { linkType }), { linkType, littleEndian: false })
    },
  ],
  ["one direction of a connection", (password) => concat(plain, hello(password), ready("PUSH"))],
]

describe.each(files)("%s", (_, file) => {
  const original = file("correct horse")
  const hidden = withoutSecrets(original)

  test("say nothing about the password", () => {
    const another = file("batterystaple")
    expect(Buffer.compare(original, another)).not.toBe(0)
    expect(Buffer.compare(hidden, withoutSecrets(another))).toBe(0)
    expect(hidden.length).toBe(original.length)
  })

  test("are decoded as before", () => {
    const shown = (bytes: Uint8Array) =>
      eventsOf(bytes).map((event) => {
        if (event.type === "message") return [event.message.ranges, linesOf([event])]
        return event.type === "error" ? event.error : linesOf([event])
      })
    expect(shown(hidden)).toEqual(shown(original))
  })
})

test("a capture without passwords stays as it is", () => {
  const said = [["client", concat(greeting(), ready("PUSH"), message(text("hello")))]] as const
  const file = pcapFile(frames(conversation(said, { segmentBytes: 10 })))
  expect(Buffer.compare(withoutSecrets(file), file)).toBe(0)
})

// The first took minutes, and with 64 MiB a day.
describe("the time grows with the size only", () => {
  test("of many empty packets", () => {
    const file = concat(pcapFile([]), new Uint8Array(4 << 20))
    expect(Buffer.compare(withoutSecrets(file), file)).toBe(0)
  })

  test("of malformed commands in one another", () => {
    const head = Uint8Array.of(6, 0, 0, 0, 0, 0, 0x10, 0, 0, ...concat(short("HELLO"), text("!")))
    const heads = Buffer.alloc(16 << 20, head)
    const hidden = withoutSecrets(concat(plain, heads))
    expect(Buffer.from(hidden).lastIndexOf("HELLO", 1 << 20)).toBe(plain.length + 10)
  })
})

test.each(["curve-tcp", "curve-lz4"])("%s: nothing of CURVE's handshake is hidden", (name) => {
  const file = new Uint8Array(gunzipSync(readFileSync(`test/recorded/${name}.pcap.gz`)))
  expect(Buffer.compare(withoutSecrets(file), file)).toBe(0)
})
