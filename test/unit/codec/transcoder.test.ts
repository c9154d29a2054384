/** The two directions of a connection, as streams of bytes (RFC.md sections 3 and 5). */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { payload } from "../../../bench/payloads.mjs"
import { createRandom } from "../../../bench/random.mjs"
import { Codec } from "../../../src/codec/codec.js"
import { ProtocolError, type ProtocolErrorCode } from "../../../src/codec/errors.js"
import type { Instance } from "../../../src/codec/instance.js"
import { lz4 } from "../../../src/codec/lz4/format.js"
import { loadInstanceSync } from "../../../src/codec/module.js"
import type { CodecOptions } from "../../../src/codec/options.js"
import type { Transcoder } from "../../../src/codec/transcoder.js"
import { dictionaries, plaintexts } from "../../support/arbitraries.js"
import { heldBytes } from "../../support/held-bytes.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { SEED } from "../../support/seed.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import {
  atOnce,
  atRandom,
  byteByByte,
  type Feed,
  type Item,
  message,
  open,
  type Part,
  run,
  streamsOf,
  verbatim,
} from "../../support/transcoding.js"
import { concat, dictionaryPart, plainPart, SENTINELS } from "../../support/wire.js"
import { COMMAND, frame, frameHead, greeting, LONG, MORE, ready } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1")

const MIB = 2 ** 20
const PART_MAX = MIB
const DICTIONARY = payload("json", 2048, 999)

const command = (name: string, data = "") =>
  verbatim(frame(bytes(`${String.fromCharCode(name.length)}${name}${data}`), COMMAND))
const ping = command("PING", "\0\x0acontext")
const subscribe = command("SUBSCRIBE", "metrics")
const hello = verbatim(greeting())
const shaken: Item[] = [hello, verbatim(ready("PUSH"))]

const text = (size: number) => payload("lorem", size)
const noise = (size: number) => payload("random", size)

const builds = [
  { build: "the usual build", instance: loadInstanceSync(), wasm: {} },
  {
    build: "small blocks",
    instance: loadInstanceSync(lz4, smallBlocks),
    wasm: { wasm: smallBlocks } satisfies CodecOptions,
  },
]

const feeds: [string, Feed][] = [
  ["at once", atOnce],
  ["one byte at a time", byteByByte],
  ...["1", "2", "3"].map((n): [string, Feed] => [
    `in random cuts (SEED=${SEED}, ${n})`,
    atRandom(`${SEED} ${n}`),
  ]),
]

// -- Valid streams ---------------------------------------------------------

interface Stream {
  name: string
  items: Item[]
  options?: CodecOptions
}

const parts = (sizes: readonly number[], make: (size: number) => Uint8Array): Item[] => [
  ...shaken,
  ...sizes.flatMap((size) => message(make(size))),
]

