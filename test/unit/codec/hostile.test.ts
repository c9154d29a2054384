/** Violations that a receiver refuses, and their codes: RFC.md section 5.2, step by step. */
import { describe, expect, test } from "vitest"
import { Codec, ProtocolError, type ProtocolErrorCode } from "zeromq-lz4/codec"

import { type Child, inChild } from "../../support/child.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import { concat, dictionaryPart, plainPart, SENTINELS } from "../../support/wire.js"

const GIB = 1n << 30n
const MIB = 1 << 20

interface Case {
  /** A description of the violation. */
  what: string
  code: ProtocolErrorCode
  /** The seen and allowed values in the error message. */
  says?: (string | RegExp)[]
  wire: Uint8Array
  budget?: number
  /** Earlier parts on the same connection. */
  before?: Uint8Array
  /** Whether it is only tested as a single part, or only in a longer message. */
  only?: "alone" | "multipart"
  wasm?: WebAssembly.Module
}

// -- Building parts ----------------------------------------------------------------------

const text = new TextEncoder().encode("what is said often is said in few bytes, and ".repeat(23))
const noise = Uint8Array.from({ length: 1000 }, (_, i) => (i * i * 31 + (i >> 3) * 7) & 0xff)

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer)
const u64 = (value: bigint | number): Uint8Array =>
  new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)

const lz4b = (size: bigint | number, block: Uint8Array): Uint8Array =>
  concat(SENTINELS.LZ4B, u64(size), block)
const lz4m = (size: bigint | number, ...blocks: Uint8Array[]): Uint8Array =>
  concat(SENTINELS.LZ4M, u64(size), ...blocks.flatMap((block) => [u32(block.length), block]))

const encode = (plain: Uint8Array): Uint8Array => {
  using codec = Codec.createSync({ minCompressSize: 0 })
  return codec.encodePart(plain)
}
const block = encode(text).subarray(12)
/** Returns a block of literals only. */
const literals = (bytes: Uint8Array): Uint8Array =>
  concat(Uint8Array.of(0xf0, bytes.length - 15), bytes)

const goodB = lz4b(text.length, block)
const goodM = lz4m(text.length, block)
/** Twenty bytes of block are plausible for up to 5100 of plaintext. */
const twenty = new Uint8Array(20)

const SIZES: [string, bigint][] = [
  ["2^31", 1n << 31n],
  ["2^32", 1n << 32n],
  ["2^53", 1n << 53n],
  ["2^63", 1n << 63n],
  ["2^64 - 1", (1n << 64n) - 1n],
]

// -- The table -----------------------------------------------------------------------------

const cutShort: Case[] = [
  ...[0, 1, 2, 3].map(
    (length): Case => ({
      what: `a part of ${length} bytes`,
      code: "ERR_LZ4_PART_TOO_SHORT",
      says: [`${length} bytes`, "4"],
      wire: new Uint8Array(length),
    }),
  ),
  ...[goodB, goodM, dictionaryPart(text), plainPart(text)].flatMap((part) =>
    [1, 2, 3].map(
      (length): Case => ({
        what: `the first ${length} bytes of ${name(part)}`,
        code: "ERR_LZ4_PART_TOO_SHORT",
        says: [`${length} bytes`, "4"],
        wire: part.subarray(0, length),
      }),
    ),
  ),
  ...[goodB, goodM].flatMap((part) =>
    [4, 5, 6, 7, 8, 9, 10, 11].map(
      (length): Case => ({
        what: `the first ${length} bytes of ${name(part)}`,
        code: "ERR_LZ4_TRUNCATED",
        says: [`${length} bytes`],
        wire: part.subarray(0, length),
      }),
    ),
  ),
  {
    what: "LZ4B of nothing without its block",
    code: "ERR_LZ4_TRUNCATED",
    says: ["12 bytes"],
    wire: lz4b(0, new Uint8Array(0)),
  },
  ...[1, 2, 3].map(
    (length): Case => ({
      what: `LZ4M with ${length} bytes of a block length`,
      code: "ERR_LZ4_TRUNCATED",
      says: [`${12 + length} bytes`],
      wire: lz4m(3, twenty).subarray(0, 12 + length),
    }),
  ),
  {
    what: "LZ4M with an empty block",
    code: "ERR_LZ4_TRUNCATED",
    wire: lz4m(20, new Uint8Array(0)),
  },
  {
    what: "LZ4M with a block longer than the part",
    code: "ERR_LZ4_TRUNCATED",
    says: [`${goodM.length - 1} bytes`],
    wire: goodM.subarray(0, -1),
  },
]

