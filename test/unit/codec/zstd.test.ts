/** Codecs of the format "zstd", compared with their own parts and with hand-made frames (RFC 8878). */
import { describe, expect, test } from "vitest"
import { Codec, type CodecOptions, ProtocolError, trainDictionary } from "zeromq-lz4/codec"
import { payload } from "../../../bench/payloads.mjs"
import { loadInstanceSync } from "../../../src/codec/module.js"
import { Transcoder } from "../../../src/codec/transcoder.js"
import { zstd } from "../../../src/codec/zstd/format.js"
import { concat, plainPart, ZSTD_SENTINELS } from "../../support/wire.js"

const MIB = 2 ** 20
const text = (size: number) => payload("json", size)
const create = (options: CodecOptions = {}) => Codec.createSync({ format: "zstd", ...options })
const samples = Array.from({ length: 400 }, (_, i) => payload("json", 200, i + 1))
const dictionary = await trainDictionary(samples, { format: "zstd" })
const isFrame = (part: Uint8Array) => ZSTD_SENTINELS.frame.every((byte, i) => part[i] === byte)

/** Returns the code and text of the error for a part. */
function refusal(part: Uint8Array, options: CodecOptions = {}, before: Uint8Array[] = []): string {
  using codec = create(options)
  for (const one of before) codec.decodePart(one)
  try {
    codec.decodePart(part)
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    // Nothing that a peer sends makes the codec useless.
    expect(codec.decodePart(plainPart(Uint8Array.of(1)))).toEqual(Uint8Array.of(1))
    return (error as Error).message
  }
  return "accepted"
}

// -- Frames by hand ----------------------------------------------------------------

const u = (value: number | bigint, bytes: number) =>
  Uint8Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * i)) & 0xffn))
const RAW = 0
const RLE = 1
const block = (type: number, size: number, isLast: boolean, ...content: number[]) =>
  concat(u((size << 3) | (type << 1) | (isLast ? 1 : 0), 3), Uint8Array.from(content))

interface Header {
  /** The content's size, with a field of 8 bytes; undefined for none. */
  size?: bigint | undefined
  /** The byte of the window; undefined if the frame is a single segment. */
  window?: number
  dictionaryId?: number
  checksum?: boolean
}
function frame({ size, window, dictionaryId, checksum }: Header, ...blocks: Uint8Array[]) {
  const sizeFlag = size === undefined ? 0 : 3
  const isSingle = window === undefined
  const descriptor =
    (sizeFlag << 6) | (isSingle ? 0x20 : 0) | (checksum ? 4 : 0) | (dictionaryId ? 3 : 0)
  return concat(
    ZSTD_SENTINELS.frame,
    Uint8Array.of(descriptor, ...(isSingle ? [] : [window])),
    dictionaryId ? u(dictionaryId, 4) : new Uint8Array(),
    size === undefined ? new Uint8Array() : u(size, 8),
    ...blocks,
  )
}
const whole = (content: Uint8Array) =>
  frame({ size: BigInt(content.length) }, block(RAW, content.length, true, ...content))
/** The descriptor of a window of 2^log bytes. */
const windowOf = (log: number) => (log - 10) << 3
const CONTENT = Uint8Array.from({ length: 300 }, (_, i) => i)

// -- Parts -------------------------------------------------------------------------

describe.each([
  ["without a dictionary", {}],
  ["with a dictionary", { dictionary }],
])("%s", (_, options) => {
  test.each([-7, -5, -1, 1, 3, 6, 9] as const)("parts of all sizes at level %i", (level) => {
    using sender = create({ ...options, level, minCompressSize: 0 })
    using receiver = create()
    const sizes = [0, 1, 63, 64, 300, 511, 512, 5000, 131_072, MIB, MIB + 1, 3 * MIB]
    for (const size of sizes) {
      const plain = text(size)
      const wire = sender.encode([plain])
      const received = wire.flatMap((message) => receiver.decode(message))
      expect(received).toHaveLength(1)
      expect(Buffer.compare(received[0]![0]!, plain), String(size)).toBe(0)
      if (size >= 5000) expect(isFrame(wire.at(-1)![0]!)).toBe(true)
    }
  })

  test("what does not compress is sent plain, also if it is large", () => {
    using codec = create(options)
    for (const size of [600, MIB, 2 * MIB]) {
      const wire = codec.encodePart(payload("random", size))
      expect(wire.length).toBe(size + 4)
      expect([...wire.subarray(0, 4)]).toEqual([0, 0, 0, 0])
    }
  })
})