const streams: Stream[] = [
  { name: "nothing", items: [] },
  { name: "half a greeting", items: [verbatim(greeting().subarray(0, 32))] },
  { name: "ZMTP 3.1, NULL", items: [hello, command("READY"), ...message(bytes("x"))] },
  {
    name: "ZMTP 3.0, NULL, and a subscription as a message",
    items: [verbatim(greeting({ minor: 0 })), ...message(bytes("\x01metrics"))],
  },
  {
    name: "ZMTP 3.1, PLAIN",
    items: [
      verbatim(greeting({ mechanism: "PLAIN" })),
      command("HELLO", "\x05admin\x06secret"),
      command("INITIATE"),
      ...message(bytes("x")),
    ],
  },
  { name: "ZMTP 3.0, PLAIN", items: [verbatim(greeting({ minor: 0, mechanism: "PLAIN" }))] },
  {
    name: "a later ZMTP",
    items: [verbatim(greeting({ major: 4, minor: 7 })), ...message(text(9))],
  },
  { name: "a greeting as server", items: [verbatim(greeting().fill(1, 32, 33)), ping] },
  { name: "the handshake alone", items: shaken },
  { name: "commands alone", items: [...shaken, ping, subscribe, ping] },
  { name: "a command without a body", items: [...shaken, verbatim(frame(bytes(""), COMMAND))] },
  {
    name: "a long command, and a short one with a long header",
    items: [
      ...shaken,
      verbatim(frame(noise(70_000), COMMAND)),
      verbatim(concat(Uint8Array.of(COMMAND | LONG, 0, 0, 0, 0, 0, 0, 0, 3), bytes("\x02ab"))),
      ...message(bytes("x")),
    ],
  },
  {
    name: "a command that begins like a part",
    items: [...shaken, verbatim(frame(plainPart(bytes("x")), COMMAND)), ...message(bytes("y"))],
  },
  { name: "empty parts", items: parts([0, 0, 0], text) },
  {
    name: "a request: an empty delimiter and a body",
    items: [...shaken, ...message(bytes(""), bytes("hello")), ...message(bytes(""), text(2000))],
  },
  { name: "parts plain and compressed", items: parts([1, 511, 512, 513, 5000, 100_000], text) },
  { name: "parts that do not compress", items: parts([1, 511, 512, 513, 5000, 100_000], noise) },
  {
    name: "multipart messages",
    items: [
      ...shaken,
      ...message(bytes("a"), bytes(""), text(600), noise(600), text(70_000), bytes("")),
      ...message(bytes("single")),
      ...message(text(1000), text(1000)),
    ],
  },
  {
    name: "a message of a thousand parts",
    items: [...shaken, ...message(...Array.from({ length: 1000 }, (_, i) => text(i)))],
  },
  {
    name: "commands between messages and between parts",
    items: [
      ...shaken,
      ping,
      ...message(text(1000)),
      subscribe,
      { plain: text(900), more: true },
      ping,
      { plain: bytes(""), more: true },
      ping,
      subscribe,
      { plain: bytes("end"), more: false },
      ping,
    ],
  },
  {
    name: "plain parts whose header gets longer: up to 251 bytes it is short",
    items: parts([250, 251, 252, 253, 254, 255, 256, 257], noise),
  },
  {
    name: "compressed parts whose header gets shorter",
    items: parts([255, 256, 257, 1000, 2000, 10_000], (size) => payload("zeros", size)),
    options: { minCompressSize: 0 },
  },
  {
    // Zeros and then random bytes: the block is about as long as the random bytes.
    name: "compressed parts of about 255 bytes",
    items: parts(
      Array.from({ length: 40 }, (_, i) => 210 + i),
      (size) => concat(new Uint8Array(400), noise(size)),
    ),
  },
  {
    name: "a dictionary before the first message",
    items: [
      ...shaken,
      subscribe,
      ...message(payload("json", 500)),
      ...message(payload("json", 90)),
    ],
    options: { dictionary: DICTIONARY },
  },
  {
    name: "a dictionary before a multipart message",
    items: [...shaken, ...message(bytes(""), payload("json", 500), text(3000)), ping],
    options: { dictionary: DICTIONARY },
  },
  {
    name: "a dictionary of one byte",
    items: parts([0, 200, 2000], text),
    options: { dictionary: bytes("x") },
  },
  {
    name: "a dictionary of 8192 bytes",
    items: parts([0, 200, 2000, 100_000], text),
    options: { dictionary: payload("lorem", 8192, 7) },
  },
  {
    name: "a dictionary that waits for a message",
    items: [...shaken, ping, ping],
    options: { dictionary: DICTIONARY },
  },
  {
    name: "a threshold of 0",
    items: parts([0, 1, 8, 9, 10, 50, 100], (size) => payload("zeros", size)),
    options: { minCompressSize: 0 },
  },
  {
    name: "a threshold that nothing reaches",
    items: parts([0, 600, smallBlockSize, 70_000], text),
    options: { minCompressSize: 1e9 },
  },
  {
    name: "acceleration",
    items: parts([600, 5000, 100_000], text),
    options: { acceleration: 100 },
  },
  {
    name: "parts around the size of a small block",
    items: parts(
      [-1, 0, 1, smallBlockSize, 3 * smallBlockSize + 5].map((n) => n + smallBlockSize),
      text,
    ),
    options: { dictionary: DICTIONARY },
  },
]

const largeStreams: Stream[] = [
  {
    name: "1 MiB less a byte, 1 MiB, and a byte more",
    items: parts(
      [-1, 0, 1].map((n) => n + PART_MAX),
      text,
    ),
  },
  { name: "3 MiB that do not compress", items: parts([3 * MIB, 5], noise) },
  {
    name: "large parts inside a multipart message, with a dictionary",
    items: [
      ...shaken,
      ...message(bytes("first"), text(MIB + 7), bytes(""), payload("json", 2 * MIB), text(600)),
      ping,
      ...message(bytes("after")),
    ],
    options: { dictionary: DICTIONARY },
  },
  {
    name: "a large part that is mostly nothing",
    items: parts([5 * MIB], (n) => new Uint8Array(n)),
  },
]

function checkStream(
  { items, options }: Stream,
  feed: Feed,
  { instance, wasm }: (typeof builds)[number],
) {
  const { plain, wire, traffic } = streamsOf(items, { ...options, ...wasm })
  const shipped = options?.dictionary !== undefined

  const sent = run(open.sending(instance, options), plain, feed)
  expectSameBytes(sent.output, wire)
  const installed = shipped && traffic.messages > 0
  expect(sent).toMatchObject({ traffic, error: undefined, hasDictionary: installed })

  const received = run(open.receiving(instance), wire, feed)
  expectSameBytes(received.output, plain)
  expect(received).toMatchObject({ traffic, error: undefined, hasDictionary: installed })
}

describe.each(builds)("a stream of $build, sent and received", (build) => {
  describe.each(feeds)("%s", (_, feed) => {
    test.each(streams)("$name", (stream) => checkStream(stream, feed, build))
  })
  describe.each(feeds.filter(([, feed]) => feed !== byteByByte))("%s", (_, feed) => {
    test.each(largeStreams)("$name", (stream) => checkStream(stream, feed, build))
  })
  test("a large part, one byte at a time", () => {
    const items = parts([PART_MAX + 7], text)
    checkStream(
      { name: "a large part", items, options: { dictionary: DICTIONARY } },
      byteByByte,
      build,
    )
  })
})

// -- Streams that our sender never sends -----------------------------------------------------