const unknown: Case[] = (
  [
    ["LZ4X", new TextEncoder().encode("LZ4X"), "4c 5a 34 58"],
    ["a sentinel in lower case", new TextEncoder().encode("lz4b"), "6c 7a 34 62"],
    ["plaintext", new TextEncoder().encode("hello, world"), "68 65 6c 6c"],
    ["01 00 00 00", Uint8Array.of(1, 0, 0, 0), "01 00 00 00"],
    ["00 00 00 01", Uint8Array.of(0, 0, 0, 1), "00 00 00 01"],
  ] as const
).map(([what, wire, seen]) => ({ what, code: "ERR_LZ4_UNKNOWN_SENTINEL", says: [seen], wire }))

const sizes: Case[] = [
  ...SIZES.flatMap(([what, size]): Case[] => [
    {
      what: `LZ4B of ${what} bytes`,
      code: "ERR_LZ4_BLOCK_TOO_LARGE",
      says: [`${size} bytes`, `${GIB}`],
      wire: lz4b(size, twenty),
    },
    {
      what: `LZ4M of ${what} bytes`,
      code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
      says: [`${size} bytes`, "255"],
      wire: lz4m(size, twenty),
    },
    {
      what: `LZ4M of ${what} bytes over budget`,
      code: "ERR_LZ4_BUDGET_EXCEEDED",
      says: [`${size} bytes`, `${MIB} left`, `maxMessageSize ${MIB}`],
      wire: lz4m(size, twenty),
      budget: MIB,
    },
  ]),
  {
    what: "LZ4B of 1 GiB and a byte",
    code: "ERR_LZ4_BLOCK_TOO_LARGE",
    says: [`${GIB + 1n} bytes`, `${GIB}`],
    wire: lz4b(GIB + 1n, twenty),
    budget: MIB,
  },
  {
    what: "LZ4B of 1 GiB in 20 bytes",
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: [`${GIB} bytes`, "255"],
    wire: lz4b(GIB, twenty),
  },
  {
    what: "LZ4B of one byte over 255 times its block",
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: ["5101 bytes", "255"],
    wire: lz4b(5101, twenty),
  },
  {
    what: "LZ4M of one byte over 255 times its blocks",
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: [`${24 * 255 + 1} bytes`, "255"],
    wire: lz4m(24 * 255 + 1, twenty),
  },
  {
    what: "LZ4M with a block that cannot hold its plaintext",
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
    says: ["5101 bytes", "255"],
    wire: lz4m(5101, twenty),
  },
  {
    what: "LZ4B of a size one too large",
    code: "ERR_LZ4_SIZE_MISMATCH",
    says: [`${text.length + 1} bytes`],
    wire: lz4b(text.length + 1, block),
  },
  {
    what: "LZ4B of a size one too small",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: [`${text.length - 1} bytes`],
    wire: lz4b(text.length - 1, block),
  },
  {
    what: "LZ4M of a size one too large",
    code: "ERR_LZ4_SIZE_MISMATCH",
    says: [`${text.length + 1} bytes`],
    wire: lz4m(text.length + 1, block),
  },
  {
    what: "LZ4M of a size one too small",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: [`${text.length - 1} bytes`],
    wire: lz4m(text.length - 1, block),
  },
]

const budgets: Case[] = [
  ...[plainPart(text), goodB, goodM].flatMap((wire) =>
    [text.length - 1, 1, 0].map(
      (budget): Case => ({
        what: `${name(wire)} of ${text.length} bytes with a budget of ${budget}`,
        code: "ERR_LZ4_BUDGET_EXCEEDED",
        says: [`${text.length} bytes`, `${budget} left`, `maxMessageSize ${budget}`],
        wire,
        budget,
      }),
    ),
  ),
  {
    what: "a budget that the part before has spent",
    code: "ERR_LZ4_BUDGET_EXCEEDED",
    says: [`${text.length} bytes`, /\b20 left/, `maxMessageSize ${text.length + 20}`],
    wire: goodB,
    budget: text.length + 20,
    before: plainPart(text),
    only: "multipart",
  },
]