test("parts of less than 512 bytes are sent plain, with a dictionary of less than 64", () => {
  using codec = create()
  using other = create({ dictionary })
  expect(isFrame(codec.encodePart(text(511)))).toBe(false)
  expect(isFrame(codec.encodePart(text(512)))).toBe(true)
  expect(isFrame(other.encodePart(text(63)))).toBe(false)
  expect(isFrame(other.encodePart(text(100)))).toBe(true)
})

test("a dictionary is trained on samples whose new bytes cannot be compressed", async () => {
  const [known, noise] = [payload("json", 300), payload("random", 400 * 100)]
  const each = Array.from({ length: 400 }, (_, i) =>
    concat(known, noise.subarray(100 * i, 100 * (i + 1))),
  )
  const made = await trainDictionary(each, { format: "zstd" })
  using codec = create({ dictionary: made })
  const [, part] = codec.encode([concat(known, noise.subarray(0, 100))])
  expect(part?.length).toBeLessThan(150)
})

test("a dictionary is sent as it is, once, before the first message", () => {
  using codec = create({ dictionary })
  const [shipped, message] = codec.encode([text(200)])
  expect(Buffer.compare(shipped![0]!, dictionary)).toBe(0)
  expect([...shipped![0]!.subarray(0, 4)]).toEqual([...ZSTD_SENTINELS.ZDICT])
  expect(message![0]!.length).toBeLessThan(150)
  expect(codec.encode([text(200)])).toHaveLength(1)
})

test("autoDictionary trains one", () => {
  using sender = create({ autoDictionary: { trigger: 100 } })
  using receiver = create()
  let shipped = 0
  for (const sample of samples) {
    for (const message of sender.encode([sample])) {
      const messages = receiver.decode(message)
      if (messages.length === 0) shipped++
      else expect(Buffer.compare(messages[0]![0]!, sample)).toBe(0)
    }
  }
  expect(shipped).toBe(1)
})

test("small messages share an arena", () => {
  using sender = create({ arenas: true, dictionary })
  using receiver = create()
  const messages = Array.from({ length: 40 }, (_, i) => [text(50 + i), text(3)])
  const wire = sender.encodeBatch(messages)
  expect(wire).toHaveLength(2)
  expect([...wire[1]![0]!.subarray(0, 4)]).toEqual([...ZSTD_SENTINELS.ZSTA])
  const received = wire.flatMap((message) => receiver.decode(message))
  expect(received.map((parts) => parts.map(Buffer.from))).toEqual(
    messages.map((parts) => parts.map(Buffer.from)),
  )
  using old = create({ revision: 1 })
  old.decode(wire[0]!)
  expect(() => old.decode(wire[1]!)).toThrow("ERR_ZSTD_UNKNOWN_SENTINEL")
})

test("encodeInto, decodeInto and decodedSize do the same", () => {
  using codec = create()
  for (const size of [10, 5000, 2 * MIB]) {
    const plain = text(size)
    const wire = new Uint8Array(size + 4)
    const length = codec.encodeInto(plain, wire)
    expect(codec.decodedSize(wire.subarray(0, length))).toBe(size)
    const target = new Uint8Array(size)
    expect(codec.decodeInto(wire.subarray(0, length), target)).toBe(size)
    expect(Buffer.compare(target, plain)).toBe(0)
    if (size < MIB) continue
    expect(() => codec.decodeInto(wire.subarray(0, length), target.subarray(1))).toThrow(
      expect.objectContaining({ code: "ERR_LZ4_TARGET_TOO_SMALL" }),
    )
  }
})

// -- Options -----------------------------------------------------------------------

test.each([
  [{ level: 0 }, "level must be -7 to -1, or 1 to 9; got 0"],
  [{ level: 10 }, "level must be an integer from -7 to 9; got 10"],
  [{ level: -8 }, "level must be an integer from -7 to 9; got -8"],
  [{ acceleration: 2 }, "acceleration is LZ4's"],
  [{ dictionary: Uint8Array.from(Buffer.from("any bytes")) }, "must be in the format of Zstandard"],
  [{ dictionary: dictionary.subarray(0, 20) }, "must be in the format of Zstandard"],
  [{ format: "zst" }, 'format must be "lz4" or "zstd"; got "zst"'],
])("%o is refused", (options, message) => {
  expect(() => create(options as CodecOptions)).toThrow(message)
})