const u64 = (value: number | bigint): Uint8Array => {
  const number = new Uint8Array(8)
  new DataView(number.buffer).setBigUint64(0, BigInt(value), true)
  return number
}
const u32 = (value: number): Uint8Array => u64(value).subarray(0, 4)

const lz4b = (plainBytes: number | bigint, block: Uint8Array) =>
  concat(SENTINELS.LZ4B, u64(plainBytes), block)
const lz4m = (plainBytes: number | bigint, ...blocks: Uint8Array[]) =>
  concat(SENTINELS.LZ4M, u64(plainBytes), ...blocks.flatMap((b) => [u32(b.length), b]))

/** Returns the block of up to 14 bytes of plaintext: one sequence of literals. */
const literals = (plain: string) => concat(Uint8Array.of(plain.length << 4), bytes(plain))
/** 512 times "a" (RFC.md section 11). */
const BLOCK = Uint8Array.of(0x1f, 0x61, 1, 0, 0xff, 0xe8, 0x50, 0x61, 0x61, 0x61, 0x61, 0x61)
const BLOCK_PLAIN = bytes("a".repeat(512))

const longHead = (bodyBytes: number, flags = 0) =>
  concat(Uint8Array.of(flags | LONG), u64(bodyBytes).reverse())

describe.each(feeds)("all forms that a receiver must accept, %s", (_, feed) => {
  const instance = loadInstanceSync()
  const handshake = streamsOf(shaken).wire

  test.each<[string, Uint8Array, Uint8Array]>([
    ["LZ4B of nothing", lz4b(0, Uint8Array.of(0)), bytes("")],
    ["LZ4B of one byte", lz4b(1, literals("x")), bytes("x")],
    ["LZ4B longer than its plaintext", lz4b(5, literals("hello")), bytes("hello")],
    ["LZ4M of nothing", lz4m(0), bytes("")],
    ["LZ4M of one block", lz4m(512, BLOCK), BLOCK_PLAIN],
    ["plain beyond the threshold", plainPart(text(5000)), text(5000)],
  ])("%s", (_, wire, plain) => {
    const stream = concat(handshake, frame(wire), frame(wire, MORE), frame(wire))
    const { output, error } = run(open.receiving(instance), stream, feed)
    expect(error).toBeUndefined()
    expectSameBytes(output, concat(handshake, frame(plain), frame(plain, MORE), frame(plain)))
  })

  test("long headers of short bodies become short ones", () => {
    const wire = concat(
      handshake,
      longHead(9, MORE),
      plainPart(bytes("hello")),
      longHead(4),
      SENTINELS.plain,
      longHead(24),
      lz4b(512, BLOCK),
    )
    const plain = concat(
      handshake,
      frame(bytes("hello"), MORE),
      frame(bytes("")),
      frame(BLOCK_PLAIN),
    )
    const received = run(open.receiving(instance), wire, feed)
    expectSameBytes(received.output, plain)
    expect(received.traffic).toEqual({ messages: 2, plainBytes: 517, wireBytes: 37 })

    const unusual = concat(handshake, longHead(5), bytes("hello"), longHead(0))
    const sent = run(open.sending(instance), unusual, feed)
    expectSameBytes(
      sent.output,
      concat(handshake, frame(plainPart(bytes("hello"))), frame(SENTINELS.plain)),
    )
  })

  test.each([0, 5])(
    "empty parts of every form fit a budget of %i with nothing left of it",
    (budget) => {
      const nothing = lz4b(0, Uint8Array.of(0))
      const full = frame(plainPart(noise(budget)), MORE)
      const empty = [SENTINELS.plain, nothing, concat(SENTINELS.LZ4M, new Uint8Array(8))]
      const stream = empty.flatMap((last) => [
        full,
        ...empty.map((part) => frame(part, MORE)),
        frame(last),
      ])
      const received = run(open.receiving(instance, budget), concat(handshake, ...stream), feed)
      expect(received.error).toBeUndefined()
      expect(received.traffic).toMatchObject({ messages: 3, plainBytes: 3 * budget })
    },
  )

  test("messages that each use exactly the budget", () => {
    const wire = concat(
      frame(plainPart(noise(100)), MORE),
      frame(lz4b(512, BLOCK), MORE),
      frame(plainPart(bytes(""))),
    )
    const stream = concat(handshake, wire, wire, frame(plainPart(noise(612))), wire)
    const { error, traffic } = run(open.receiving(instance, 612), stream, feed)
    expect(error).toBeUndefined()
    expect(traffic).toMatchObject({ messages: 4, plainBytes: 4 * 612 })
  })

  test("a dictionary is not counted against the budget", () => {
    const stream = concat(handshake, frame(dictionaryPart(DICTIONARY)), frame(SENTINELS.plain))
    const { error, hasDictionary, output } = run(open.receiving(instance, 0), stream, feed)
    expect(error).toBeUndefined()
    expect(hasDictionary).toBe(true)
    expectSameBytes(output, concat(handshake, frame(bytes(""))))
  })
})

test("a part larger than a block is LZ4M, and round-trips", () => {
  const { instance, wasm } = builds[1]!
  const long = concat(text(2 * smallBlockSize), bytes("end"))
  const { plain, wire } = streamsOf([...shaken, ...message(long)], wasm)
  expect(Buffer.from(wire).includes("LZ4M")).toBe(true)
  for (const [, feed] of feeds)
    expectSameBytes(run(open.receiving(instance), wire, feed).output, plain)
})

