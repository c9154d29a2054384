/** LZ4HC with `level`, which any decoder can read. */
import { createRequire } from "node:module"

import { describe, expect, test } from "vitest"
import { Codec, type CodecOptions } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { loadInstanceSync } from "../../../src/codec/module.js"
import {
  checkCodecOptions,
  checkEndpointOptions,
  checkLz4Options,
  type Lz4Options,
} from "../../../src/codec/options.js"
import { inChild } from "../../support/child.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import { atOnce, open, run } from "../../support/transcoding.js"
import { concat, formOf } from "../../support/wire.js"
import { frame, handshake } from "../../support/zmtp.js"

const LEVELS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const
const KINDS = ["json", "lorem", "zeros", "random"] as const
const MIB = 2 ** 20
const dictionary = payload("json", 2048, 999)
const SIZES = [512, 1000, 4096, 5000, 65_536, 200_000, MIB] as const
/** Texts of these sizes, which take longer to make than to compress. */
const plains = Object.fromEntries(
  KINDS.map((kind) => [kind, SIZES.map((size) => payload(kind, size))]),
)

/** Decodes LZ4 with another implementation, in JavaScript. The block may refer to bytes of `target` before `at`. */
const { decompressBlock } = createRequire(import.meta.url)("lz4js") as {
  decompressBlock(
    source: Uint8Array,
    target: Uint8Array,
    from: number,
    length: number,
    at: number,
  ): number
}

/** Decodes an LZ4B part with that decoder. */
function decodedElsewhere(wire: Uint8Array, history: Uint8Array = new Uint8Array(0)): Uint8Array {
  expect(formOf(wire)).toBe("LZ4B")
  const plainBytes = Number(new DataView(wire.buffer, wire.byteOffset).getBigUint64(4, true))
  const target = concat(history, new Uint8Array(plainBytes))
  const end = decompressBlock(wire, target, 12, wire.length - 12, history.length)
  expect(end).toBe(target.length)
  return target.subarray(history.length)
}

const encoded = (plain: Uint8Array, options: CodecOptions): Uint8Array => {
  using codec = Codec.createSync(options)
  return codec.encodePart(plain)
}

describe.each(LEVELS)("level %i", (level) => {
  test.each(KINDS)("round-trips %s, with and without a dictionary", (kind) => {
    for (const options of [{}, { dictionary }])
      for (const plain of plains[kind]!) {
        using sender = Codec.createSync({ ...options, level })
        using receiver = Codec.createSync()
        const sent = sender.encode([plain])
        expectSameBytes(sent.flatMap((wire) => receiver.decode(wire))[0]![0]!, plain)
        expect(formOf(sent.at(-1)![0]!)).toBe(kind === "random" ? "plain" : "LZ4B")
      }
  })

  test("is read by an independent decoder", () => {
    for (const kind of ["json", "lorem", "zeros"] as const)
      for (const size of [1000, 70_000]) {
        const plain = payload(kind, size)
        expectSameBytes(decodedElsewhere(encoded(plain, { level })), plain)
        const wire = encoded(plain, { level, dictionary })
        expectSameBytes(decodedElsewhere(wire, dictionary), plain)
      }
  })

  test.each(["json", "lorem"] as const)("never makes %s longer than level 0", (kind) => {
    for (const options of [{}, { dictionary }])
      for (const size of [600, 2000, 10_000, 100_000]) {
        const plain = payload(kind, size, 3)
        const fast = encoded(plain, options)
        expect(encoded(plain, { ...options, level }).length).toBeLessThanOrEqual(fast.length)
      }
  })
})

test("higher levels give shorter parts", () => {
  const plain = payload("json", 200_000)
  const lengths = ([0, 3, 6, 9, 12] as const).map((level) => encoded(plain, { level }).length)
  expect(lengths).toEqual(lengths.slice().sort((a, b) => b - a))
  expect(lengths[4]).toBeLessThan(lengths[0]! * 0.85)
})

test("parts over 1 MiB are compressed with the same level", () => {
  const plain = payload("json", 2 * MIB + 5)
  for (const options of [{}, { dictionary }]) {
    const wire = encoded(plain, { ...options, level: 9 })
    expect(wire.length).toBeLessThan(encoded(plain, options).length * 0.9)
    expectSameBytes(decodedElsewhere(wire, "dictionary" in options ? dictionary : undefined), plain)
  }
})

test("parts of several blocks are compressed with the same level", () => {
  const plain = payload("json", 3 * smallBlockSize + 100)
  for (const options of [{}, { dictionary }]) {
    using sender = Codec.createSync({ ...options, level: 9, wasm: smallBlocks })
    using receiver = Codec.createSync({ wasm: smallBlocks })
    const sent = sender.encode([plain])
    expect(formOf(sent.at(-1)![0]!)).toBe("LZ4M")
    expectSameBytes(sent.flatMap((wire) => receiver.decode(wire))[0]![0]!, plain)
    const fast = encoded(plain, { ...options, wasm: smallBlocks })
    expect(sent.at(-1)![0]!.length).toBeLessThan(fast.length * 0.9)
  }
})

