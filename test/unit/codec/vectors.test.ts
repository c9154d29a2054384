import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { sha256 } from "../../support/hash.js"
import { vectorDictionary } from "../../support/plaintexts.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import {
  bin,
  manifest,
  nameOf,
  nameOfArena,
  plainOf,
  type VectorPart,
  wireOf,
} from "../../support/vectors.js"
import { dictionaryPart, plainPart } from "../../support/wire.js"

const receivers = new Map<string, Codec>()

/** One receiver per build and dictionary decodes all its vectors, as a connection would. */
function receiverFor({ dictionary, blockSize }: VectorPart): Codec {
  const key = `${dictionary} ${blockSize}`
  let codec = receivers.get(key)
  if (!codec) {
    codec = Codec.createSync(blockSize === undefined ? {} : { wasm: smallBlocks })
    if (dictionary) codec.decodePart(dictionaryPart(vectorDictionary()))
    receivers.set(key, codec)
  }
  return codec
}

describe("the vectors are those that Python generated", () => {
  test("Python generated the same vectors.bin", () => expect(sha256(bin)).toBe(manifest.binSha256))

  test("the dictionary is the one that Python trained", () => {
    expect(sha256(vectorDictionary())).toBe(manifest.dictionarySha256)
  })

  test("small blocks have the module's block size", () => {
    const sizes = new Set(manifest.parts.map((part) => part.blockSize).filter(Boolean))
    expect([...sizes]).toEqual([smallBlockSize])
  })
})

describe("plain parts", () => {
  const codec = Codec.createSync()
  test.each(manifest.plaintexts)("$kind $size B", (vector) => {
    const plain = plainOf(vector)
    expect(sha256(plain)).toBe(vector.sha256)
    expectSameBytes(codec.decodePart(plainPart(plain)), plain)
  })
})

describe("parts that another LZ4 implementation compressed", () => {
  test.each(manifest.parts.map((part) => [nameOf(part), part] as const))("%s", (_, part) => {
    const [receiver, wire, plain] = [receiverFor(part), wireOf(part), plainOf(part)]
    expectSameBytes(receiver.decodePart(wire), plain)

    const target = new Uint8Array(plain.length + 1)
    expect(receiver.decodedSize(wire)).toBe(plain.length)
    expect(receiver.decodeInto(wire, target)).toBe(plain.length)
    expectSameBytes(target.subarray(0, plain.length), plain)
  })
})

describe("arenas that another LZ4 implementation compressed", () => {
  test.each(manifest.arenas.map((arena) => [nameOfArena(arena), arena] as const))(
    "%s",
    (_, arena) => {
      const { messages, parts, size, refused } = arena
      using codec = Codec.createSync()
      const decode = () => codec.decode([wireOf(arena)])
      if (refused) expect(decode).toThrow(/^ERR_LZ4_ARENA: /)
      else expect(decode()).toEqual(Array(messages).fill(Array(parts).fill(letters(size))))
    },
  )
})

const letters = (size: number): Uint8Array => new Uint8Array(size).fill(97)

/** vitest's own comparison takes seconds for a MiB. */
function expectSameBytes(actual: Uint8Array | undefined, expected: Uint8Array): void {
  if (!actual) throw new Error("there are no bytes")
  if (Buffer.compare(actual, expected) === 0) return
  const at = actual.findIndex((byte, i) => byte !== expected[i])
  expect.fail(
    `${actual.length} bytes instead of ${expected.length}; the first difference is at byte ${at}`,
  )
}