describe("a part of several blocks that is larger than other parts", () => {
  const { instance, wasm } = builds[1]!
  // With the usual build such parts have more than 1 GiB.
  const size = PART_MAX + 3 * smallBlockSize + 5
  const blocks = Math.ceil(size / smallBlockSize)
  const { plain, wire } = streamsOf([...shaken, ...message(noise(size), text(10))], wasm)

  /** Returns the sizes of the pieces that a sink is given which stops after each. */
  const pieces = (receiving: Transcoder, other?: () => void) => {
    const taken: Uint8Array[] = []
    const sink = { take: (piece: Uint8Array) => taken.push(new Uint8Array(piece)) === 0 }
    receiving.transcode(wire, sink)
    while (receiving.keepsBytes) {
      other?.()
      receiving.resume(sink)
    }
    expectSameBytes(concat(...taken), plain)
    receiving.close()
    return taken.map(({ length }) => length)
  }

  test("is decoded one block at a time, so that others have their turn", () => {
    const sizes = pieces(open.receiving(instance))
    expect(sizes.filter((length) => length === smallBlockSize)).toHaveLength(blocks - 1)
    expect(Math.max(...sizes)).toBe(smallBlockSize)
  })

  test("is decoded alike if other connections decode between its blocks", () => {
    const others = [0, 1].map(() => open.receiving(instance))
    const lines = others.map((other) => {
      const taken: Uint8Array[] = []
      const sink = { take: (piece: Uint8Array) => taken.push(new Uint8Array(piece)) === 0 }
      other.transcode(wire, sink)
      return { step: () => other.resume(sink), taken }
    })
    pieces(open.receiving(instance), () => {
      for (const { step } of lines) step()
    })
    for (const { taken } of lines) expectSameBytes(concat(...taken), plain)
    for (const other of others) other.close()
  })

  test("counts as a message once its last block is decoded", () => {
    const receiving = open.receiving(instance)
    let blocksSeen = 0
    receiving.transcode(streamsOf([...shaken, ...message(noise(size))], wasm).wire, {
      take: ({ length }) => {
        if (length === smallBlockSize) blocksSeen++
        expect(receiving.messages).toBe(length === 5 ? 1 : 0)
        return true
      },
    })
    expect(blocksSeen).toBe(blocks - 1)
    receiving.close()
  })

  test.each([
    ["a damaged block", (body: Buffer) => body.fill(0, body.length - 6), "ERR_LZ4_CORRUPT_BLOCK"],
    ["bytes after the last", (body: Buffer) => concat(body, bytes("!")), "ERR_LZ4_TRAILING_BYTES"],
  ])("never ends with %s: its plaintext is not complete then", (_, damage, code) => {
    using codec = Codec.createSync(wasm)
    const body = Buffer.from(codec.encodePart(noise(size)))
    const stream = concat(greeting(), ready("PUSH"), frame(damage(body)))
    const { error, output, traffic } = run(open.receiving(instance), stream, atOnce)
    expect(error).toMatchObject({ code })
    const before = greeting().length + ready("PUSH").length
    expect(output.length).toBeLessThan(before + 9 + size)
    expect(traffic).toMatchObject({ messages: 0, plainBytes: 0 })
  })
})

// -- Refused input ---------------------------------------------------------------

interface Refused {
  code: ProtocolErrorCode
  /** Text of the error message. */
  says: string
  /** Wire frames, after a handshake and a valid message. */
  frames: Uint8Array[]
  budget?: number
  /** The part of the refused message that was passed on before. */
  passed?: Uint8Array
}

const one = (...pieces: Uint8Array[]) => [frame(concat(...pieces))]

