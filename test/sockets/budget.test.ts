/** A peer that breaks a rule only loses its own connection (RFC.md sections 5 and 7). */
import { once } from "node:events"
import { createServer } from "node:net"
import { describe, expect, test } from "vitest"
import {
  Dealer,
  ProtocolError,
  type ProtocolErrorEvent,
  Pull,
  Push,
  Reply,
  Request,
} from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { type RawPeer, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { type AnySocket, eventually, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"
import { concat, dictionaryPart, plainPart, SENTINELS } from "../support/wire.js"
import { COMMAND, frame, frameHead, greeting, MORE, message, ready } from "../support/zmtp.js"

const address = `${lz4.scheme}127.0.0.1:*`
const BUDGET = 10_000
const GIB = 1n << 30n

const u64 = (value: bigint | number) => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)
const lz4b = (size: bigint | number, block: Uint8Array) => concat(SENTINELS.LZ4B, u64(size), block)
const lz4m = (size: bigint | number, block: Uint8Array) =>
  concat(SENTINELS.LZ4M, u64(size), new Uint8Array(Uint32Array.of(block.length).buffer), block)

const text = payload("json", 2000)
const good = (() => {
  using codec = Codec.createSync()
  return codec.encodePart(text)
})()
const block = good.subarray(12)
const dictionary = message(dictionaryPart(text))
const plainOf = (bytes: number) => plainPart(new Uint8Array(bytes))

const OFFENCES: readonly [what: string, code: string, stream: Uint8Array][] = [
  ["a part of 3 bytes", "ERR_LZ4_PART_TOO_SHORT", message(Uint8Array.of(0, 0, 0))],
  ["an empty part", "ERR_LZ4_PART_TOO_SHORT", message(plainOf(5), new Uint8Array())],
  ["a part without a sentinel", "ERR_LZ4_UNKNOWN_SENTINEL", message(Buffer.from("hello"))],
  ["an arena without its head", "ERR_LZ4_ARENA", message(SENTINELS.LZ4A)],
  ["LZ4B that ends early", "ERR_LZ4_TRUNCATED", message(good.subarray(0, 11))],
  ["LZ4M that ends early", "ERR_LZ4_TRUNCATED", message(lz4m(2000, block).subarray(0, -1))],
  ["LZ4B of over 1 GiB", "ERR_LZ4_BLOCK_TOO_LARGE", message(lz4b(GIB + 1n, block))],
  ["a plain part over the budget", "ERR_LZ4_BUDGET_EXCEEDED", message(plainOf(BUDGET + 1))],
  ["LZ4B over the budget", "ERR_LZ4_BUDGET_EXCEEDED", message(lz4b(BUDGET + 1, block))],
  ["LZ4M over the budget", "ERR_LZ4_BUDGET_EXCEEDED", message(lz4m(1n << 63n, block))],
  [
    "parts that are over the budget together",
    "ERR_LZ4_BUDGET_EXCEEDED",
    message(...Array.from({ length: 6 }, () => good)),
  ],
  [
    "a plain part that only claims to be over the budget",
    "ERR_LZ4_BUDGET_EXCEEDED",
    concat(frameHead(1n << 40n), SENTINELS.plain),
  ],
  [
    "LZ4B that claims to expand more than 255 times",
    "ERR_LZ4_IMPLAUSIBLE_SIZE",
    message(lz4b(BUDGET, block.subarray(0, 20))),
  ],
  ["a block that is corrupt", "ERR_LZ4_CORRUPT_BLOCK", message(lz4b(2000, block.subarray(0, -9)))],
  ["a block that is larger than declared", "ERR_LZ4_CORRUPT_BLOCK", message(lz4b(1999, block))],
  ["a block that is smaller than declared", "ERR_LZ4_SIZE_MISMATCH", message(lz4b(2001, block))],
  [
    "bytes after the last block",
    "ERR_LZ4_TRAILING_BYTES",
    message(concat(lz4m(2000, block), Uint8Array.of(0))),
  ],
  ["an empty dictionary", "ERR_LZ4_DICTIONARY_SIZE", message(SENTINELS.LZ4D)],
  [
    "a dictionary of 8193 bytes",
    "ERR_LZ4_DICTIONARY_SIZE",
    message(dictionaryPart(new Uint8Array(8193))),
  ],
  ["a second dictionary", "ERR_LZ4_DICTIONARY_REPEATED", concat(dictionary, dictionary)],
  [
    "a dictionary with MORE",
    "ERR_LZ4_DICTIONARY_MULTIPART",
    message(dictionaryPart(text), plainOf(1)),
  ],
  [
    "a dictionary as the last part",
    "ERR_LZ4_DICTIONARY_MULTIPART",
    message(plainOf(1), dictionaryPart(text)),
  ],
  ["a frame with a reserved flag", "ERR_ZMTP_FRAME", frame(plainOf(1), 8)],
  ["a command with MORE", "ERR_ZMTP_FRAME", frame(plainOf(1), COMMAND | MORE)],
  ["a frame of 2^63 bytes", "ERR_ZMTP_FRAME", concat(frameHead(1n << 63n), SENTINELS.plain)],
]

const protocolError = async (socket: AnySocket): Promise<ProtocolErrorEvent> =>
  (await once(socket.lz4, "protocolError"))[0]

/** Expects that a peer's error is reported with a code, that it loses its connection, and that the disconnect is reported. */
const expectExpelled = async (
  peer: RawPeer,
  code: string,
  reported: Promise<ProtocolErrorEvent>,
  disconnected: Promise<unknown[]>,
) => {
  const { error, ...who } = await reported
  expect(error).toBeInstanceOf(ProtocolError)
  expect(error.code).toBe(code)
  expect(error.message).toMatch(new RegExp(`^${code}: .`))
  expect(who).toEqual(peer.address)
  expect(await disconnected).toEqual([{ ...peer.address, error: undefined }])
  await peer.closed
}

describe("a peer that sends", () => {
  test.each(OFFENCES)(
    "%s is disconnected with %s, and its earlier messages are delivered",
    async (_, code, stream) => {
      const pull = use(new Pull({ maxMessageSize: BUDGET }))
      await pull.bind(address)
      const honest = use(new Push())
      honest.connect(pull.lastEndpoint as string)
      await honest.send(["honest", "0"])
      expect((await pull.receive()).map(String)).toEqual(["honest", "0"])

      const [reported, disconnected] = [protocolError(pull), once(pull.lz4, "disconnect")]
      const before = message(plainPart(Buffer.from("offender")), good)
      const after = message(plainPart(Buffer.from("never")))
      const peer = use(
        await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", before, stream, after),
      )
      const [name, part] = await pull.receive()
      expect(String(name)).toBe("offender")
      expectSameBytes(part as Uint8Array, text)
      await expectExpelled(peer, code, reported, disconnected)

      for (let i = 1; i <= 3; i++) {
        await honest.send(["honest", `${i}`])
        expect((await pull.receive()).map(String)).toEqual(["honest", `${i}`])
      }
      expect(pull.lz4.connections.length).toBe(1)
    },
  )
})

describe("a peer that opens with", () => {
  const zmtp2 = concat(Uint8Array.of(0xff), new Uint8Array(8), Uint8Array.of(0x7f, 1, 8, 0))

  test.each([
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), /looks like HTTP.*GET/],
    ["TLS", Uint8Array.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3), /looks like TLS/],
    ["ZMTP 1", Uint8Array.of(1, 0, 6, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f), /not a ZMTP signature/],
    ["ZMTP 2", zmtp2, /is ZMTP 2; 3.0 or later/],
    ["garbage", payload("random", 100), /not a ZMTP signature/],
    ["CURVE", greeting({ mechanism: "CURVE" }), /CURVE; this side has NULL/],
  ])(
    "%s is disconnected with ERR_ZMTP_GREETING, and the error shows the bytes",
    async (_, bytes, says) => {
      const pull = use(new Pull())
      await pull.bind(address)
      const [reported, disconnected] = [protocolError(pull), once(pull.lz4, "disconnect")]
      const peer = use(await rawPeer(pull.lastEndpoint as string, bytes))
      await expectExpelled(peer, "ERR_ZMTP_GREETING", reported, disconnected)
      expect((await reported).error.message).toMatch(says)
    },
  )

  test("a tcp:// peer is disconnected at its first message", async () => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    await pull.bind(address)
    push.connect((pull.lastEndpoint as string).replace("lz4+", ""))
    const reported = protocolError(pull)
    await push.send("hello")
    expect((await reported).error).toMatchObject({
      code: "ERR_LZ4_UNKNOWN_SENTINEL",
      message: expect.stringContaining("68 65 6c 6c"),
    })
  })
})