const blocks: Case[] = [
  {
    what: "LZ4B with a byte after its block",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    says: [`${text.length} bytes`],
    wire: concat(goodB, Uint8Array.of(0)),
  },
  {
    what: "LZ4B without the last byte of its block",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: goodB.subarray(0, -1),
  },
  {
    what: "LZ4B with a longer block than its size can take",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4b(3, twenty),
  },
  {
    what: "LZ4B of nothing with a block that is not 00",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4b(0, Uint8Array.of(0x10)),
  },
  {
    what: "a match before the start of the plaintext",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4b(18, Uint8Array.of(0x18, 0x61, 2, 0, 0x50, 1, 2, 3, 4, 5)),
  },
  {
    what: "literals beyond the end of the block",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4b(200, literals(noise.subarray(0, 200)).subarray(0, 150)),
  },
  {
    what: "a match that runs to the end of the plaintext and on",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4b(100, concat(Uint8Array.of(0x1f, 0x61, 1, 0), new Uint8Array(20).fill(255))),
  },
  {
    what: "a block made with a dictionary that was not sent",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: withDictionary(text),
  },
]

const trailing: Case[] = [
  {
    what: "LZ4M with a byte after its last block",
    code: "ERR_LZ4_TRAILING_BYTES",
    says: [`${text.length} bytes`],
    wire: concat(goodM, Uint8Array.of(0)),
  },
  {
    what: "LZ4M with a block after its last block",
    code: "ERR_LZ4_TRAILING_BYTES",
    says: [`${text.length} bytes`],
    wire: lz4m(text.length, block, block),
  },
  {
    what: "LZ4M of nothing with a block",
    code: "ERR_LZ4_TRAILING_BYTES",
    wire: lz4m(0, Uint8Array.of(0)),
  },
  {
    what: "LZ4M with more bytes than its blocks can take",
    code: "ERR_LZ4_TRAILING_BYTES",
    says: ["3 bytes"],
    wire: lz4m(3, new Uint8Array(100)),
  },
]

const dictionaries: Case[] = [
  ...[0, 8193, 100_000].map(
    (length): Case => ({
      what: `a dictionary of ${length} bytes`,
      code: "ERR_LZ4_DICTIONARY_SIZE",
      says: [`${length} bytes`, "1 to 8192"],
      wire: dictionaryPart(new Uint8Array(length)),
      only: "alone",
    }),
  ),
  ...[1, 8192, 0, 8193].map(
    (length): Case => ({
      what: `a second dictionary, of ${length} bytes`,
      code: "ERR_LZ4_DICTIONARY_REPEATED",
      says: ["second dictionary", "one is allowed"],
      wire: dictionaryPart(new Uint8Array(length)),
      before: dictionaryPart(text),
      only: "alone",
    }),
  ),
  {
    what: "the same dictionary again, with the budget at 1",
    code: "ERR_LZ4_DICTIONARY_REPEATED",
    wire: dictionaryPart(text),
    before: dictionaryPart(text),
    budget: 1,
    only: "alone",
  },
  ...[0, 1, 8192, 8193].map(
    (length): Case => ({
      what: `a dictionary of ${length} bytes in a multipart message`,
      code: "ERR_LZ4_DICTIONARY_MULTIPART",
      says: ["multipart"],
      wire: dictionaryPart(new Uint8Array(length)),
      only: "multipart",
    }),
  ),
]

// Parts of several blocks, as above 1 GiB.
const first = smallBlocksOf(new Uint8Array(smallBlockSize))
const several: Case[] = [
  {
    what: "LZ4M with a short block that is not the last",
    code: "ERR_LZ4_SIZE_MISMATCH",
    says: [`${smallBlockSize + 200} bytes`],
    wire: lz4m(
      smallBlockSize + 200,
      smallBlocksOf(new Uint8Array(smallBlockSize - 1)),
      literals(noise.subarray(0, 201)),
    ),
    wasm: smallBlocks,
  },
  {
    what: "LZ4M that ends after its first block",
    code: "ERR_LZ4_TRUNCATED",
    says: [`${lz4m(0, first).length} bytes`],
    wire: lz4m(smallBlockSize + 200, first),
    wasm: smallBlocks,
  },
  {
    what: "LZ4M whose second block is corrupt",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4m(smallBlockSize + 200, first, literals(noise.subarray(0, 200)).fill(0xff)),
    wasm: smallBlocks,
  },
  {
    what: "LZ4M whose second block refers to the first",
    code: "ERR_LZ4_CORRUPT_BLOCK",
    wire: lz4m(
      smallBlockSize + 10,
      first,
      Uint8Array.of(0x10, 0x61, 2, 0, 0x50, 0x61, 0x62, 0x63, 0x64, 0x65),
    ),
    wasm: smallBlocks,
  },
  {
    what: "LZ4M with a third block for two blocks' plaintext",
    code: "ERR_LZ4_TRAILING_BYTES",
    wire: lz4m(2 * smallBlockSize, first, first, first),
    wasm: smallBlocks,
  },
  {
    what: "LZ4B of a block and a byte",
    code: "ERR_LZ4_BLOCK_TOO_LARGE",
    says: [`${smallBlockSize + 1} bytes`, `${smallBlockSize} are allowed`],
    wire: lz4b(smallBlockSize + 1, new Uint8Array(smallBlockSize)),
    wasm: smallBlocks,
  },
]