const refusedParts: Refused[] = [
  {
    code: "ERR_LZ4_PART_TOO_SHORT",
    says: "part 0 is 0 bytes long; a sentinel takes 4",
    frames: one(),
  },
  {
    code: "ERR_LZ4_PART_TOO_SHORT",
    says: "part 0 is 3 bytes long; a sentinel takes 4",
    frames: one(bytes("\0\0\0")),
  },
  {
    code: "ERR_LZ4_UNKNOWN_SENTINEL",
    says: "part 0 begins with 68 65 6c 6c, not a sentinel",
    frames: one(bytes("hello")),
  },
  {
    code: "ERR_LZ4_UNKNOWN_SENTINEL",
    says: "part 0 begins with 4c 5a 34 58, not a sentinel",
    frames: one(bytes("LZ4X"), bytes("\0".repeat(20))),
  },
  {
    code: "ERR_LZ4_UNKNOWN_SENTINEL",
    says: "part 0 begins with 00 00 00 01, not a sentinel",
    frames: [concat(frameHead(5 * MIB), bytes("\0\0\0\x01"), noise(100))],
  },
  {
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: "part 0 declares 5 bytes; 4 left of maxMessageSize 4",
    budget: 4,
    frames: one(plainPart(bytes("hello"))),
  },
  {
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: "part 2 declares 3 bytes; 2 left of maxMessageSize 10",
    budget: 10,
    frames: [
      frame(plainPart(bytes("abc")), MORE),
      frame(lz4b(5, literals("hello")), MORE),
      frame(plainPart(bytes("def"))),
    ],
    passed: concat(frame(bytes("abc"), MORE), frame(bytes("hello"), MORE)),
  },
  {
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: "part 0 declares 4611686018427387900 bytes; 1000 left of maxMessageSize 1000",
    budget: 1000,
    frames: [concat(frameHead(2n ** 62n), plainPart(bytes("")).subarray(0, 4))],
  },
  {
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: "part 0 declares 1073741824 bytes; 1000 left of maxMessageSize 1000",
    budget: 1000,
    frames: [concat(frameHead(900), lz4b(2 ** 30, bytes("")))],
  },
  {
    // No form of this frame length could fit.
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: `part 0 declares ${8 * MIB - 4} bytes; 1000 left of maxMessageSize 1000`,
    budget: 1000,
    frames: [frameHead(8 * MIB)],
  },
  {
    code: "ERR_LZ4_DICTIONARY_MULTIPART",
    says: "part 0 is a dictionary inside a multipart message",
    frames: [frame(dictionaryPart(bytes("history")), MORE)],
  },
  {
    code: "ERR_LZ4_DICTIONARY_MULTIPART",
    says: "part 1 is a dictionary inside a multipart message",
    frames: [frame(plainPart(bytes("a")), MORE), frame(dictionaryPart(bytes("history")))],
    passed: frame(bytes("a"), MORE),
  },
  {
    code: "ERR_LZ4_DICTIONARY_REPEATED",
    says: "part 0 is a second dictionary; one is allowed per connection",
    frames: [frame(dictionaryPart(bytes("history"))), frame(dictionaryPart(bytes("history")))],
  },
  {
    code: "ERR_LZ4_DICTIONARY_SIZE",
    says: "part 0 is a dictionary of 0 bytes, not 1 to 8192",
    frames: one(SENTINELS.LZ4D),
  },
  {
    code: "ERR_LZ4_DICTIONARY_SIZE",
    says: "part 0 is a dictionary of 8193 bytes, not 1 to 8192",
    frames: one(SENTINELS.LZ4D, new Uint8Array(8193)),
  },
  {
    code: "ERR_LZ4_DICTIONARY_SIZE",
    says: "part 0 is a dictionary of 1125899906842620 bytes, not 1 to 8192",
    frames: [concat(frameHead(2n ** 50n), SENTINELS.LZ4D)],
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 11 bytes, before its last block does",
    frames: one(SENTINELS.LZ4B, u64(512).subarray(0, 7)),
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 4 bytes, before its last block does",
    frames: one(SENTINELS.LZ4M),
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 12 bytes, before its last block does",
    frames: one(lz4b(0, bytes(""))),
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 15 bytes, before its last block does",
    frames: one(SENTINELS.LZ4M, u64(5), bytes("\x06\0\0")),
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 21 bytes, before its last block does",
    frames: one(SENTINELS.LZ4M, u64(5), u32(6), bytes("\x50hell")),
  },
  {
    code: "ERR_LZ4_BLOCK_TOO_LARGE",
    says: "part 0 declares one block of 1073741825 bytes; at most 1073741824 are allowed",
    frames: one(lz4b(2 ** 30 + 1, BLOCK)),
  },
  {
    code: "ERR_LZ4_BLOCK_TOO_LARGE",
    says: "part 0 declares one block of 18446744073709551615 bytes; at most 1073741824 are allowed",
    frames: one(lz4b(2n ** 64n - 1n, BLOCK)),
  },
  {
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: "part 0 declares 256 bytes, more than 255 times the bytes of its blocks",
    frames: one(lz4b(256, Uint8Array.of(0))),
  },
  {
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: "part 0 declares 18446744073709551615 bytes, more than 255 times the bytes of its blocks",
    frames: one(lz4m(2n ** 64n - 1n, BLOCK)),
  },
  {
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: "part 0 declares 18 bytes; a block does not decode",
    frames: one(lz4b(18, concat(bytes("\x18a\x05\0"), literals("hello")))),
  },
  {
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: "part 1 declares 511 bytes; a block does not decode",
    frames: [frame(lz4b(512, BLOCK), MORE), frame(lz4b(511, BLOCK))],
    passed: frame(BLOCK_PLAIN, MORE),
  },
  {
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: "part 0 declares 10 bytes; a block does not decode",
    frames: [concat(frameHead(2n ** 50n), lz4b(10, bytes("")))],
  },
  {
    code: "ERR_LZ4_SIZE_MISMATCH",
    says: "part 0 declares 513 bytes; a block decodes to fewer",
    frames: one(lz4b(513, BLOCK)),
  },
  {
    code: "ERR_LZ4_TRAILING_BYTES",
    says: "part 0 has bytes after the last block of its 5 bytes",
    frames: one(lz4m(5, literals("hello")), bytes("x")),
  },
  {
    code: "ERR_LZ4_TRAILING_BYTES",
    says: "part 0 has bytes after the last block of its 0 bytes",
    frames: one(lz4m(0), bytes("x")),
  },
  {
    code: "ERR_LZ4_TRAILING_BYTES",
    says: "part 0 has bytes after the last block of its 1 bytes",
    frames: [concat(frameHead(2n ** 50n), lz4m(1))],
  },
  // Parts that are decoded in their own instance.
  {
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: "part 1 declares 1048577 bytes; a block does not decode",
    frames: [
      frame(plainPart(bytes("a")), MORE),
      frame(lz4b(MIB + 1, concat(literals("hello"), noise(5000)))),
    ],
    passed: frame(bytes("a"), MORE),
  },
  {
    code: "ERR_LZ4_TRUNCATED",
    says: "part 0 ends after 5016 bytes, before its last block does",
    frames: one(lz4m(MIB + 1), u32(5001), noise(5000)),
  },
  {
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: "part 1 declares 1048577 bytes; 1048576 left of maxMessageSize 1048577",
    budget: MIB + 1,
    frames: [frame(plainPart(bytes("a")), MORE), frame(lz4b(MIB + 1, noise(5000)))],
    passed: frame(bytes("a"), MORE),
  },
]