test("a level that is none is a RangeError, whichever it is", () => {
  for (const level of [0, 10, 1.5])
    expect(() => create({ level } as CodecOptions)).toThrow(
      expect.objectContaining({ name: "RangeError", code: "ERR_OUT_OF_RANGE" }),
    )
})

test('a level of zstd is none of "lz4", which loads nothing of zstd', () => {
  expect(() => Codec.createSync({ level: -1 })).toThrow("level must be an integer from 0 to 12")
})

test("the two formats refuse each other's parts", () => {
  using zstd = create()
  using lz4 = Codec.createSync()
  const part = zstd.encodePart(text(1000))
  expect(() => lz4.decodePart(part)).toThrow("ERR_LZ4_UNKNOWN_SENTINEL")
  expect(() => zstd.decodePart(lz4.encodePart(text(1000)))).toThrow("ERR_ZSTD_UNKNOWN_SENTINEL")
})

// -- What strangers send -----------------------------------------------------------

test("a frame by hand is read", () => {
  using codec = create()
  expect(codec.decodePart(whole(CONTENT))).toEqual(CONTENT)
  expect(codec.decodePart(frame({ size: 0n }, block(RAW, 0, true)))).toEqual(new Uint8Array(0))
  const runs = frame(
    { size: 200_000n, window: windowOf(20) },
    block(RLE, 131_072, false, 7),
    block(RLE, 68_928, true, 7),
  )
  expect(Buffer.compare(codec.decodePart(runs)!, Buffer.alloc(200_000, 7))).toBe(0)
})

const trained = create({ dictionary, minCompressSize: 0 })
const withDictionary = trained.encodePart(text(300))
const id = new DataView(dictionary.buffer, dictionary.byteOffset).getUint32(4, true)