test("a connecting socket reports a server of another protocol, and reconnects", async () => {
  const server = createServer((peer) => {
    peer.on("error", () => {}) // the connection is closed
    peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
  }).listen(0, "127.0.0.1")
  use(server)
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const dealer = use(new Dealer({ reconnectInterval: 10 }))
  dealer.connect(`${lz4.scheme}127.0.0.1:${port}`)
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await protocolError(dealer)).toMatchObject({
      remoteAddress: "127.0.0.1",
      remotePort: port,
      error: { code: "ERR_ZMTP_GREETING", message: expect.stringContaining("looks like HTTP") },
    })
})

describe("maxMessageSize", () => {
  const sides = [
    ["one part", [BUDGET]],
    ["all parts together", [BUDGET / 2, 0, BUDGET / 2]],
  ] as const

  test.each(sides)("accepts a message of exactly that size: %s", async (_, sizes) => {
    const [pull, push] = [use(new Pull({ maxMessageSize: BUDGET })), use(new Push())]
    await pull.bind(address)
    push.connect(pull.lastEndpoint as string)
    // Zeros take few bytes on the wire, random bytes more than the budget, with the envelope.
    for (const kind of ["zeros", "random"] as const) {
      await push.send(sizes.map((size) => payload(kind, size)))
      const received = await pull.receive()
      expect(received.map(({ length }) => length)).toEqual(sizes)
    }
  })

  test.each(sides)("refuses a message that is one byte larger: %s", async (_, sizes) => {
    const [pull, push] = [use(new Pull({ maxMessageSize: BUDGET })), use(new Push())]
    await pull.bind(address)
    push.connect(pull.lastEndpoint as string)
    const reported = protocolError(pull)
    await push.send([...sizes.slice(1), (sizes[0] ?? 0) + 1].map((size) => new Uint8Array(size)))
    expect((await reported).error.code).toBe("ERR_LZ4_BUDGET_EXCEEDED")
  })

  test("is a limit per message: many small ones are accepted", async () => {
    const [pull, push] = [use(new Pull({ maxMessageSize: 100 })), use(new Push())]
    await pull.bind(address)
    push.connect(pull.lastEndpoint as string)
    for (let i = 0; i < 100; i++) {
      await push.send(text.subarray(0, 100))
      expectSameBytes((await pull.receive())[0] as Uint8Array, text.subarray(0, 100))
    }
  })

  test.each(transports)("limits a reply as well as a request over $name", async ({ scheme }) => {
    const [reply, request] = [use(new Reply()), use(new Request({ maxMessageSize: 100 }))]
    await reply.bind(`${scheme}127.0.0.1:*`)
    request.connect(reply.lastEndpoint as string)
    await request.send("short")
    await reply.receive()
    const disconnected = new Promise((resolve) => request.events.on("disconnect", resolve))
    await reply.send(new Uint8Array(101))
    await disconnected
    request.receiveTimeout = 0
    await expect(request.receive()).rejects.toMatchObject({ code: "EAGAIN" })
  })
})