const refusedFrames: { says: string; frame: Uint8Array }[] = [
  { says: "a frame begins with 08", frame: bytes("\x08\x04\0\0\0\0") },
  { says: "a frame begins with 0a", frame: bytes("\x0a\0") },
  { says: "a frame begins with ff", frame: bytes("\xff\0\0\0\0\0\0\0\x01\x7f") },
  { says: "a frame begins with 05", frame: bytes("\x05\x07\x04PING\0\0") },
  { says: "a frame begins with 07", frame: bytes("\x07\0\0\0\0\0\0\0\x02\0\0") },
  {
    says: "a frame begins with 02 80 00 00 00 00 00 00 00",
    frame: bytes("\x02\x80\0\0\0\0\0\0\0"),
  },
  {
    says: "a frame begins with 06 ff ff ff ff ff ff ff ff",
    frame: bytes(`\x06${"\xff".repeat(8)}`),
  },
  { says: "a frame begins with 48", frame: bytes("HTTP/1.1 400 Bad Request") },
]

const good = streamsOf([...shaken, ...message(bytes("good"), text(700))])

function expectRefused(
  { output, error, traffic }: ReturnType<typeof run>,
  code: ProtocolErrorCode,
  says: string,
  passed: Uint8Array = bytes(""),
) {
  expect(error).toBeInstanceOf(ProtocolError)
  expect((error as ProtocolError).code).toBe(code)
  expect(error?.message).toContain(says)
  expectSameBytes(output, concat(good.plain, passed))
  expect(traffic.messages).toBe(1)
}

describe.each(feeds)("a peer that breaks a rule, %s", (_, feed) => {
  const instance = loadInstanceSync()

  test.each(refusedParts)("$code: $says", ({ code, says, frames, budget = -1, passed }) => {
    if (budget >= 0) {
      // The valid message has to fit too.
      const head = streamsOf([...shaken, ...message(bytes("ok"))])
      const outcome = run(open.receiving(instance, budget), concat(head.wire, ...frames), feed)
      expect((outcome.error as ProtocolError).code).toBe(code)
      expect(outcome.error?.message).toContain(says)
      expectSameBytes(outcome.output, concat(head.plain, passed ?? bytes("")))
      return
    }
    const stream = concat(good.wire, ...frames)
    expectRefused(run(open.receiving(instance), stream, feed), code, says, passed)
  })

  test.each(refusedFrames)("ERR_ZMTP_FRAME: $says", ({ says, frame }) => {
    const received = run(open.receiving(instance), concat(good.wire, frame), feed)
    expectRefused(received, "ERR_ZMTP_FRAME", says)
    const sent = run(open.sending(instance), concat(good.plain, frame), feed)
    expect(sent.error?.message).toBe(received.error?.message)
    expectSameBytes(sent.output, good.wire)
  })
})

describe("a greeting that is not accepted is described", () => {
  const instance = loadInstanceSync()

  test.each<[says: string, opening: Uint8Array, passed: number]>([
    ['looks like HTTP ("GET / HTTP/1.1")', bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0],
    ['looks like HTTP ("HTTP/1.1 200 OK")', bytes("HTTP/1.1 200 OK\r\n"), 0],
    ["looks like TLS", bytes("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"), 0],
    ["begins with 53 53 48 2d 32 2e 30 2d, not a ZMTP signature", bytes("SSH-2.0-"), 0],
    ["begins with 01, not a ZMTP signature", bytes("\x01"), 0],
    ["not a ZMTP signature", bytes("\xff\0\0\0\0\0\0\0\x01\x7e\x03"), 9],
    ["is ZMTP 1; 3.0 or later is needed", greeting({ major: 0 }), 10],
    ["is ZMTP 2; 3.0 or later is needed", greeting({ major: 1 }), 10],
    ["is ZMTP 2; 3.0 or later is needed", greeting({ major: 2 }), 10],
    [
      'asks for the mechanism "CURVE"; NULL and PLAIN are supported',
      greeting({ mechanism: "CURVE" }),
      12,
    ],
    ['asks for the mechanism "GSSAPI"', greeting({ mechanism: "GSSAPI" }), 12],
    ['asks for the mechanism "NULLX"', greeting({ mechanism: "NULLX" }), 16],
    ['asks for the mechanism "PLAINTEXT"', greeting({ mechanism: "PLAINTEXT" }), 17],
    ['asks for the mechanism ""', greeting({ mechanism: "" }), 12],
    ['asks for the mechanism "NULL', greeting({ mechanism: "NULL\0\0\0x" }), 19],
  ])("%s", (says, opening, passed) => {
    for (const [, feed] of feeds) {
      for (const transcoder of [open.receiving(instance), open.sending(instance)]) {
        const { error, output, traffic } = run(transcoder, opening, feed)
        expect((error as ProtocolError).code).toBe("ERR_ZMTP_GREETING")
        // The message describes the whole greeting only if that arrived at once.
        if (feed === atOnce) expect(error?.message).toContain(says)
        else expect(error?.message).toMatch(/^ERR_ZMTP_GREETING: the greeting /)
        expectSameBytes(output, opening.subarray(0, passed))
        expect(traffic).toEqual({ messages: 0, plainBytes: 0, wireBytes: 0 })
      }
    }
  })
})

