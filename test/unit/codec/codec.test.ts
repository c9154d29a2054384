/** The Codec's API; violations by peers are in hostile.test.ts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { runInNewContext } from "node:vm"

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Codec, type CodecOptions, ProtocolError } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { expectSameBytes } from "../../support/same-bytes.js"
import { dictionaryPart, formOf, plainPart } from "../../support/wire.js"

const root = new URL("../../../", import.meta.url)
const wasmUrl = new URL("dist/zeromq-lz4.wasm", root)
const wasmBytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(wasmUrl))

const text = payload("lorem", 4096)
const dictionary = payload("json", 2048)
const none = new Uint8Array(0)

test("lz4Version is that of the lz4.h it was built from", () => {
  const header = readFileSync(
    new URL("node_modules/liblz4/dependencies/lz4/lib/lz4.h", root),
    "utf8",
  )
  const number = (name: string) =>
    new RegExp(`#define LZ4_VERSION_${name} +(\\d+)`).exec(header)?.[1]
  expect(Codec.lz4Version).toBe(["MAJOR", "MINOR", "RELEASE"].map(number).join("."))
})

// -- Options -----------------------------------------------------------------------------------

describe("options", () => {
  type Refused = [given: object, type: typeof Error, ...says: string[]]

  const notBytes: [unknown, string][] = [
    ["text", '"text"'],
    [[1, 2], "Array"],
    [new ArrayBuffer(8), "ArrayBuffer"],
    [new DataView(new ArrayBuffer(8)), "DataView"],
    [new Uint16Array(8), "Uint16Array"],
    [null, "null"],
    [7, "7"],
    [true, "true"],
  ]
  const notNumbers: [unknown, string][] = [
    ["1", '"1"'],
    [1n, "1"],
    [null, "null"],
    [true, "true"],
    [[], "Array"],
  ]
  const refused: Refused[] = [
    ...notBytes.map(
      ([dictionary, shown]): Refused => [
        { dictionary },
        TypeError,
        "dictionary",
        "Uint8Array",
        shown,
      ],
    ),
    [{ dictionary: none }, RangeError, "dictionary", "1 to 8192", "got 0"],
    [{ dictionary: new Uint8Array(8193) }, RangeError, "dictionary", "1 to 8192", "got 8193"],
    ...["minCompressSize", "acceleration", "maxMessageSize"].flatMap((name) =>
      notNumbers.map(
        ([value, shown]): Refused => [{ [name]: value }, TypeError, name, "a number", shown],
      ),
    ),
    ...[-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53].map(
      (value): Refused => [
        { minCompressSize: value },
        RangeError,
        `minCompressSize must be an integer from 0 to ${2 ** 53 - 1}; got ${value}`,
      ],
    ),
    ...[-1, 0, 1.5, Number.NaN, 65538, Number.POSITIVE_INFINITY].map(
      (value): Refused => [
        { acceleration: value },
        RangeError,
        `acceleration must be an integer from 1 to 65537; got ${value}`,
      ],
    ),
    ...[-2, 0.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53].map(
      (value): Refused => [
        { maxMessageSize: value },
        RangeError,
        `maxMessageSize must be an integer from -1 to ${2 ** 53 - 1}; got ${value}`,
      ],
    ),
    ...["dictionnary", "Level", ""].map(
      (name): Refused => [
        { [name]: true },
        TypeError,
        `unknown option "${name}"`,
        "minCompressSize",
      ],
    ),
    ...["module.wasm", 5, {}, [], null, true].map((wasm): Refused => [{ wasm }, TypeError, "wasm"]),
    [null as unknown as object, TypeError, "options", "null"],
    ["text" as unknown as object, TypeError, "options", '"text"'],
    [5 as unknown as object, TypeError, "options", "5"],
  ]

  for (const [given, type, ...says] of refused)
    test(`${shown(given)} is a ${type.name}`, async () => {
      const errors = [
        caught(() => Codec.createSync(given as CodecOptions)),
        await Codec.create(given as CodecOptions).catch((error: unknown) => error as Error),
      ]
      for (const error of errors) {
        expect(error).toBeInstanceOf(type)
        for (const words of says) expect((error as Error).message).toContain(words)
      }
    })

  const accepted: CodecOptions[] = [
    {},
    { dictionary: new Uint8Array(1) },
    { dictionary: new Uint8Array(8192) },
    { minCompressSize: 0 },
    { minCompressSize: Number.MAX_SAFE_INTEGER },
    { acceleration: 1 },
    { acceleration: 65537 },
    { maxMessageSize: -1 },
    { maxMessageSize: Number.MAX_SAFE_INTEGER },
    { dictionary: undefined, minCompressSize: undefined, acceleration: undefined },
    { maxMessageSize: undefined, wasm: undefined },
  ] as CodecOptions[]

  for (const options of accepted)
    test(`${shown(options)} is fine`, async () => {
      for (const codec of [Codec.createSync(options), await Codec.create(options)]) {
        expectSameBytes(Codec.createSync().decodePart(plainPart(text)), text)
        expectSameBytes(pass(codec, text), text)
        codec.close()
      }
    })
})

// -- Sending (RFC.md section 5.1) ----------------------------------------------------------------

describe("a part is compressed", () => {
  const zeros = (length: number) => new Uint8Array(length)
  const rows: [CodecOptions, length: number, form: string][] = [
    [{}, 0, "plain"],
    [{}, 511, "plain"],
    [{}, 512, "LZ4B"],
    [{}, 513, "LZ4B"],
    [{ dictionary }, 127, "plain"],
    [{ dictionary }, 128, "LZ4B"],
    [{ dictionary }, 129, "LZ4B"],
    [{ dictionary: new Uint8Array(1) }, 128, "LZ4B"],
    [{ minCompressSize: 100 }, 99, "plain"],
    [{ minCompressSize: 100 }, 100, "LZ4B"],
    [{ minCompressSize: 100, dictionary }, 99, "plain"],
    [{ minCompressSize: 1000, dictionary }, 999, "plain"],
    [{ minCompressSize: 1000, dictionary }, 1000, "LZ4B"],
    [{ minCompressSize: 0 }, 100, "LZ4B"],
    [{ minCompressSize: Number.MAX_SAFE_INTEGER }, 3 << 20, "plain"],
  ]
  for (const [options, length, form] of rows)
    test(`with ${shown(options)}, ${length} bytes: ${form}`, () => {
      using codec = Codec.createSync(options)
      expect(formOf(codec.encodePart(zeros(length)))).toBe(form)
      const [message] = codec.encode([zeros(length)]).slice(-1)
      expect(message!.map(formOf)).toEqual([form])
    })

  test("only if block + 12 < plaintext + 4", () => {
    using codec = Codec.createSync({ minCompressSize: 0 })
    const forms = Array.from({ length: 40 }, (_, length) => codec.encodePart(zeros(length)))
    const first = forms.findIndex((wire) => formOf(wire) === "LZ4B")
    // The block of zeros has the same length for any number of them, so the first gain is 1 byte.
    expect(forms[first]!.length).toBe(first + 3)
    for (const [length, wire] of forms.entries())
      expect(formOf(wire)).toBe(length < first ? "plain" : "LZ4B")
  })

  test("a part that does not compress is sent plain", () => {
    using codec = Codec.createSync()
    for (const length of [512, 4096, 65_536, 1 << 20, 3 << 20]) {
      const noise = payload("random", length)
      const wire = codec.encodePart(noise)
      expect(formOf(wire)).toBe("plain")
      expectSameBytes(wire, plainPart(noise))
    }
  })

  test("less, but still decodably, with a higher acceleration", () => {
    const plain = payload("json", 65_536)
    const lengths = [1, 10, 100, 65_537].map((acceleration) => {
      using codec = Codec.createSync({ acceleration })
      const wire = codec.encodePart(plain)
      expectSameBytes(codec.decodePart(wire), plain)
      return wire.length
    })
    expect(lengths).toEqual(lengths.slice().sort((a, b) => a - b))
    expect(new Set(lengths).size).toBeGreaterThan(2)
  })

  test("better with a dictionary that resembles it", () => {
    const plain = payload("json", 1024, 5)
    const [without, with_] = [{}, { dictionary }].map((options) => {
      using codec = Codec.createSync(options)
      return codec.encodePart(plain).length
    })
    expect(with_).toBeLessThan(without! * 0.8)
  })
})

// -- Messages ------------------------------------------------------------------------------------

describe("encode", () => {
  test("keeps the number and order of parts, including empty ones", () => {
    using codec = Codec.createSync()
    const message = [none, text, none, text.subarray(0, 100), none]
    const wire = codec.encode(message)
    expect(wire.map((parts) => parts.map(formOf))).toEqual([
      ["plain", "LZ4B", "plain", "plain", "plain"],
    ])
    expect(codec.decode(wire[0]!)).toEqual([message])
  })

  test("ships the dictionary once, before the first message", () => {
    using codec = Codec.createSync({ dictionary })
    const sent = [codec.encode([text, none]), codec.encode([none]), codec.encode([text])]
    expect(sent.map((messages) => messages.map((parts) => parts.map(formOf)))).toEqual([
      [["LZ4D"], ["LZ4B", "plain"]],
      [["plain"]],
      [["LZ4B"]],
    ])
    expectSameBytes(sent[0]![0]![0]!, dictionaryPart(dictionary))
  })

  test("ships the dictionary before the first message even if that is plain", () => {
    using codec = Codec.createSync({ dictionary })
    expect(codec.encode([none]).map((parts) => parts.map(formOf))).toEqual([["LZ4D"], ["plain"]])
  })

  test("ships the dictionary after a refused message", () => {
    using codec = Codec.createSync({ dictionary })
    expect(() => codec.encodeBatch([[text], [null as unknown as Uint8Array]])).toThrow(TypeError)
    expect(codec.stats.sent.messages).toBe(0)
    expect(() => codec.encode([text, "text" as unknown as Uint8Array])).toThrow(TypeError)
    expect(() => codec.encode([])).toThrow(TypeError)
    expect(codec.encode([text]).map(([part]) => formOf(part!))).toEqual(["LZ4D", "LZ4B"])
  })

  test("copies the given dictionary", () => {
    const given = dictionary.slice()
    using sender = Codec.createSync({ dictionary: given })
    given.fill(0)
    const [shipped, message] = sender.encode([payload("json", 1000)])
    expectSameBytes(shipped![0]!, dictionaryPart(dictionary))
    using receiver = Codec.createSync()
    receiver.decode(shipped!)
    expectSameBytes(receiver.decode(message!)[0]![0]!, payload("json", 1000))
  })
})

test("encodeBatch is encode of each message, in order", () => {
  using batch = Codec.createSync({ dictionary })
  using single = Codec.createSync({ dictionary })
  const messages = [[text], [none, text], [text.subarray(5)]]
  expect(batch.encodeBatch([])).toEqual([])
  expect(batch.encodeBatch(messages)).toEqual(messages.flatMap((parts) => single.encode(parts)))
  expect(batch.encodeBatch(messages).length).toBe(3)
  expect(batch.stats.sent.messages).toBe(6)
})

test("encodePart uses the dictionary, but only encode ships it", () => {
  using codec = Codec.createSync({ dictionary })
  using receiver = Codec.createSync()
  const plain = dictionary.slice(500, 1500)
  const wire = codec.encodePart(plain)
  expect(() => receiver.decodePart(wire)).toThrow(ProtocolError)
  for (const message of codec.encode([plain])) receiver.decode(message)
  expectSameBytes(receiver.decodePart(wire), plain)
})

describe("each direction has its own dictionary", () => {
  const theirs = payload("lorem", 2048, 3)
  const plain = [dictionary.slice(0, 700), theirs.slice(0, 700)]

  test("two codecs with different dictionaries can exchange messages", () => {
    using a = Codec.createSync({ dictionary })
    using b = Codec.createSync({ dictionary: theirs })
    for (const [from, to] of [
      [a, b],
      [b, a],
      [a, b],
    ] as const)
      expect(from.encode(plain).flatMap((message) => to.decode(message))).toEqual([plain])
  })

  test("a received dictionary is not used for sending", () => {
    using codec = Codec.createSync()
    const before = codec.encodePart(dictionary)
    expect(codec.decode([dictionaryPart(dictionary)])).toEqual([])
    expectSameBytes(codec.encodePart(dictionary), before)
    expect(codec.encode([new Uint8Array(200)])).toEqual([[plainPart(new Uint8Array(200))]])
  })

  test("the sender's own dictionary is not used for decoding", () => {
    using codec = Codec.createSync({ dictionary })
    const wire = codec.encodePart(dictionary)
    expect(() => codec.decodePart(wire)).toThrow(ProtocolError)
    codec.decodePart(dictionaryPart(dictionary))
    expectSameBytes(codec.decodePart(wire), dictionary)
  })

  test("large parts use it too", () => {
    const large = new Uint8Array(2 << 20)
    for (let at = 0; at < large.length; at += 100_000) large.set(dictionary, at)
    using sender = Codec.createSync({ dictionary })
    using receiver = Codec.createSync()
    const wire = sender.encode([large])
    expect(formOf(wire[1]![0]!)).toBe("LZ4B")
    expect(wire.flatMap((message) => receiver.decode(message))[0]![0]!.length).toBe(large.length)
    using stranger = Codec.createSync()
    expect(() => stranger.decode(wire[1]!)).toThrow(ProtocolError)
  })
})

// -- Statistics --------------------------------------------------------------------------------------

describe("stats", () => {
  const zero = { messages: 0, plainBytes: 0, wireBytes: 0 }

  test("count messages, plaintext and wire bytes, dictionaries among the latter", () => {
    using sender = Codec.createSync({ dictionary })
    using receiver = Codec.createSync()
    expect(sender.stats).toEqual({ sent: zero, received: zero })

    const wire = [
      ...sender.encode([text, none]),
      ...sender.encodeBatch([[none], [text]]),
      [sender.encodePart(text)],
    ]
    const expected = {
      messages: 4,
      plainBytes: 3 * text.length,
      wireBytes: wire.flat().reduce((sum, part) => sum + part.length, 0),
    }
    expect(sender.stats).toEqual({ sent: expected, received: zero })

    for (const message of wire.slice(0, -1)) receiver.decode(message)
    receiver.decodePart(wire.at(-1)![0]!)
    expect(receiver.stats).toEqual({ sent: zero, received: expected })
  })

  test("do not count a dictionary received by decodePart as a message", () => {
    using codec = Codec.createSync()
    codec.decodePart(dictionaryPart(dictionary))
    expect(codec.stats.received).toEqual({ ...zero, wireBytes: 4 + dictionary.length })
  })

  test("do not count failures", () => {
    using codec = Codec.createSync()
    expect(() => codec.decode([plainPart(text), new Uint8Array(3)])).toThrow(ProtocolError)
    expect(() => codec.encode([text, null as unknown as Uint8Array])).toThrow(TypeError)
    expect(codec.stats).toEqual({ sent: zero, received: zero })
  })

  test("are a copy", () => {
    using codec = Codec.createSync()
    const { sent } = codec.stats
    codec.encode([text])
    expect(sent).toEqual(zero)
    sent.messages = 100
    expect(codec.stats.sent.messages).toBe(1)
  })
})

// -- Arguments and results ---------------------------------------------------------------------------

describe("inputs", () => {
  class Special extends Uint8Array {}
  const kinds: Record<string, (bytes: Uint8Array) => Uint8Array> = {
    "a Uint8Array": (bytes) => bytes.slice(),
    "a Buffer": (bytes) => Buffer.from(bytes),
    "a Uint8Array at an offset": (bytes) => {
      const larger = new Uint8Array(bytes.length + 20).fill(0xee)
      larger.set(bytes, 7)
      return larger.subarray(7, 7 + bytes.length)
    },
    "a Uint8Array of a SharedArrayBuffer": (bytes) => {
      const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 10), 3, bytes.length)
      shared.set(bytes)
      return shared
    },
    "a Uint8Array of another realm": (bytes) =>
      runInNewContext("Uint8Array.from(list)", { list: [...bytes] }),
    "a subclass of Uint8Array": (bytes) => Special.from(bytes),
  }

  for (const [kind, make] of Object.entries(kinds))
    test(`${kind} is accepted, and not modified`, () => {
      const small = text.subarray(0, 100)
      using usual = Codec.createSync({ dictionary })
      using codec = Codec.createSync({ dictionary: make(dictionary) })
      using receiver = Codec.createSync()

      const message = [make(text), make(small), make(none)]
      const wire = codec.encode(message)
      expect(wire).toEqual(usual.encode([text, small, none]))
      expect(codec.encodePart(make(text))).toEqual(usual.encodePart(text))
      expect(message.map((part) => [...part])).toEqual([[...text], [...small], []])

      const parts = wire.map((message) => message.map(make))
      expect(parts.flatMap((message) => receiver.decode(message))).toEqual([[text, small, none]])
      expectSameBytes(receiver.decodePart(make(wire[1]![0]!)), text)
      expect(parts.map((message) => message.map((part) => [...part]))).toEqual(
        wire.map((message) => message.map((part) => [...part])),
      )
    })

  const wrong: [unknown, string][] = [
    ["text", '"text"'],
    ["x".repeat(100), "a string"],
    [undefined, "undefined"],
    [null, "null"],
    [7, "7"],
    [1n, "1"],
    [Symbol("s"), "Symbol(s)"],
    [{}, "Object"],
    [Object.create(null), "an object"],
    [[1, 2], "Array"],
    [() => text, "a function"],
    [new ArrayBuffer(4), "ArrayBuffer"],
    [new DataView(new ArrayBuffer(4)), "DataView"],
    [new Uint16Array(4), "Uint16Array"],
    [new Uint8ClampedArray(4), "Uint8ClampedArray"],
    [new Int8Array(4), "Int8Array"],
    [{ length: 4, [Symbol.toStringTag]: "Uint8Array" }, "an instance of Object"],
  ]
  const codec = Codec.createSync()
  const unchecked = codec as unknown as Record<string, (argument: unknown) => unknown>
  afterAll(() => codec.close())

  for (const [value, shown] of wrong)
    test(`${shown} is not a part: TypeError`, () => {
      const calls = {
        encodePart: value,
        decodePart: value,
        encode: [text, value],
        decode: [plainPart(text), value],
        encodeBatch: [[text], [text, value]],
      }
      for (const [method, argument] of Object.entries(calls)) {
        const error = caught(() => unchecked[method]!(argument))
        expect(error, method).toBeInstanceOf(TypeError)
        expect(error.message, method).toContain("must be a Uint8Array; got")
        expect(error.message, method).toContain(shown)
        if (!method.endsWith("Part")) expect(error.message, method).toContain("part 1")
      }
      expectSameBytes(pass(codec, text), text)
    })

  for (const [value, shown] of [
    ...wrong.filter(([value]) => !Array.isArray(value)),
    [text, "Uint8Array"],
  ])
    test(`${shown} is not a message: TypeError`, () => {
      for (const method of ["encode", "decode"]) {
        const error = caught(() => unchecked[method]!(value))
        expect(error, method).toBeInstanceOf(TypeError)
        expect(error.message, method).toContain("an array of Uint8Array; got")
        expect(error.message, method).toContain(shown)
      }
      expect(() => unchecked.encodeBatch!([value])).toThrow(TypeError)
      expect(() => unchecked.encodeBatch!(value)).toThrow(TypeError)
    })

  test("a message without parts is a TypeError", () => {
    for (const method of ["encode", "decode"])
      expect(() => unchecked[method]!([])).toThrow(/at least one part/)
    expect(() => unchecked.encodeBatch!([[]])).toThrow(TypeError)
  })

  test("a message with a hole is a TypeError", () => {
    for (const method of ["encode", "decode"]) {
      const error = caught(() => unchecked[method]!(new Array(2)))
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toContain("part 0 must be a Uint8Array; got undefined")
    }
    expect(() => unchecked.encodeBatch!(new Array(2))).toThrow(TypeError)
  })
})

describe("results belong to the caller", () => {
  // On V8's heap, in Node's pool, with a buffer of its own, and with a WebAssembly memory of its own.
  const sizes = [0, 1, 60, 64, 65, 500, 4091, 4095, 4096, 5000, 100_000, 3 << 20]
  const sample = (size: number) => new Uint8Array(size).map((_, i) => i % 13)

  for (const size of sizes)
    test(`${size} bytes`, () => {
      using codec = Codec.createSync({ minCompressSize: 0 })
      const plain = sample(size)
      const wire = codec.encodePart(plain)
      const again = codec.encodePart(plain)
      const decoded = codec.decodePart(wire)!
      const plainWire = plainPart(plain)
      const copied = codec.decodePart(plainWire)!
      const results = { wire, again, decoded, copied }
      const expected = Object.fromEntries(
        Object.entries(results).map(([name, bytes]) => [name, bytes.slice()]),
      )
      const check = () => {
        for (const [name, bytes] of Object.entries(results)) expectSameBytes(bytes, expected[name]!)
      }
      for (const bytes of Object.values(results)) {
        expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype)
        expect(bytes.buffer).toBeInstanceOf(ArrayBuffer)
      }

      // Later calls do not change them.
      for (const other of sizes)
        codec.decodePart(codec.encodePart(new Uint8Array(other).fill(0xaa)))
      check()
      // Writing to one affects neither the others nor later results.
      for (const [name, bytes] of Object.entries(results)) {
        bytes.fill(0x55)
        expected[name]!.fill(0x55)
        check()
      }
      expectSameBytes(plain, sample(size))
      expectSameBytes(plainWire, plainPart(sample(size)))
      expectSameBytes(codec.decodePart(codec.encodePart(plain)), sample(size))
      // Nor do changes to the arguments affect results.
      plain.fill(0x66)
      plainWire.fill(0x66)
      check()
    })

  test("the shipped dictionary is not a view of the codec's", () => {
    using codec = Codec.createSync({ dictionary })
    codec.encode([text])[0]![0]!.fill(0)
    using receiver = Codec.createSync()
    receiver.decodePart(dictionaryPart(dictionary))
    expectSameBytes(receiver.decodePart(codec.encodePart(dictionary)), dictionary)
  })

  test("a received dictionary is not a view of the caller's", () => {
    using sender = Codec.createSync({ dictionary })
    using receiver = Codec.createSync()
    const shipped = dictionaryPart(dictionary)
    receiver.decodePart(shipped)
    shipped.fill(0)
    const large = new Uint8Array(2 << 20)
    large.set(dictionary, 1000)
    for (const plain of [dictionary, large])
      expectSameBytes(receiver.decodePart(sender.encodePart(plain)), plain)
  })
})

test("codecs of one thread are independent", () => {
  const codecs = Array.from({ length: 20 }, (_, i) =>
    Codec.createSync({ dictionary: payload("lorem", 1000 + i, i), maxMessageSize: 5000 + i }),
  )
  const wire = codecs.map((codec, i) => codec.encode([payload("lorem", 3000 + i, i)]))
  for (const [i, messages] of wire.entries()) {
    const receiver = codecs[(i + 1) % codecs.length]!
    expect(messages.flatMap((message) => receiver.decode(message))).toEqual([
      [payload("lorem", 3000 + i, i)],
    ])
  }
  for (const [i, codec] of codecs.entries()) {
    expect(codec.decodePart(plainPart(new Uint8Array(5000 + i)))!.length).toBe(5000 + i)
    expect(() => codec.decodePart(plainPart(new Uint8Array(5001 + i)))).toThrow(ProtocolError)
    codec.close()
  }
})

// -- Closing -----------------------------------------------------------------------------------------

describe("a closed codec", () => {
  const calls: Record<string, (codec: Codec) => unknown> = {
    encode: (codec) => codec.encode([text]),
    encodeBatch: (codec) => codec.encodeBatch([[text]]),
    "encodeBatch of nothing": (codec) => codec.encodeBatch([]),
    encodePart: (codec) => codec.encodePart(text),
    decode: (codec) => codec.decode([plainPart(text)]),
    decodePart: (codec) => codec.decodePart(plainPart(text)),
    encodeInto: (codec) => codec.encodeInto(text, new Uint8Array(10_000)),
    decodeInto: (codec) => codec.decodeInto(plainPart(text), new Uint8Array(10_000)),
    decodedSize: (codec) => codec.decodedSize(plainPart(text)),
  }
  for (const [name, call] of Object.entries(calls))
    test(`throws at ${name}`, () => {
      const codec = Codec.createSync({ dictionary })
      codec.close()
      expect(() => call(codec)).toThrow(/closed/)
    })

  test("can be closed again, and still has its stats", () => {
    const codec = Codec.createSync({ dictionary })
    codec.encodePart(text)
    codec.close()
    codec.close()
    expect(codec.stats.sent.messages).toBe(1)
  })

  test("does not affect others with the same dictionary", () => {
    const [a, b] = [Codec.createSync({ dictionary }), Codec.createSync({ dictionary })]
    a.close()
    a.close()
    using receiver = Codec.createSync()
    expect(b.encode([dictionary]).flatMap((message) => receiver.decode(message))).toEqual([
      [dictionary],
    ])
    b.close()
    expectSameBytes(
      receiver.decodePart(Codec.createSync({ dictionary }).encodePart(dictionary)),
      dictionary,
    )
  })

  test("is the result of `using`", () => {
    const codec = Codec.createSync()
    expect(codec[Symbol.dispose]()).toBeUndefined()
    expect(() => codec.encodePart(text)).toThrow(/closed/)
    codec[Symbol.dispose]()
  })
})

// -- Loading the module --------------------------------------------------------------------------------

describe("wasm", () => {
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  const fileUrl = (name: string, bytes: Uint8Array | string) => {
    const path = join(directory, name)
    writeFileSync(path, bytes)
    return pathToFileURL(path)
  }

  // The responses of each address, in turn; the last one is repeated.
  const answers: Record<string, [status: number, body: Uint8Array | string][]> = {}
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ""
    requests.push(path)
    const queue = answers[path] ?? [[404, "nothing here"]]
    const [status, body] = (queue.length > 1 ? queue.shift() : queue[0])!
    response.writeHead(status).end(body)
  })
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
  afterAll(() => {
    server.close()
    rmSync(directory, { recursive: true })
  })
  const httpUrl = (path: string, ...queue: [number, Uint8Array | string][]) => {
    if (queue.length > 0) answers[path] = queue
    return new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }

  const html = "<!doctype html><title>Not found</title>"
  const garbage = payload("random", 1000)

  const good: Record<string, () => CodecOptions["wasm"]> = {
    "a Uint8Array": wasmBytes,
    "an ArrayBuffer": () => wasmBytes().buffer,
    "a Buffer": () => readFileSync(wasmUrl),
    "a DataView": () => new DataView(wasmBytes().buffer),
    "a module": () => new WebAssembly.Module(wasmBytes()),
    "a file URL": () => wasmUrl,
    "an http URL": () => httpUrl("/good.wasm", [200, wasmBytes()]),
    "a data URL": () =>
      new URL(`data:application/wasm;base64,${Buffer.from(wasmBytes()).toString("base64")}`),
  }
  for (const [kind, make] of Object.entries(good))
    test(`may be ${kind}`, async () => {
      const wasm = make()
      const codecs = [await Codec.create({ wasm: wasm! }), await Codec.create({ wasm: wasm! })]
      if (!(wasm instanceof URL)) codecs.push(Codec.createSync({ wasm: wasm! }))
      for (const codec of codecs) {
        expectSameBytes(pass(codec, text), text)
        codec.close()
      }
    })

  // A valid module of another kind: it only has a memory.
  const foreign = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)
  const bad: Record<string, [() => CodecOptions["wasm"], ...says: (string | RegExp)[]]> = {
    "the URL of a file that is not there": [
      () => pathToFileURL(join(directory, "missing.wasm")),
      "missing.wasm",
    ],
    "the URL of a directory": [() => pathToFileURL(directory), /EISDIR|directory/i],
    "the URL of a file of HTML": [
      () => fileUrl("page.html", html),
      "page.html",
      "not a WebAssembly module",
    ],
    "the URL of an empty file": [() => fileUrl("empty.wasm", ""), "empty.wasm"],
    "the URL of half a module": [
      () => fileUrl("half.wasm", wasmBytes().subarray(0, 20_000)),
      "WebAssembly",
    ],
    "a URL that is answered with 404": [() => httpUrl("/missing.wasm"), "/missing.wasm", "404"],
    "a URL that is answered with HTML": [
      () => httpUrl("/page.wasm", [200, html]),
      "/page.wasm",
      "not a WebAssembly module",
    ],
    "a URL where nobody listens": [
      () => new URL("http://127.0.0.1:1/x.wasm"),
      "127.0.0.1:1/x.wasm",
    ],
    "a URL of an unknown scheme": [() => new URL("gopher://host/x.wasm"), "gopher://host/x.wasm"],
    "bytes that are HTML": [() => new TextEncoder().encode(html), "WebAssembly"],
    garbage: [() => garbage, "WebAssembly"],
    "no bytes": [() => none, "WebAssembly"],
    "another module's bytes": [() => foreign, "zeromq-lz4"],
    "another module": [() => new WebAssembly.Module(foreign), "zeromq-lz4"],
  }
  for (const [kind, [make, ...says]] of Object.entries(bad))
    test(`${kind} gives an explanatory error, each time`, async () => {
      const wasm = make()!
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = await rejection(Codec.create({ wasm }))
        expect(error).toBeInstanceOf(Error)
        for (const words of says) expect(error.message).toMatch(words)
        if (!(wasm instanceof URL)) expect(() => Codec.createSync({ wasm })).toThrow()
      }
      // Others still work.
      expectSameBytes(pass(await Codec.create(), text), text)
    })

  test("wasm as a URL requires create", () => {
    expect(() => Codec.createSync({ wasm: wasmUrl })).toThrow(/Codec\.create\(\)/)
  })

  test("wasm that failed to load can be loaded later: a URL", async () => {
    const wasm = httpUrl("/late.wasm", [503, "soon"], [200, html], [200, wasmBytes()])
    expect((await rejection(Codec.create({ wasm }))).message).toContain("503")
    expect((await rejection(Codec.create({ wasm }))).message).toContain("not a WebAssembly module")
    expectSameBytes(pass(await Codec.create({ wasm }), text), text)
  })

  test("wasm that failed to load can be loaded later: a file", async () => {
    const wasm = pathToFileURL(join(directory, "late.wasm"))
    expect((await rejection(Codec.create({ wasm }))).message).toContain("late.wasm")
    fileUrl("late.wasm", wasmBytes())
    expectSameBytes(pass(await Codec.create({ wasm }), text), text)
  })

  test("wasm that failed to load can be loaded later: bytes", async () => {
    const wasm = new Uint8Array(wasmBytes().length)
    await rejection(Codec.create({ wasm }))
    wasm.set(wasmBytes())
    expectSameBytes(pass(await Codec.create({ wasm }), text), text)
  })

  test("is fetched once for all concurrent calls", async () => {
    const wasm = httpUrl("/once.wasm", [200, wasmBytes()])
    const urls = [wasm, wasm, new URL(wasm)]
    const codecs = await Promise.all(urls.map((wasm) => Codec.create({ wasm })))
    codecs.push(await Codec.create({ wasm: new URL(wasm) }))
    expect(requests.filter((path) => path === "/once.wasm")).toEqual(["/once.wasm"])
    for (const codec of codecs) expectSameBytes(pass(codec, text), text)
  })
})

// -- Helpers -------------------------------------------------------------------------------------------

/** Encodes and decodes. */
function pass(codec: Codec, plain: Uint8Array): Uint8Array {
  using receiver = Codec.createSync()
  const messages = codec.encode([plain]).flatMap((message) => receiver.decode(message))
  return messages[0]![0]!
}

function caught(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  return expect.fail("nothing was thrown")
}

async function rejection(promise: Promise<Codec>): Promise<Error> {
  const outcome = await promise.catch((error: unknown) => error as Error)
  return outcome instanceof Codec ? expect.fail("nothing was thrown") : outcome
}

/** Formats options for test names. */
function shown(options: unknown): string {
  return JSON.stringify(options, (_, value) => {
    if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength}`
    const isJson = typeof value !== "number" || Number.isFinite(value)
    return typeof value === "bigint" || value === undefined || !isJson ? `${value}` : value
  }).replaceAll('"', "")
}