test.each<[what: string, part: Uint8Array, message: string, before?: Uint8Array[]]>([
  [
    "a frame without a size",
    frame({ window: windowOf(10) }, block(RAW, 0, true)),
    "ERR_ZSTD_CORRUPT_BLOCK: part 0 is a frame that does not state",
  ],
  [
    "a frame of 2^63 bytes",
    frame({ size: 2n ** 63n }, block(RLE, 131_072, true, 0)),
    "ERR_ZSTD_IMPLAUSIBLE_SIZE: part 0 declares 9223372036854775808 bytes",
  ],
  [
    "a bomb that its blocks cannot hold",
    frame({ size: 2n ** 30n }, block(RLE, 131_072, true, 0)),
    "ERR_ZSTD_IMPLAUSIBLE_SIZE",
  ],
  [
    "a block too few",
    frame(
      { size: 262_144n, window: windowOf(20) },
      block(RLE, 131_072, true, 0),
      block(RAW, 0, true),
    ),
    "ERR_ZSTD_",
  ],
  [
    "more content than declared",
    frame({ size: 10n, window: windowOf(10) }, block(RAW, 20, true, ...CONTENT.subarray(0, 20))),
    "ERR_ZSTD_SIZE_MISMATCH",
  ],
  [
    "less content than declared",
    frame({ size: 20n }, block(RAW, 10, true, ...CONTENT.subarray(0, 10))),
    "ERR_ZSTD_",
  ],
  ["two frames", concat(whole(CONTENT), whole(CONTENT)), "ERR_ZSTD_TRAILING_BYTES"],
  ["a byte after the frame", concat(whole(CONTENT), Uint8Array.of(0)), "ERR_ZSTD_TRAILING_BYTES"],
  ["a skippable frame", concat(u(0x184d2a50, 4), u(4, 4), u(0, 4)), "ERR_ZSTD_UNKNOWN_SENTINEL"],
  [
    "a skippable frame after the other",
    concat(whole(CONTENT), u(0x184d2a50, 4), u(0, 4)),
    "ERR_ZSTD_TRAILING_BYTES",
  ],
  [
    "a frame of a legacy format",
    concat(u(0xfd2fb527, 4), new Uint8Array(20)),
    "ERR_ZSTD_UNKNOWN_SENTINEL",
  ],
  [
    "a reserved bit",
    concat(ZSTD_SENTINELS.frame, Uint8Array.of(0x28, 1), block(RAW, 1, true, 1)),
    "ERR_ZSTD_CORRUPT_BLOCK",
  ],
  [
    "a reserved type of block",
    frame({ size: 4n }, block(3, 4, true, 1, 2, 3, 4)),
    "ERR_ZSTD_CORRUPT_BLOCK",
  ],
  [
    "a window of 2 GiB",
    frame({ size: 300n, window: windowOf(31) }, block(RAW, 300, true, ...CONTENT)),
    "ERR_ZSTD_BLOCK_TOO_LARGE",
  ],
  [
    "a window of 16 MiB for little",
    frame({ size: 300n, window: windowOf(24) }, block(RAW, 300, true, ...CONTENT)),
    "ERR_ZSTD_BLOCK_TOO_LARGE",
  ],
  [
    "a wrong checksum",
    concat(frame({ size: 300n, checksum: true }, block(RAW, 300, true, ...CONTENT)), u(1, 4)),
    "ERR_ZSTD_CORRUPT_BLOCK",
  ],
  [
    "a dictionary that was not sent",
    withDictionary,
    "ERR_ZSTD_CORRUPT_BLOCK: part 0 needs a dictionary",
  ],
  [
    "another dictionary",
    frame({ size: 300n, dictionaryId: id + 1 }, block(RAW, 300, true, ...CONTENT)),
    "ERR_ZSTD_CORRUPT_BLOCK: part 0 needs a dictionary",
    [dictionary],
  ],
  ["a second dictionary", dictionary, "ERR_ZSTD_DICTIONARY_REPEATED", [dictionary]],
  [
    "a dictionary that is too long",
    concat(ZSTD_SENTINELS.ZDICT, new Uint8Array(8189)),
    "ERR_ZSTD_DICTIONARY_SIZE: part 0 is a dictionary of 8193 bytes",
  ],
  [
    "a dictionary that is none",
    concat(ZSTD_SENTINELS.ZDICT, new Uint8Array(100)),
    "ERR_ZSTD_CORRUPT_BLOCK: part 0 is a dictionary that does not decode",
  ],
  ["an arena without a head", concat(ZSTD_SENTINELS.ZSTA, new Uint8Array(4)), "ERR_ZSTD_ARENA"],
  [
    "an arena whose body is no frame",
    concat(ZSTD_SENTINELS.ZSTA, u(1, 4), u(4, 4), u(1, 4), u(0, 4)),
    "ERR_ZSTD_CORRUPT_BLOCK",
  ],
  [
    "an arena whose frame has another size",
    concat(ZSTD_SENTINELS.ZSTA, u(1, 4), u(4, 4), u(1, 4), whole(CONTENT)),
    "ERR_ZSTD_SIZE_MISMATCH",
  ],
  ["three bytes", Uint8Array.of(0x28, 0xb5, 0x2f), "ERR_ZSTD_PART_TOO_SHORT"],
])("%s is refused", (_, part, message, before) => {
  expect(refusal(part, {}, before)).toContain(message)
})

test("a dictionary inside a message is refused", () => {
  using codec = create()
  expect(() => codec.decode([dictionary, plainPart(Uint8Array.of(1))])).toThrow(
    "ERR_ZSTD_DICTIONARY_MULTIPART",
  )
})

test("windows of 8 MiB are read, and larger ones that the content needs", () => {
  using codec = create()
  const part = frame({ size: 300n, window: windowOf(23) }, block(RAW, 300, true, ...CONTENT))
  expect(codec.decodePart(part)).toEqual(CONTENT)
  const run = block(RLE, 131_072, false, 7)
  const blocks = Array.from({ length: 127 }, () => run)
  const large = frame(
    { size: BigInt(16 * MIB), window: windowOf(24) },
    ...blocks,
    block(RLE, 131_072, true, 7),
  )
  expect(Buffer.compare(codec.decodePart(large)!, Buffer.alloc(16 * MIB, 7))).toBe(0)
})

test("the declared size counts against maxMessageSize before anything is decoded", () => {
  const part = frame({ size: 2n ** 40n }, block(RLE, 131_072, true, 0))
  expect(refusal(part, { maxMessageSize: 1000 })).toContain(
    "ERR_ZSTD_BUDGET_EXCEEDED: part 0 declares 1099511627776 bytes; 1000 left",
  )
})