// -- Times of the output ------------------------------------------------------------

/** Returns the transcoder's output after each chunk. */
function written(transcoder: ReturnType<typeof open.sending>, chunks: readonly Uint8Array[]) {
  const lengths: number[] = []
  for (const chunk of chunks) {
    let length = 0
    const take = (piece: Uint8Array) => {
      length += piece.length
      return true
    }
    transcoder.transcode(chunk, { take })
    lengths.push(length)
  }
  transcoder.close()
  return lengths
}

describe("output is written as early as possible", () => {
  const instance = loadInstanceSync()

  test("each byte of a greeting and of a command", () => {
    const stream = concat(greeting(), frame(bytes("\x05READY"), COMMAND))
    const chunks = [...byteByByte.chunks(stream)]
    for (const transcoder of [open.sending(instance), open.receiving(instance)]) {
      const lengths = written(transcoder, chunks)
      // Flags and length of a frame are written together.
      expect(lengths).toEqual([...Array(64).fill(1), 0, 2, ...Array(6).fill(1)])
    }
  })

  test("a plain part of any length is passed on as it arrives", () => {
    const head = concat(greeting(), frameHead(2 ** 40 + 4), SENTINELS.plain)
    const chunks = [head, ...Array.from({ length: 100 }, () => noise(65_536))]
    const lengths = written(open.receiving(instance), chunks)
    expect(lengths).toEqual([64 + 9, ...Array(100).fill(65_536)])
  })

  test("a part below the threshold is passed on as it arrives", () => {
    const chunks = [greeting(), frameHead(300), noise(100), noise(200), frameHead(600), noise(599)]
    const lengths = written(open.sending(instance), chunks)
    expect(lengths).toEqual([64, 9 + 4, 100, 200, 0, 0])
  })

  test("a compressed part is refused at its first twelve bytes", () => {
    const transcoder = open.receiving(instance, MIB)
    const head = concat(greeting(), frameHead(MIB), SENTINELS.LZ4B, u64(MIB + 1))
    const last = head.length - 1
    transcoder.transcode(head.subarray(0, last), { take: () => true })
    expect(() => transcoder.transcode(head.subarray(last), { take: () => true })).toThrow(
      "ERR_LZ4_BUDGET_EXCEEDED",
    )
    transcoder.close()
  })
})

const memoryBytes = ({ exports }: Instance) => exports.memory.buffer.byteLength

test("a message or command is in progress from its first byte to its last", () => {
  const { instance } = builds[0] as (typeof builds)[number]
  const items = [message(text(9)), [ping], message(text(600), noise(5), text(0), text(600)), [ping]]
  const lengthUpTo = (count: number, side: "plain" | "wire") =>
    streamsOf([...shaken, ...items.slice(0, count).flat()])[side].length
  for (const side of ["plain", "wire"] as const) {
    const boundaries = new Set([0, 1, 2, 3, 4].map((count) => lengthUpTo(count, side)))
    const transcoder = side === "plain" ? open.sending(instance) : open.receiving(instance)
    const stream = streamsOf([...shaken, ...items.flat()])[side]
    const greetingBytes = greeting().length
    for (const [i, byte] of stream.entries()) {
      transcoder.transcode(Uint8Array.of(byte), { take: () => true })
      const outside = i + 1 <= greetingBytes || boundaries.has(i + 1)
      expect(transcoder.insideMessage, `${side}, after ${i + 1} bytes`).toBe(!outside)
    }
    expect(transcoder.messages).toBe(2)
    transcoder.close()
  }
})

test("no memory is allocated for a declared size before its bytes arrive", () => {
  const { instance } = builds[0]!
  const arrayBuffers = heldBytes()
  const before = memoryBytes(instance)
  const transcoders = Array.from({ length: 100 }, () => {
    const transcoder = open.receiving(instance)
    const head = concat(greeting(), frameHead(512 * MIB), lz4b(2 ** 30, bytes("")))
    transcoder.transcode(concat(head, noise(1000)), { take: () => true })
    return transcoder
  })
  expect(memoryBytes(instance) - before).toBeLessThan(MIB)
  expect(heldBytes() - arrayBuffers).toBeLessThan(4 * MIB)
  for (const transcoder of transcoders) transcoder.close()
})