test("a stream is encoded as by Codec, including large parts", () => {
  const plains = [payload("json", 1000), payload("lorem", 100_000), payload("json", MIB + 1)]
  const options = { dictionary, level: 6 } as const
  using codec = Codec.createSync(options)
  const wire = codec.encodeBatch(plains.map((plain) => [plain])).flat()
  const stream = (parts: Uint8Array[]) =>
    concat(handshake("PUSH"), ...parts.map((part) => frame(part)))
  const sent = run(open.sending(loadInstanceSync(), options), stream(plains), atOnce)
  expectSameBytes(sent.output, stream(wire))
})

test("codecs with different levels and accelerations can alternate", () => {
  const options: CodecOptions[] = [{}, { level: 12 }, { acceleration: 50 }, { level: 3 }]
  const senders = [...options, ...options.map((of) => ({ ...of, dictionary }))].map((of) =>
    Codec.createSync(of),
  )
  const expected = senders.map((sender) => sender.encodePart(payload("json", 5000)))
  for (let round = 0; round < 20; round++)
    for (const [i, sender] of senders.entries()) {
      sender.encodePart(payload("random", 600 + 50 * round))
      expectSameBytes(sender.encodePart(payload("json", 5000)), expected[i]!)
    }
  for (const sender of senders) sender.close()
})

describe("options", () => {
  test.each<[options: object, type: typeof Error, says: string]>([
    [{ level: 1 }, RangeError, "level must be 0, or 3 to 12; got 1"],
    [{ level: 2 }, RangeError, "level must be 0, or 3 to 12; got 2"],
    [{ level: 13 }, RangeError, "level must be an integer from 0 to 12; got 13"],
    [{ level: -3 }, RangeError, "level must be an integer from 0 to 12; got -3"],
    [{ level: 2.5 }, RangeError, "level must be an integer from 0 to 12; got 2.5"],
    [{ level: Number.NaN }, RangeError, "level must be an integer from 0 to 12; got NaN"],
    [{ level: "9" }, TypeError, 'level must be a number; got "9"'],
    [
      { level: "fast" },
      TypeError,
      'level must be a number; got "fast" ("none" and, for sockets, "adaptive" are also levels)',
    ],
    [{ level: null }, TypeError, "level must be a number; got null"],
    [
      { level: 9, acceleration: 5 },
      TypeError,
      "acceleration applies to level 0 only; got it with level 9",
    ],
  ])("%j is refused", (options, type, says) => {
    const create = () => Codec.createSync(options)
    expect(create).toThrow(type)
    expect(create).toThrow(says)
  })

  test("adaptive with an acceleration is refused, since it has its own", () => {
    const check = () => checkLz4Options({ level: "adaptive", acceleration: 5 }, -1)
    expect(check).toThrow('acceleration applies to level 0 only; got it with level "adaptive"')
  })

  test.each<CodecOptions>([{ level: 0 }, { level: 0, acceleration: 5 }, { level: 3 }])(
    "%j is fine",
    (options) => {
      expect(() => Codec.createSync(options).close()).not.toThrow()
    },
  )
})

test("LZ4HC's memory is allocated once, by the first part that uses it", async () => {
  const [before, fast, first, second] = await inChild(({ Codec, memoryNow, fillWasmMemory }) => {
    const plain = new Uint8Array(1000)
    const fast = Codec.createSync()
    fast.encodePart(plain)
    const codecs = ([9, 9, 3] as const).map((level) => Codec.createSync({ level }))
    fillWasmMemory()
    const sizes = [memoryNow().wasm]
    fast.encodePart(plain)
    sizes.push(memoryNow().wasm)
    for (const codec of codecs) {
      codec.encodePart(plain)
      sizes.push(memoryNow().wasm)
    }
    return sizes
  })
  expect(fast).toBe(before)
  expect(first! - before!).toBeGreaterThanOrEqual(256 * 1024)
  expect(first! - before!).toBeLessThan(512 * 1024)
  expect(second).toBe(first)
})

describe("an endpoint of a socket", () => {
  const check = (options: Lz4Options) => checkEndpointOptions(options, -1, [])

  test("is adaptive unless a level or acceleration is given", () => {
    expect(check({})).toMatchObject({ adaptive: true, effort: 1 })
    expect(check({ level: "adaptive" })).toMatchObject({ adaptive: true, effort: 1 })
    expect(check({ level: 0 })).toMatchObject({ adaptive: false, effort: 1 })
    expect(check({ level: 9 })).toMatchObject({ adaptive: false, effort: -9 })
  })

  test("has level 0 with an acceleration alone", () => {
    expect(check({ acceleration: 5 })).toMatchObject({ adaptive: false, effort: 5 })
  })
})

test("a codec refuses to adapt, and does not by itself", () => {
  const adaptive = { level: "adaptive" } as object
  expect(() => Codec.createSync(adaptive)).toThrow('level "adaptive" is for sockets')
  expect(checkCodecOptions({}).adaptive).toBe(false)
})