test("while many peers break rules, messages of others arrive complete and in order", async () => {
  const [PEERS, ROUNDS] = [4, 200]
  const pull = use(new Pull({ maxMessageSize: BUDGET }))
  await pull.bind(address)
  const endpoint = pull.lastEndpoint as string
  let reports = 0
  pull.lz4.on("protocolError", () => reports++)

  const honest = Array.from({ length: PEERS }, async (_, peer) => {
    const push = use(new Push())
    push.connect(endpoint)
    for (let i = 0; i < ROUNDS; i++) await push.send([`${peer}`, `${i}`, text])
  })
  const offenders = OFFENCES.map(async ([, , stream]) => {
    const peer = use(await rawZmtpPeer(endpoint, "PUSH", stream))
    await peer.closed
  })
  const next = Array.from({ length: PEERS }, () => 0)
  for (let i = 0; i < PEERS * ROUNDS; i++) {
    const [peer, index, part] = await pull.receive()
    expect(Number(index)).toBe(next[Number(peer)]++)
    expectSameBytes(part as Uint8Array, text)
  }
  await Promise.all([...honest, ...offenders])
  // A connection ends before its error is reported.
  await eventually(() => reports >= OFFENCES.length)
  expect(reports).toBe(OFFENCES.length)
})

test("without a listener for protocolError, a peer's error throws nothing", async () => {
  const pull = use(new Pull())
  await pull.bind(address)
  const disconnected = once(pull.lz4, "disconnect")
  use(
    await rawPeer(
      pull.lastEndpoint as string,
      concat(greeting(), ready("PUSH"), message(SENTINELS.LZ4A)),
    ),
  )
  await disconnected
})