const groups: Record<string, Case[]> = {
  "a part cut short": cutShort,
  "an unknown sentinel": unknown,
  "a size that cannot be": sizes,
  "more than the budget": budgets,
  "a block that does not decode": blocks,
  "bytes left over": trailing,
  "dictionaries against the rules": dictionaries,
  "parts of several blocks": several,
}

function name(part: Uint8Array): string {
  return part[3] === 0 ? "plain" : String.fromCharCode(...part.subarray(0, 4))
}

/** LZ4B of the dictionary's bytes: one long match into it. */
function withDictionary(dictionary: Uint8Array): Uint8Array {
  using codec = Codec.createSync({ dictionary })
  return codec.encodePart(dictionary)
}

function smallBlocksOf(plain: Uint8Array): Uint8Array {
  using codec = Codec.createSync({ wasm: smallBlocks })
  return codec.encodePart(plain).subarray(12)
}

// -- The tests -------------------------------------------------------------------------------

const none = new Uint8Array(0)
const empty = plainPart(none)

/** Larger than all valid sizes in the table. */
const largeTarget = new Uint8Array(4 << 20)

/** The messages with which a hostile part is tested: its position in them, and the method. */
const SHAPES: {
  shape: string
  multipart: boolean
  part: number
  decode: (codec: Codec, wire: Uint8Array, before?: Uint8Array) => unknown
}[] = [
  {
    shape: "decodePart",
    multipart: false,
    part: 0,
    decode: (codec, wire) => codec.decodePart(wire),
  },
  {
    shape: "decodeInto",
    multipart: false,
    part: 0,
    decode: (codec, wire) => codec.decodeInto(wire, largeTarget),
  },
  {
    shape: "decode",
    multipart: false,
    part: 0,
    decode: (codec, wire) => codec.decode([wire]),
  },
  {
    shape: "decode as the first of two parts",
    multipart: true,
    part: 0,
    decode: (codec, wire) => codec.decode([wire, empty]),
  },
  {
    shape: "decode as the last of two parts",
    multipart: true,
    part: 1,
    decode: (codec, wire, before = empty) => codec.decode([before, wire]),
  },
]

for (const [group, cases] of Object.entries(groups))
  describe(group, () => {
    for (const of of cases)
      for (const { shape, multipart, part, decode } of SHAPES) {
        const { what, code, says = [], wire, budget, before, only, wasm } = of
        if (only === (multipart ? "alone" : "multipart")) continue
        if (only === "multipart" && before && part === 0) continue

        test(`${what}, by ${shape}: ${code}`, () => {
          using codec = Codec.createSync({
            ...(budget !== undefined && { maxMessageSize: budget }),
            ...(wasm && { wasm }),
          })
          if (before && !multipart) codec.decodePart(before)
          const stats = codec.stats

          const error = caught(() => decode(codec, wire, before))
          expect(error).toBeInstanceOf(ProtocolError)
          expect(error).toMatchObject({ name: "ProtocolError", code })
          expect(error.message).toMatch(new RegExp(`^${code}: part ${part} `))
          for (const words of says) expect(error.message).toMatch(words)

          expect(codec.stats).toEqual(stats)
          expectGoodPart(codec, budget)
        })
      }
  })

function caught(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  return expect.fail("nothing was thrown")
}

/** The longest valid parts that the budget allows, in both forms that always exist. */
function expectGoodPart(codec: Codec, budget = text.length): void {
  const good = text.subarray(0, budget)
  for (const wire of [plainPart(good), encode(good)]) {
    expectSameBytes(codec.decodePart(wire), good)
    expectSameBytes(codec.decode([wire, empty])[0]![0]!, good)
  }
}

