/** encodeInto, decodeInto and decodedSize: parts in arrays of the caller's. */
import { describe, expect, test } from "vitest"
import { Codec, type CodecOptions, ProtocolError } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { heldBytes } from "../../support/held-bytes.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { smallBlocks } from "../../support/small-blocks.js"
import { concat, dictionaryPart, plainPart, SENTINELS } from "../../support/wire.js"

const dictionary = payload("json", 2048, 1)
const FILL = 0xa5

/** Returns an array in the middle of a larger, filled one, and a check that the rest has not changed. */
function targetOf(bytes: number, Memory: new (bytes: number) => ArrayBufferLike = ArrayBuffer) {
  const all = new Uint8Array(new Memory(bytes + 64)).fill(FILL)
  const target = all.subarray(32, 32 + bytes)
  const expectUntouchedFrom = (written: number) => {
    const around = concat(all.subarray(0, 32), all.subarray(32 + written))
    expectSameBytes(around, Buffer.alloc(around.length, FILL))
  }
  return { target, expectUntouchedFrom }
}

function caught(work: () => unknown): Error & { code?: string } {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  return expect.fail("nothing was thrown")
}

const ways: Record<string, CodecOptions> = {
  "the defaults": {},
  "a dictionary": { dictionary },
  "level 9": { level: 9 },
  "blocks of 64 KiB": { wasm: smallBlocks },
}
const plains: Record<string, Uint8Array> = {
  "0 bytes": new Uint8Array(0),
  "1 byte": payload("json", 1),
  "a plain part": payload("json", 100),
  "1 KiB": payload("json", 1024),
  "noise of 5000 bytes": payload("random", 5000),
  "16 KiB": payload("lorem", 16_384),
  "64 KiB and a byte": payload("json", 65_537),
  "3 MiB": payload("json", 3 << 20),
  "noise of 2 MiB": payload("random", 2 << 20),
}

for (const [way, options] of Object.entries(ways))
  describe(`with ${way}`, () => {
    for (const [what, plain] of Object.entries(plains))
      test(`${what}: the same as encodePart and decodePart, and nothing after it is written`, () => {
        using sender = Codec.createSync(options)
        using receiver = Codec.createSync(options.wasm ? { wasm: options.wasm } : {})
        if (options.dictionary) receiver.decodePart(dictionaryPart(options.dictionary))
        const wire = sender.encodePart(plain)

        for (const spare of [0, 100]) {
          const encoded = targetOf(wire.length + spare)
          expect(sender.encodeInto(plain, encoded.target)).toBe(wire.length)
          expectSameBytes(encoded.target.subarray(0, wire.length), wire)
          encoded.expectUntouchedFrom(wire.length)

          const decoded = targetOf(plain.length + spare)
          expect(receiver.decodedSize(wire)).toBe(plain.length)
          expect(receiver.decodeInto(wire, decoded.target)).toBe(plain.length)
          expectSameBytes(decoded.target.subarray(0, plain.length), plain)
          decoded.expectUntouchedFrom(plain.length)
        }

        const encoded = targetOf(wire.length - 1)
        expect(caught(() => sender.encodeInto(plain, encoded.target))).toMatchObject({
          name: "RangeError",
          code: "ERR_LZ4_TARGET_TOO_SMALL",
          message: `target is ${wire.length - 1} bytes long; the part takes ${wire.length}`,
        })
        encoded.expectUntouchedFrom(0)
        if (plain.length === 0) return
        const decoded = targetOf(plain.length - 1)
        expect(caught(() => receiver.decodeInto(wire, decoded.target))).toMatchObject({
          name: "RangeError",
          code: "ERR_LZ4_TARGET_TOO_SMALL",
          message: `target is ${plain.length - 1} bytes long; the part takes ${plain.length}`,
        })
        decoded.expectUntouchedFrom(0)
      })
  })

test("encodeInto always fits plain.length + 4 bytes", () => {
  using codec = Codec.createSync({ minCompressSize: 0 })
  for (const plain of Object.values(plains))
    expect(codec.encodeInto(plain, new Uint8Array(plain.length + 4))).toBeGreaterThan(3)
})

test("encodeInto may write over the plaintext it is given", () => {
  using codec = Codec.createSync()
  for (const plain of Object.values(plains)) {
    const wire = codec.encodePart(plain)
    for (const at of [0, 2, 4, 10]) {
      const memory = new Uint8Array(plain.length + 20)
      memory.set(plain, at)
      const written = codec.encodeInto(memory.subarray(at, at + plain.length), memory)
      expectSameBytes(memory.subarray(0, written), wire)
    }
  }
})

test("shared memory and Buffers can be targets too", () => {
  using codec = Codec.createSync()
  const plain = payload("json", 5000)
  const wire = codec.encodePart(plain)
  for (const target of [targetOf(6000, SharedArrayBuffer).target, Buffer.alloc(6000)]) {
    expectSameBytes(target.slice(0, codec.encodeInto(plain, target)), wire)
    expectSameBytes(target.slice(0, codec.decodeInto(wire, target)), plain)
  }
})