test.each(builds)("interleaved transcoders do not mix their bytes: $build", (build) => {
  const { instance, wasm } = build
  using codec = Codec.createSync(wasm)
  const jobs = [...streams, ...largeStreams].flatMap(({ items, options }) => {
    const { plain, wire } = streamsOf(items, { ...options, ...wasm })
    return [
      { transcoder: open.sending(instance, options), from: plain, to: wire },
      { transcoder: open.receiving(instance), from: wire, to: plain },
    ]
  })
  const random = createRandom("turns")
  const turns = jobs.map(({ transcoder, from, to }, i) => {
    const chunks = [...atRandom(`turns ${i}`).chunks(from)].values()
    return { transcoder, chunks, to, pieces: [] as Uint8Array[] }
  })
  const waiting = new Set(turns)
  while (waiting.size > 0) {
    const turn = random.pick([...waiting])
    const { done, value } = turn.chunks.next()
    if (done) waiting.delete(turn)
    else
      turn.transcoder.transcode(value, {
        take: (piece) => turn.pieces.push(new Uint8Array(piece)) > 0,
      })
    if (random.below(10) === 0) codec.decodePart(codec.encodePart(DICTIONARY))
  }
  for (const { transcoder, pieces, to } of turns) {
    expectSameBytes(concat(...pieces), to)
    transcoder.close()
  }
})

test("transcoders free all memory, whatever happened to them", () => {
  const { instance } = builds[0]!
  const stream = concat(good.wire, frame(dictionaryPart(DICTIONARY)), frame(lz4b(1, BLOCK)))
  const cycle = () => {
    for (let i = 0; i < 1000; i++) {
      run(open.receiving(instance, i % 2 ? -1 : 5), stream, atOnce)
      run(open.sending(instance, { dictionary: DICTIONARY.subarray(i) }), good.plain, atOnce)
      open.sending(instance, { dictionary: DICTIONARY }).close()
    }
  }
  cycle()
  const before = memoryBytes(instance)
  for (let i = 0; i < 10; i++) cycle()
  expect(memoryBytes(instance)).toBe(before)
})

// -- Any stream ----------------------------------------------------------------------

const command_: fc.Arbitrary<Item[]> = fc
  .uint8Array({ maxLength: 300 })
  .map((body) => [verbatim(frame(body, COMMAND))])

/** A message, sometimes with a command inside it. */
const message_: fc.Arbitrary<Item[]> = fc
  .tuple(fc.array(plaintexts, { minLength: 1, maxLength: 4 }), fc.option(fc.nat(3)))
  .map(([plains, at]) => {
    const items: Item[] = message(...plains)
    if (at !== null && at < items.length) items.splice(at, 0, ping)
    return items
  })

const stream_ = fc
  .array(fc.oneof({ arbitrary: message_, weight: 3 }, { arbitrary: command_, weight: 1 }), {
    maxLength: 6,
  })
  .map((items) => [...shaken, ...items.flat()])

const options_: fc.Arbitrary<CodecOptions> = fc.record(
  {
    dictionary: dictionaries,
    minCompressSize: fc.constantFrom(0, 100, 70_000),
    level: fc.constantFrom(0, 3, 9, 12),
    arenas: fc.boolean(),
  },
  { requiredKeys: [] },
)

describe.each(builds)("any stream round-trips: $build", ({ instance }) => {
  test("sent and received, each with its own chunks", () => {
    fc.assert(
      fc.property(stream_, options_, fc.string(), fc.string(), (items, options, cut, other) => {
        const { plain, traffic } = streamsOf(items)
        const sent = run(open.sending(instance, options), plain, atRandom(cut))
        expect(sent.error).toBeUndefined()
        const received = run(open.receiving(instance), sent.output, atRandom(other))
        expect(received.error).toBeUndefined()
        expectSameBytes(received.output, plain)
        expect(received.traffic).toEqual(sent.traffic)
        expect(received.traffic).toMatchObject({
          messages: traffic.messages,
          plainBytes: traffic.plainBytes,
        })
      }),
      { numRuns: 300 },
    )
  })

  test("a budget stops the first message above it, and none before", () => {
    fc.assert(
      fc.property(
        stream_,
        options_,
        fc.nat(100_000),
        fc.string(),
        (items, options, budget, cut) => {
          const { plain } = streamsOf(items)
          // If one message of an arena is refused, none is passed on.
          const sent = run(open.sending(instance, { ...options, arenas: false }), plain, atOnce)
          const received = run(open.receiving(instance, budget), sent.output, atRandom(cut))
          const passed = withinBudget(items, budget)
          expectSameBytes(received.output, streamsOf(passed).plain)
          const { code } = (received.error ?? {}) as ProtocolError
          expect(code).toBe(passed.length < items.length ? "ERR_LZ4_BUDGET_EXCEEDED" : undefined)
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** Returns the data before the first part that exceeds its message's budget. */
function withinBudget(items: readonly Item[], budget: number): Item[] {
  let left = budget
  const over = items.findIndex((item) => {
    if (!isPart(item)) return false
    left -= item.plain.length
    const exceeded = left < 0
    if (!item.more) left = budget
    return exceeded
  })
  return over < 0 ? [...items] : items.slice(0, over)
}

const isPart = (item: Item): item is Part => "plain" in item