describe("allowed parts", () => {
  const forms = { plain: plainPart(text), LZ4B: goodB, LZ4M: goodM }

  for (const [form, wire] of Object.entries(forms))
    test(`${form} of exactly the budget, message after message`, () => {
      using codec = Codec.createSync({ maxMessageSize: text.length })
      for (let message = 0; message < 3; message++) expectSameBytes(codec.decodePart(wire), text)
    })

  test("parts that together use exactly the budget", () => {
    using codec = Codec.createSync({ maxMessageSize: 3 * text.length })
    const wire = Object.values(forms).flatMap((part) => [part, empty])
    for (let message = 0; message < 3; message++)
      expect(codec.decode(wire)).toEqual([[text, none, text, none, text, none]])
  })

  test("empty parts of every form with a budget of 0", () => {
    using codec = Codec.createSync({ maxMessageSize: 0 })
    expect(codec.decode([empty, lz4b(0, Uint8Array.of(0)), lz4m(0)])).toEqual([[none, none, none]])
  })

  for (const length of [1, 8192])
    for (const maxMessageSize of [0, 1])
      test(`a dictionary of ${length} bytes with a budget of ${maxMessageSize}`, () => {
        const wire = dictionaryPart(new Uint8Array(length))
        using codec = Codec.createSync({ maxMessageSize })
        expect(codec.decode([wire])).toEqual([])
        using other = Codec.createSync({ maxMessageSize })
        expect(other.decodePart(wire)).toBeUndefined()
        expect(other.decodePart(empty)).toEqual(none)
      })

  test("a dictionary after refused ones", () => {
    using codec = Codec.createSync()
    for (const length of [0, 8193])
      expect(() => codec.decodePart(dictionaryPart(new Uint8Array(length)))).toThrow(ProtocolError)
    expect(() => codec.decode([dictionaryPart(text), empty])).toThrow(ProtocolError)
    expect(codec.decode([dictionaryPart(text)])).toEqual([])
    expectSameBytes(codec.decodePart(withDictionary(text)), text)
  })

  test("plaintext of almost 255 times the block", () => {
    // One match, whose length takes a thousand bytes.
    const match = concat(Uint8Array.of(0x1f, 0x61, 1, 0), new Uint8Array(1000).fill(255))
    const plain = new Uint8Array(1 + (4 + 15 + 255 * 1000) + 5).fill(0x61)
    const wire = lz4b(plain.length, concat(match, Uint8Array.of(0, 0x50), plain.subarray(0, 5)))
    using codec = Codec.createSync()
    expectSameBytes(codec.decodePart(wire), plain)
  })
})

test("the whole table uses less than 32 MiB", async () => {
  const table = Object.values(groups).flat()
  const { refused, start, most } = await inChild(
    decodeAll,
    table.map(({ wire, budget, before, wasm }) => ({ wire, budget, before, small: !!wasm })),
  )
  expect(refused).toBe(table.length)
  for (const kind of ["rss", "heap", "arrayBuffers", "wasm"] as const)
    expect(most[kind] - start[kind], kind).toBeLessThan(32 * MIB)
})

interface TableRow {
  wire: Uint8Array
  budget: number | undefined
  before: Uint8Array | undefined
  small: boolean
}

/** Decodes every part in every shape, and counts those that were refused in any. */
async function decodeAll(
  { Codec, ProtocolError, memory, memoryNow, smallBlocks }: Child,
  table: TableRow[],
) {
  const wasm = smallBlocks()
  Codec.createSync({ wasm }).close()
  const start = await memory()
  const most = { ...start }
  let refused = 0
  for (const { wire, budget = -1, before, small } of table) {
    const codec = Codec.createSync({ maxMessageSize: budget, ...(small && { wasm }) })
    const part = new Uint8Array(4)
    const attempts = [
      () => codec.decode([before ?? part]),
      () => codec.decodePart(wire),
      () => codec.decode([wire]),
      () => codec.decode([wire, part]),
      () => codec.decode([before ?? part, wire]),
    ]
    const outcomes = attempts.map((attempt) => {
      try {
        return attempt()
      } catch (error) {
        if (error instanceof ProtocolError) return error
        throw error
      }
    })
    codec.close()
    if (outcomes.some((outcome) => outcome instanceof ProtocolError)) refused++
    const now = memoryNow()
    for (const kind of ["rss", "heap", "arrayBuffers", "wasm"] as const)
      most[kind] = Math.max(most[kind], now[kind])
  }
  return { refused, start, most }
}