describe("parts without their own plaintext", () => {
  const twoMessages = concat(
    ...[SENTINELS.LZ4A, Uint8Array.of(0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0)],
    ...[Uint8Array.of(0, 0, 0, 0)],
  )
  for (const [what, wire, messages] of [
    ["a dictionary", dictionaryPart(dictionary), 0],
    ["an arena", twoMessages, 2],
  ] as const)
    test(`${what} is refused with ERR_LZ4_NO_PLAINTEXT, and can then be decoded`, () => {
      using codec = Codec.createSync()
      for (const call of [
        () => codec.decodedSize(wire),
        () => codec.decodeInto(wire, new Uint8Array(10_000)),
      ]) {
        const error = caught(call)
        expect(error).toMatchObject({ name: "TypeError", code: "ERR_LZ4_NO_PLAINTEXT" })
        expect(error.message).toContain(what)
      }
      expect(codec.stats.received).toEqual({ messages: 0, plainBytes: 0, wireBytes: 0 })
      expect(codec.decode([wire]).length).toBe(messages)
    })
})

describe("the budget", () => {
  test("is checked by decodedSize and decodeInto, for each part separately", () => {
    using codec = Codec.createSync({ maxMessageSize: 1000 })
    const target = new Uint8Array(2000)
    for (const make of [plainPart, (plain: Uint8Array) => Codec.createSync().encodePart(plain)]) {
      const [good, large] = [make(payload("json", 1000)), make(payload("json", 1001))]
      for (let i = 0; i < 3; i++) {
        expect(codec.decodedSize(good)).toBe(1000)
        expect(codec.decodeInto(good, target)).toBe(1000)
        for (const call of [() => codec.decodedSize(large), () => codec.decodeInto(large, target)])
          expect(caught(call)).toMatchObject({ code: "ERR_LZ4_BUDGET_EXCEEDED" })
      }
    }
  })

  test("is checked before the size of the target", () => {
    using codec = Codec.createSync({ maxMessageSize: 10 })
    const call = () => codec.decodeInto(plainPart(new Uint8Array(11)), new Uint8Array(0))
    expect(call).toThrow(ProtocolError)
  })
})

test("decodedSize only accepts sizes that the blocks can decode to", () => {
  using codec = Codec.createSync()
  const lie = concat(SENTINELS.LZ4B, Uint8Array.of(0, 0, 0, 0x10, 0, 0, 0, 0, 1, 2, 3))
  expect(caught(() => codec.decodedSize(lie))).toMatchObject({ code: "ERR_LZ4_IMPLAUSIBLE_SIZE" })
})

test("a block that does not decode leaves the target unchanged", () => {
  using codec = Codec.createSync()
  const wire = codec.encodePart(payload("json", 5000))
  wire.fill(0xff, wire.length - 20)
  const { target, expectUntouchedFrom } = targetOf(5000)
  expect(() => codec.decodeInto(wire, target)).toThrow(ProtocolError)
  expectUntouchedFrom(0)
})

test("stats count them like encodePart and decodePart, without failures", () => {
  using into = Codec.createSync()
  using parts = Codec.createSync()
  const target = new Uint8Array(10_000)
  for (const size of [0, 100, 5000]) {
    const plain = payload("json", size)
    const wire = parts.encodePart(plain)
    parts.decodePart(wire)
    into.encodeInto(plain, target)
    into.decodeInto(wire, target)
    expect(() => into.encodeInto(plain, new Uint8Array(3))).toThrow(RangeError)
    if (size > 0) expect(() => into.decodeInto(wire, new Uint8Array(size - 1))).toThrow(RangeError)
    into.decodedSize(wire)
    expect(into.stats).toEqual(parts.stats)
  }
})

test("a value that is not a Uint8Array gives a TypeError with the argument's name", () => {
  using codec = Codec.createSync()
  const unchecked = codec as unknown as Record<string, (...all: unknown[]) => unknown>
  const bytes = new Uint8Array(100)
  for (const value of [undefined, null, "text", 5, [1], {}, new ArrayBuffer(4), new Int8Array(4)]) {
    for (const [name, call] of [
      ["plain", () => unchecked.encodeInto!(value, bytes)],
      ["target", () => unchecked.encodeInto!(bytes, value)],
      ["wire", () => unchecked.decodeInto!(value, bytes)],
      ["target", () => unchecked.decodeInto!(bytes, value)],
      ["wire", () => unchecked.decodedSize!(value)],
    ] as const) {
      const error = caught(call)
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toContain(`${name} must be a Uint8Array; got`)
    }
  }
})

test("memory does not grow over 10,000 successful and failing calls", () => {
  using codec = Codec.createSync()
  const plain = payload("json", 4000)
  const wire = codec.encodePart(plain)
  const target = new Uint8Array(5000)
  const small = new Uint8Array(3)
  const round = () => {
    for (let i = 0; i < 2500; i++) {
      codec.encodeInto(plain, target)
      codec.decodeInto(wire, target)
      for (const call of [
        () => codec.encodeInto(plain, small),
        () => codec.decodeInto(wire, small),
      ])
        expect(call).toThrow(RangeError)
    }
    return heldBytes()
  }
  const before = round()
  expect(round() - before).toBeLessThan(1 << 20)
})
