/** Arrays of callers whose length changes, or is not what it says. What was measured is what is copied. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { CaptureReader, decodeFrames } from "zeromq-lz4/capture"
import { Codec, type CodecOptions, trainDictionary } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { expectSameBytes } from "../../support/same-bytes.js"
import { concat } from "../../support/wire.js"
import { frame, greeting, ready } from "../../support/zmtp.js"

const SIZES = [20, 600, 3000, 70_000]

/** A codec beside those under test, whose state is in the same memory. */
let other: Codec
beforeEach(() => {
  other = Codec.createSync({ dictionary: payload("json", 2048) })
})
afterEach(() => {
  const plain = payload("json", 5000)
  using receiver = Codec.createSync()
  const wire = other.encode([plain])
  expectSameBytes(wire.flatMap((message) => receiver.decode(message)).flat()[0]!, plain)
  other.close()
})

class Longer extends Uint8Array {
  override get length() {
    return 1_000_000
  }
  override get byteLength() {
    return 1_000_000
  }
}

class Shorter extends Uint8Array {
  override get length() {
    return 1
  }
  override get byteLength() {
    return 1
  }
  override get byteOffset() {
    return 0
  }
  override subarray() {
    return new Uint8Array(1_000_000)
  }
  override slice() {
    return new Uint8Array(1_000_000)
  }
}

/** Arrays whose memory is `bytes`, whatever they say. */
const liars: [string, (bytes: Uint8Array) => Uint8Array][] = [
  ["a subclass that says it is longer", (bytes) => new Longer(bytes)],
  ["a subclass that says it is shorter", (bytes) => new Shorter(bytes)],
  [
    "an array with a length of its own",
    (bytes) => Object.defineProperty(bytes.slice(), "length", { value: 7 }),
  ],
  [
    "a Buffer with a length of its own",
    (bytes) => Object.defineProperty(Buffer.from(bytes), "length", { get: () => 1 << 30 }),
  ],
]

describe.each(liars)("%s counts with its bytes", (_, liar) => {
  test.each(SIZES)("of %i bytes", async (size) => {
    const plain = payload("json", size)
    using codec = Codec.createSync({ minCompressSize: 0 })
    const wire = codec.encodePart(plain)
    expectSameBytes(codec.encodePart(liar(plain)), wire)
    expectSameBytes(codec.encode([liar(plain), liar(plain)])[0]![1]!, wire)
    expectSameBytes(codec.decodePart(liar(wire))!, plain)
    expectSameBytes(codec.decode([liar(wire)])[0]![0]!, plain)
    expect(codec.decodedSize(liar(wire))).toBe(size)
    const target = new Uint8Array(size + 20)
    expect(codec.encodeInto(liar(plain), target)).toBe(wire.length)
    expectSameBytes(target.subarray(0, wire.length), wire)
    expect(codec.decodeInto(liar(wire), target)).toBe(size)
    expectSameBytes(target.subarray(0, size), plain)
    expect(() => codec.decodeInto(wire, liar(new Uint8Array(size - 1)))).toThrow(
      `target is ${size - 1} bytes long`,
    )
    const [message] = decodeFrames(liar(frame(wire)), { transport: "lz4+tcp" })
    expectSameBytes(message!.parts[0]!.plain!, plain)
    for (const arenas of [false, true]) {
      using sender = Codec.createSync({ arenas, minCompressSize: 0 })
      const batch = sender.encodeBatch([[liar(plain)], [liar(plain)]])
      using receiver = Codec.createSync()
      for (const [part] of batch.flatMap((message) => receiver.decode(message)))
        expectSameBytes(part!, plain)
    }
    const stream = concat(greeting(), ready("PUSH"), frame(wire))
    expect(new CaptureReader().push(liar(stream))).toEqual(new CaptureReader().push(stream))
  })

  test("as a dictionary, and as a sample", async () => {
    const dictionary = payload("json", 3000)
    using usual = Codec.createSync({ dictionary })
    using codec = Codec.createSync({ dictionary: liar(dictionary) })
    expectSameBytes(
      codec.encode([new Uint8Array(9)])[0]![0]!,
      usual.encode([new Uint8Array(9)])[0]![0]!,
    )
    expect(() => Codec.createSync({ dictionary: liar(new Uint8Array(8193)) })).toThrow(
      "dictionary must be 1 to 8192 bytes long; got 8193",
    )
    const samples = Array.from({ length: 200 }, (_, i) => payload("json", 500, i))
    expectSameBytes(await trainDictionary(samples.map(liar)), await trainDictionary(samples))
  })
})

/** Newer than the types of this project. */
type Growable = SharedArrayBuffer & { readonly maxByteLength: number; grow(bytes: number): void }

/** A view of growable memory, which gets longer each time that another item of its message is read. */
function growing(bytes: Uint8Array): { part: Uint8Array; grow: () => void } {
  const options = { maxByteLength: 64 * bytes.length }
  const memory: Growable = Reflect.construct(SharedArrayBuffer, [bytes.length, options])
  const part = new Uint8Array(memory)
  part.set(bytes)
  return { part, grow: () => memory.grow(Math.min(2 * memory.byteLength, memory.maxByteLength)) }
}

const settings: [string, CodecOptions][] = [
  ["parts", { minCompressSize: 0 }],
  ["arenas", { arenas: true, minCompressSize: 0 }],
  ["parts that are not compressed", { level: "none" }],
]

describe.each(settings)("sent as %s", (_, options) => {
  test.each(SIZES)(
    "a view of %i bytes of growable memory is sent as it was when it was read",
    (size) => {
      using codec = Codec.createSync(options)
      using receiver = Codec.createSync()
      const plain = payload("json", size)
      const messages = Array.from({ length: 3 }, () => {
        const { part, grow } = growing(plain)
        return Object.defineProperty([part], 1, {
          get() {
            grow()
            return Buffer.from("the last part")
          },
        })
      })
      const wire = codec.encodeBatch(messages)
      const received = wire.flatMap((message) => receiver.decode(message))
      expect(received).toHaveLength(3)
      for (const [part, last] of received) {
        expectSameBytes(part!, plain)
        expect(String(Buffer.from(last!))).toBe("the last part")
      }
      expect(codec.stats.sent.plainBytes).toBe(3 * (size + 13))
    },
  )

  test("a part that is another array each time that it is read is read once", () => {
    using codec = Codec.createSync(options)
    using receiver = Codec.createSync()
    let reads = 0
    const message = Object.defineProperty([], 0, {
      get: () => payload("json", 100 * ++reads),
    }) as unknown as Uint8Array[]
    const wire = codec.encodeBatch([message, [Buffer.from("another")]])
    const received = wire.flatMap((one) => receiver.decode(one))
    expect(reads).toBe(1)
    expectSameBytes(received[0]![0]!, payload("json", 100))
  })
})

test("what is not a Uint8Array is refused, whatever it says", () => {
  using codec = Codec.createSync()
  for (const value of [
    Object.create(Uint8Array.prototype),
    Object.setPrototypeOf(new Float64Array(100), Uint8Array.prototype),
    Object.defineProperty(new Float64Array(100), Symbol.toStringTag, { value: "Uint8Array" }),
    { [Symbol.toStringTag]: "Uint8Array", length: 5 },
  ])
    expect(() => codec.encodePart(value)).toThrow("plain must be a Uint8Array")
})