test.each([
  ["a small part", text(5000)],
  ["a large part", text(MIB + 1)],
])("%s that ends early is refused, wherever it does", (_, plain) => {
  using codec = create()
  const part = codec.encodePart(plain)
  const step = part.length > 5000 ? 9973 : 1
  for (let length = 0; length < part.length; length += step)
    expect(refusal(part.subarray(0, length))).toMatch(/^ERR_ZSTD_/)
})

test("any damage to a part gives its size or a ProtocolError", () => {
  using codec = create()
  for (const plain of [text(700), text(MIB + 5)]) {
    const part = codec.encodePart(plain)
    for (let i = 0; i < 400; i++) {
      const damaged = part.slice()
      damaged[(i * 7919) % part.length]! ^= 1 + (i % 255)
      try {
        expect(codec.decodePart(damaged)!.length).toBeGreaterThanOrEqual(0)
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError)
      }
    }
    expect(Buffer.compare(codec.decodePart(part)!, plain)).toBe(0)
  }
})

test("a gigabyte in 32 KB is refused by the budget, and decoded without one piece by piece", () => {
  const run = block(RLE, 131_072, false, 7)
  const size = 256 * MIB
  const blocks = Array.from({ length: size / 131_072 - 1 }, () => run)
  const bomb = frame(
    { size: BigInt(size), window: windowOf(20) },
    ...blocks,
    block(RLE, 131_072, true, 7),
  )
  expect(bomb.length).toBeLessThan(10_000)
  expect(refusal(bomb, { maxMessageSize: 16 * MIB })).toContain("ERR_ZSTD_BUDGET_EXCEEDED")
  using codec = create()
  expect(codec.decodePart(bomb)!.length).toBe(size)
})

test("10,000 receivers with a dictionary each take its bytes, and little more", () => {
  const instance = loadInstanceSync(zstd)
  const before = instance.exports.memory.buffer.byteLength
  const receivers: Transcoder[] = []
  const message = (part: Uint8Array) => concat(Uint8Array.of(2, 0, 0, 0, 0, 0, 0), u16(part), part)
  const u16 = (part: Uint8Array) => Uint8Array.of(part.length >> 8, part.length & 0xff)
  const own = new Uint8Array(dictionary)
  const id = new DataView(own.buffer)
  for (let i = 0; i < 10_000; i++) {
    id.setUint32(4, 1 + i, true)
    const receiver = Transcoder.receiving(instance, { budgetBytes: -1, revision: 2 }, true)
    receiver.transcode(message(own), { take: () => true })
    // A frame of 3 bytes that needs this dictionary, and no other.
    const needs = frame({ size: 3n, dictionaryId: 1 + i }, block(RAW, 3, true, ...text(3)))
    let got: Uint8Array | undefined
    receiver.transcode(message(needs), {
      take: (piece) => {
        got = new Uint8Array(piece)
        return true
      },
    })
    expect(got?.subarray(-3)).toEqual(text(3))
    receivers.push(receiver)
  }
  const grown = instance.exports.memory.buffer.byteLength - before
  // Those that are prepared for use are kept for a few connections only.
  expect(grown).toBeLessThan(10_000 * (own.length + 1024) + 16 * MIB)
  for (const receiver of receivers) receiver.close()
})

test("the level may change from part to part", () => {
  const levels = [-7, -5, -1, 1, 3, 5, 7, 9, "none"] as const
  const plain = text(20_000)
  using receiver = create()
  for (let round = 0; round < 3; round++)
    for (const level of levels) {
      using sender = create({ level })
      expect(Buffer.compare(receiver.decodePart(sender.encodePart(plain))!, plain)).toBe(0)
    }
})

test("many dictionaries in turn, more than are kept ready", () => {
  const made = Array.from({ length: 3 }, (_, i) => i)
  const pairs = Array.from({ length: 80 }, (_, i) => {
    const own = dictionary.slice()
    new DataView(own.buffer).setUint32(4, 40_000 + i, true)
    return { sender: create({ dictionary: own }), receiver: create() }
  })
  for (const round of made)
    for (const [i, { sender, receiver }] of pairs.entries()) {
      const plain = text(200 + i + round)
      const received = sender.encode([plain]).flatMap((message) => receiver.decode(message))
      expect(Buffer.compare(received[0]![0]!, plain)).toBe(0)
    }
  for (const { sender, receiver } of pairs) {
    sender.close()
    receiver.close()
  }
})
