/** Arenas: RFC.md appendix A, by Codec and by the transcoder. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Codec, type CodecOptions, ProtocolError, type ProtocolErrorCode } from "zeromq-lz4/codec"

import { logEvents, payload } from "../../../bench/payloads.mjs"
import { loadInstanceSync } from "../../../src/codec/module.js"
import { checkCodecOptions } from "../../../src/codec/options.js"
import { Transcoder } from "../../../src/codec/transcoder.js"
import { dictionaries, mutations, plaintexts } from "../../support/arbitraries.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { atOnce, atRandom, byteByByte, type Feed, open, run } from "../../support/transcoding.js"
import {
  concat,
  dictionaryPart,
  type Form,
  formOf,
  plainPart,
  SENTINELS,
} from "../../support/wire.js"
import {
  arenaOfEmptyParts,
  COMMAND,
  frame,
  frameHead,
  handshake,
  LONG,
  MORE,
  MOST_EMPTY_PARTS,
  message,
  messagesOf,
  parseStream,
} from "../../support/zmtp.js"

type Message = Uint8Array[]

const instance = loadInstanceSync()
const shaken = handshake("PUSH")
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))
const none = bytes("")
const x = bytes("x")

const feeds: [string, Feed][] = [
  ["at once", atOnce],
  ["one byte at a time", byteByByte],
  ["in random cuts", atRandom("arenas")],
]

// -- Building arenas ---------------------------------------------------------------------

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer)
const run_ = (...messages: Message[]): Uint8Array => concat(...messages.map((m) => message(...m)))

interface Head {
  form?: Uint8Array
  inner?: number
  count?: number
}

const STORED = bytes("\0\0\0\0")
const COMPRESSED = bytes("\x01\0\0\0")

function arena(body: Uint8Array, { form = STORED, inner = body.length, count = 1 }: Head = {}) {
  return concat(SENTINELS.LZ4A, form, u32(inner), u32(count), body)
}

/** Returns a block of up to 269 bytes of plaintext: one sequence of literals. */
const literals = (plain: Uint8Array) =>
  plain.length < 15
    ? concat(Uint8Array.of(plain.length << 4), plain)
    : concat(Uint8Array.of(0xf0, plain.length - 15), plain)

function blockOf(plain: Uint8Array): Uint8Array {
  using codec = Codec.createSync({ minCompressSize: 0 })
  const wire = codec.encodePart(plain)
  return formOf(wire) === "LZ4B" ? wire.subarray(12) : literals(plain)
}

const compressed = (frames: Uint8Array, head: Head = {}) =>
  arena(blockOf(frames), { form: COMPRESSED, inner: frames.length, ...head })

/** Returns a frame with a long header, whatever its length. */
const longFrame = (body: Uint8Array, flags = 0) =>
  concat(Uint8Array.of(flags | LONG, 0, 0, 0, 0, 0, 0, body.length >> 8, body.length), body)

const empties = (parts: number, each: number) =>
  concat(...Array.from({ length: parts }, (_, i) => frame(none, (i + 1) % each ? MORE : 0)))

// -- Receiving ---------------------------------------------------------------------------

/** Makes the block of an arena long enough for 4096 parts. */
const noise = payload("random", 200)
const beside = (empty: number): Message => [noise, ...Array(empty).fill(none)]

const readable: [what: string, frames: Uint8Array, messages: Message[], budget?: number][] = [
  ["one message", frame(x), [[x]]],
  ["a message without a byte", frame(none), [[none]], 0],
  ["two messages, one of two parts", run_([x], [none, bytes("yz")]), [[x], [none, bytes("yz")]], 2],
  [
    "long frames around short bodies",
    concat(longFrame(none, MORE), longFrame(x), longFrame(none)),
    [[none, x], [none]],
  ],
  ["256 messages", empties(256, 1), Array(256).fill([none])],
  ["4096 parts in a message", run_(beside(4095)), [beside(4095)], noise.length],
  [
    "4096 parts in 256 messages",
    run_(beside(15), ...Array(255).fill(Array(16).fill(none))),
    [beside(15), ...Array(255).fill(Array(16).fill(none))],
  ],
  ["65536 bytes", frame(payload("lorem", 65_527)), [[payload("lorem", 65_527)]], 65_527],
  [
    "messages that each use up the budget",
    run_([bytes("abc"), bytes("de")], [bytes("fghij")], [none, bytes("klmno")]),
    [[bytes("abc"), bytes("de")], [bytes("fghij")], [none, bytes("klmno")]],
    5,
  ],
]

describe("an arena is read", () => {
  for (const [what, frames, messages, maxMessageSize = -1] of readable)
    for (const [form, wire] of [
      ["stored", arena(frames, { count: messages.length })],
      ["compressed", compressed(frames, { count: messages.length })],
    ] as const)
      test(`an arena is read with ${what}, ${form}`, () => {
        const traffic = {
          messages: messages.length,
          plainBytes: messages.flat().reduce((sum, part) => sum + part.length, 0),
          wireBytes: wire.length,
        }
        using codec = Codec.createSync({ maxMessageSize })
        expect(codec.decode([wire])).toEqual(messages)
        expect(codec.stats.received).toEqual(traffic)
        for (const [, feed] of feeds) {
          const stream = concat(shaken, frame(wire), frame(SENTINELS.plain))
          const received = run(open.receiving(instance, maxMessageSize), stream, feed)
          expect(received.error).toBeUndefined()
          expectSameBytes(received.output, concat(shaken, frames, frame(none)))
          expect(received.traffic).toEqual({
            messages: traffic.messages + 1,
            plainBytes: traffic.plainBytes,
            wireBytes: traffic.wireBytes + 4,
          })
        }
      })

  test("an arena is read with as many parts as its block pays for, whatever the budget", () => {
    const wire = arenaOfEmptyParts(MOST_EMPTY_PARTS)
    expect(wire.length).toBe(16 + 23)
    expect(1024 + 16 * 23).toBe(MOST_EMPTY_PARTS)
    using codec = Codec.createSync({ maxMessageSize: 0 })
    expect(codec.decode([wire])).toEqual([Array(MOST_EMPTY_PARTS).fill(none)])
    for (const [, feed] of feeds) {
      const received = run(open.receiving(instance, 0), concat(shaken, frame(wire)), feed)
      expect(received.error).toBeUndefined()
      expectSameBytes(received.output, concat(shaken, empties(MOST_EMPTY_PARTS, MOST_EMPTY_PARTS)))
    }
  })

  test("an arena is read with the dictionary", () => {
    const dictionary = payload("json", 1000)
    const frames = frame(dictionary.slice(100, 900))
    using sender = Codec.createSync({ dictionary })
    const block = sender.encodePart(frames).subarray(12)
    const wire = arena(block, { form: COMPRESSED, inner: frames.length })
    using codec = Codec.createSync()
    expect(codeOf(() => codec.decode([wire]))).toBe("ERR_LZ4_CORRUPT_BLOCK")
    codec.decode([dictionaryPart(dictionary)])
    expect(codec.decode([wire])).toEqual([[dictionary.slice(100, 900)]])
  })

  test("between other messages, in order", () => {
    const wire = [[plainPart(bytes("1"))], [arena(run_([bytes("2")], [bytes("3")]), { count: 2 })]]
    using codec = Codec.createSync()
    const delivered = [...wire, ...wire].flatMap((parts) => codec.decode(parts))
    expect(delivered.map(([part]) => String.fromCharCode(part![0]!)).join("")).toBe("123123")
  })
})

test("decodePart refuses an arena, which is not a part, and counts nothing", () => {
  using codec = Codec.createSync()
  const { stats } = codec
  const wire = arena(run_([x], [x]), { count: 2 })
  expect(() => codec.decodePart(wire)).toThrow(
    "ERR_LZ4_ARENA: the part is an arena of 2 messages, not a part of one; decode returns them",
  )
  expect(codec.stats).toEqual(stats)
  expect(codec.decode([wire])).toEqual([[x], [x]])
})

// -- What is refused -----------------------------------------------------------------------

interface Refused {
  step: string
  what: string
  wire: Uint8Array
  code?: ProtocolErrorCode
  budget?: number
  /** The parts before and after it. */
  before?: Uint8Array
  after?: Uint8Array
}

const good = arena(frame(x))

const refused: Refused[] = [
  { step: "A1", what: "a part before it", before: SENTINELS.plain, wire: good },
  { step: "A1", what: "a part after it", wire: good, after: SENTINELS.plain },
  { step: "A1", what: "a part after its first byte", wire: SENTINELS.LZ4A, after: plainPart(x) },
  ...[4, 8, 15].map((n) => ({ step: "A2", what: `${n} bytes`, wire: good.subarray(0, n) })),
  { step: "A2", what: "65553 bytes", wire: arena(new Uint8Array(65_537), { form: COMPRESSED }) },
  { step: "A3", what: "a form of 2", wire: arena(frame(x), { form: bytes("\x02\0\0\0") }) },
  { step: "A3", what: "a form of 255", wire: arena(frame(x), { form: bytes("\xff\0\0\0") }) },
  ...["\0\x01\0\0", "\0\0\x01\0", "\x01\0\0\x80"].map((form) => ({
    step: "A3",
    what: `bytes 4 to 7 of ${Buffer.from(form, "latin1").toString("hex")}`,
    wire: arena(frame(x), { form: bytes(form) }),
  })),
  ...[0, 65_537, 2 ** 32 - 1].flatMap((inner) =>
    [STORED, COMPRESSED].map((form) => ({
      step: "A4",
      what: `an inner size of ${inner} in form ${form[0]}`,
      wire: arena(frame(x), { form, inner }),
    })),
  ),
  ...[0, 257, 2 ** 32 - 1].map((count) => ({
    step: "A5",
    what: `${count} messages`,
    wire: arena(empties(256, 1), { count }),
  })),
  { step: "A5", what: "257 that are there", wire: arena(empties(257, 1), { count: 257 }) },
  {
    step: "A4",
    what: "65537 bytes in a good block",
    wire: compressed(frame(new Uint8Array(65_528))),
  },
  { step: "A6", what: "a byte too few", wire: arena(frame(x), { inner: 4 }) },
  { step: "A6", what: "a byte too many", wire: arena(frame(x), { inner: 2 }) },
  {
    step: "A7",
    what: "one byte over 255 times the block",
    wire: arena(new Uint8Array(10), { form: COMPRESSED, inner: 2551 }),
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
  },
  {
    step: "A7",
    what: "no block",
    wire: arena(none, { form: COMPRESSED, inner: 1 }),
    code: "ERR_LZ4_IMPLAUSIBLE_SIZE",
  },
  {
    step: "A8",
    what: "255 times the block, which does not decode",
    wire: arena(new Uint8Array(10).fill(255), { form: COMPRESSED, inner: 2550 }),
    code: "ERR_LZ4_CORRUPT_BLOCK",
  },
  {
    step: "A8",
    what: "a block of a byte more",
    wire: compressed(frame(x), { inner: 2 }),
    code: "ERR_LZ4_CORRUPT_BLOCK",
  },
  {
    step: "A8",
    what: "a block that is cut",
    wire: compressed(frame(x)).subarray(0, -1),
    code: "ERR_LZ4_CORRUPT_BLOCK",
  },
  {
    step: "A9",
    what: "a block of a byte less",
    wire: compressed(frame(x), { inner: 4 }),
    code: "ERR_LZ4_SIZE_MISMATCH",
  },
  ...[4, 6, 8, 16, 128].map((flags) => ({
    step: "A10",
    what: `flags of ${flags}`,
    wire: arena(concat(frame(x), Uint8Array.of(flags, 1, 120)), { count: 2 }),
  })),
  { step: "A10", what: "a frame that goes on", wire: arena(bytes("\0\x02x")) },
  { step: "A10", what: "half a header", wire: arena(bytes("\0\x01x\0"), { count: 2 }) },
  { step: "A10", what: "half a long header", wire: arena(bytes("\x02\0\0\0\0\0\0\0")) },
  ...[2n ** 31n, 2n ** 32n + 1n, 2n ** 62n, 2n ** 63n, 2n ** 64n - 1n].map((length) => ({
    step: "A10",
    what: `a frame of ${length} bytes`,
    wire: arena(concat(frameHead(length), x)),
  })),
  {
    step: "A10",
    what: "a block of such frames",
    wire: compressed(concat(frame(x), bytes("\x05\0")), { count: 2 }),
  },
  { step: "A11", what: "4097 parts", wire: arena(empties(4097, 4097)) },
  { step: "A11", what: "4097 parts in 17", wire: arena(empties(4097, 241), { count: 17 }) },
  {
    step: "A11",
    what: "a part more than the block pays for",
    wire: arenaOfEmptyParts(MOST_EMPTY_PARTS + 1),
  },
  { step: "A11", what: "4096 parts out of 62 bytes", wire: compressed(empties(4096, 4096)) },
  {
    step: "A11",
    what: "256 messages of 16 empty parts",
    wire: compressed(empties(4096, 16), { count: 256 }),
  },
  {
    step: "A12",
    what: "a part over budget",
    budget: 1,
    wire: arena(run_([x], [bytes("yz")]), { count: 2 }),
    code: "ERR_LZ4_BUDGET_EXCEEDED",
  },
  {
    step: "A12",
    what: "parts over budget together",
    budget: 2,
    wire: arena(run_([x], [x, none, x, x]), { count: 2 }),
    code: "ERR_LZ4_BUDGET_EXCEEDED",
  },
  {
    step: "A12",
    what: "a message over budget, before a count that is wrong",
    budget: 0,
    wire: arena(run_([none], [x]), { count: 1 }),
    code: "ERR_LZ4_BUDGET_EXCEEDED",
  },
  {
    step: "A10",
    what: "a frame that goes on, before a budget that it exceeds",
    budget: 0,
    wire: arena(bytes("\0\x02x")),
  },
  { step: "A13", what: "a message more", wire: arena(run_([x], [x]), { count: 1 }) },
  { step: "A13", what: "a message less", wire: arena(run_([x], [x]), { count: 3 }) },
  { step: "A13", what: "a message that is open", wire: arena(frame(x, MORE)) },
  {
    step: "A13",
    what: "a second message that is open",
    wire: compressed(concat(frame(x), frame(x, MORE)), { count: 1 }),
  },
]

function codeOf(work: () => unknown): string | undefined {
  try {
    work()
  } catch (error) {
    if (error instanceof ProtocolError) return error.code
    throw error
  }
}

/** Expects the code from Codec and in a stream, and that nothing is delivered. */
function expectRefusal(
  wire: Uint8Array,
  code: ProtocolErrorCode,
  { budget = -1, before, after, revision = 2 }: Partial<Refused> & { revision?: 1 | 2 } = {},
): void {
  const parts = [before, wire, after].filter((part) => part !== undefined)
  const index = before ? 1 : 0
  using codec = Codec.createSync({ maxMessageSize: budget, revision })
  const { stats } = codec
  const decode = () => codec.decode(parts)
  expect(codeOf(decode)).toBe(code)
  expect(decode).toThrow(new RegExp(`^${code}: part ${index} `))
  expect(codec.stats).toEqual(stats)
  expect(codec.decode([SENTINELS.plain])).toEqual([[none]])
  if (revision === 2 && budget !== 0) expect(codec.decode([good])).toEqual([[x]])

  const stream = concat(shaken, frame(SENTINELS.plain), message(...parts))
  const passed = before ? frame(none, MORE) : none
  for (const [, feed] of feeds) {
    const settings = checkCodecOptions({ maxMessageSize: budget, revision })
    const received = run(Transcoder.receiving(instance, settings), stream, feed)
    expect((received.error as ProtocolError).code).toBe(code)
    expect(received.error?.message).toContain(`: part ${index} `)
    expectSameBytes(received.output, concat(shaken, frame(none), passed))
    expect(received.traffic.messages).toBe(1)
  }
}

describe("an arena is refused as a whole", () => {
  for (const { step, what, wire, code = "ERR_LZ4_ARENA", ...where } of refused)
    test(`${step}: ${what}: ${code}`, () => expectRefusal(wire, code, where))

  test("every step has a test", () => {
    const steps = new Set(refused.map(({ step }) => step))
    expect([...steps].sort()).toEqual(Array.from({ length: 13 }, (_, i) => `A${i + 1}`).sort())
  })
})

describe("revision 1", () => {
  test.each([
    ["a good arena", good],
    ["a sentinel alone", SENTINELS.LZ4A],
    ["a bad arena", arena(none)],
  ])("refuses %s: ERR_LZ4_UNKNOWN_SENTINEL", (_, wire) => {
    expectRefusal(wire, "ERR_LZ4_UNKNOWN_SENTINEL", { revision: 1 })
  })

  test("reads all other forms", () => {
    using sender = Codec.createSync({ dictionary: payload("json", 1000) })
    using receiver = Codec.createSync({ revision: 1 })
    const sent = [[payload("json", 5000), none], [x]]
    expect(sender.encodeBatch(sent).flatMap((wire) => receiver.decode(wire))).toEqual(sent)
  })

  test.each<[CodecOptions, string]>([
    [{ revision: 3 as 2 }, "revision must be an integer from 1 to 2; got 3"],
    [{ revision: 0 as 1 }, "revision must be an integer from 1 to 2; got 0"],
    [{ revision: "2" as never }, 'revision must be a number; got "2"'],
    [{ arenas: 1 as never }, "arenas must be a boolean; got 1"],
    [{ arenas: null as never }, "arenas must be a boolean; got null"],
  ])("%j is refused", (options, says) => {
    expect(() => Codec.createSync(options)).toThrow(says)
  })
})

// -- Sending --------------------------------------------------------------------------------

/** Describes each wire message: the number of messages in an arena, or the forms of the parts. */
const shapes = (wire: readonly (readonly Uint8Array[])[]): (number | Form | undefined)[][] =>
  wire.map((parts) =>
    parts.map((part) =>
      formOf(part) === "LZ4A" ? Buffer.from(part.slice(12, 16)).readUInt32LE() : formOf(part),
    ),
  )

const small = (count: number, size = 10): Message[] =>
  Array.from({ length: count }, (_, i) => [payload("json", size, 1 + (i % 7))])

/** A message of which two copies are shorter in an arena. */
const some: Message = [payload("json", 300)]

/** Returns a message whose frames take this number of bytes, in this number of parts. */
function sized(bytes: number, parts = 1): Message {
  const lengths = Array(parts).fill(Math.floor(bytes / parts))
  lengths[0] += bytes % parts
  return lengths.map((length) => new Uint8Array(length - (length > 257 ? 9 : 2)))
}

const batches: [what: string, batch: Message[], shapes: (number | Form)[][]][] = [
  ["nothing", [], []],
  ["a message alone is sent as ordinary parts", [[none, x]], [["plain", "plain"]]],
  ["two messages are an arena", [some, [none, ...some]], [[2]]],
  ["messages are not, if that were no shorter", [[x], [none, x]], [["plain"], ["plain", "plain"]]],
  ["256 messages are the most", small(600), [[256], [256], [88]]],
  ["the last may be alone", small(257), [[256], ["plain"]]],
  ["4096 parts are the most", Array(5).fill(Array(2048).fill(none)).slice(0, 4), [[2], [2]]],
  ["65536 bytes are the most", Array(20).fill(sized(4096)), [[16], [4]]],
  ["and not a byte more", [...Array(15).fill(sized(4096)), sized(4097), [x]], [[15], [2]]],
  ["a message of 8192 bytes of frames is small", [[x], sized(8192), [x]], [[3]]],
  ["so in several parts", [[x], sized(8192, 3), [x]], [[3]]],
  [
    "a larger one is alone and closes the arena",
    [some, some, sized(8193), some, some, some, sized(8193, 2), sized(20_000), some],
    [[2], ["LZ4B"], [3], ["LZ4B", "LZ4B"], ["LZ4B"], ["plain"]],
  ],
]

/** Encodes messages that are queued together. The transcoder must give the same as Codec. */
function sent(batch: Message[], options: CodecOptions): Uint8Array[][] {
  using codec = Codec.createSync(options)
  const wire = codec.encodeBatch(batch)
  const plainBytes = batch.flat().reduce((sum, part) => sum + part.length, 0)
  const wireBytes = wire.flat().reduce((sum, part) => sum + part.length, 0)
  const traffic = { messages: batch.length, plainBytes, wireBytes }
  expect(codec.stats.sent).toEqual(traffic)

  const stream = concat(shaken, run_(...batch))
  const { error, output, traffic: counted } = run(open.sending(instance, options), stream, atOnce)
  expect(error).toBeUndefined()
  expect(counted).toEqual(traffic)
  expectSameBytes(output, concat(shaken, run_(...wire)))
  return wire
}

function expectReceived(wire: Uint8Array[][], batch: Message[]): void {
  using receiver = Codec.createSync()
  const received = wire.flatMap((parts) => receiver.decode(parts))
  expect(received.length).toBe(batch.length)
  expectSameBytes(run_(...received), run_(...batch))
}

describe("messages that share an arena", () => {
  test.each(batches)("%s", (_, batch, expected) => {
    const wire = sent(batch, { arenas: true })
    expect(shapes(wire)).toEqual(expected)
    expectReceived(wire, batch)
  })

  test("a message of more than 4096 parts is not put into an arena", () => {
    using codec = Codec.createSync({ arenas: true })
    const wire = codec.encodeBatch([some, some, Array(4097).fill(none), some, some])
    expect(wire.map((parts) => parts.length)).toEqual([1, 4097, 1])
  })

  test("none, if arenas are off", () => {
    expect(shapes(sent(small(5), {}))).toEqual(Array(5).fill(["plain"]))
  })

  test("encode of one message is never an arena", () => {
    using codec = Codec.createSync({ arenas: true })
    for (const batch of small(3)) expect(shapes(codec.encode(batch))).toEqual([["plain"]])
  })
})

const dictionary = payload("json", 2048, 999)
const events = Array.from(
  { length: 150 },
  ((texts) => () => [bytes(texts.next().value as string)])(logEvents(5)),
)

describe("an arena is compressed", () => {
  const lengthWith = (options: CodecOptions) => {
    const wire = sent(events, { arenas: true, ...options })
    expectReceived(wire, events)
    return wire.flat().reduce((sum, part) => sum + part.length, 0)
  }

  test("better than separate messages; even better with a level or a dictionary", () => {
    using single = Codec.createSync()
    const alone = single.encodeBatch(events).flat()
    const apart = alone.reduce((sum, part) => sum + part.length, 0)
    const together = lengthWith({})
    expect(together).toBeLessThan(apart * 0.6)
    expect(lengthWith({ level: 9 })).toBeLessThan(together)
    const shipped = 4 + dictionary.length
    expect(lengthWith({ dictionary }) - shipped).toBeLessThan(together)
    expect(lengthWith({ dictionary, level: 12 }) - shipped).toBeLessThan(lengthWith({ level: 12 }))
  })

  test("after the dictionary, which is shipped first and alone", () => {
    const wire = sent(events.slice(0, 20), { arenas: true, dictionary })
    expect(wire.map((parts) => parts.map(formOf))).toEqual([["LZ4D"], ["LZ4A"]])
  })

  test.each([
    [{ minCompressSize: 0 }, 50, 1],
    [{}, 511, 0],
    [{}, 512, 1],
    [{ dictionary }, 127, 0],
    [{ dictionary }, 128, 1],
    [{ minCompressSize: 9000 }, 8000, 0],
  ])(
    "an arena is compressed with %j, from the threshold of %i bytes of frames",
    (options, size, form) => {
      // Empty messages, and one that makes up the rest.
      const batch = [sized(size - 20), ...Array(10).fill([none])]
      const [part] = sent(batch, { arenas: true, ...options }).at(-1)!
      expect(part!.subarray(0, 5)).toEqual(concat(SENTINELS.LZ4A, Uint8Array.of(form)))
    },
  )

  test.each([
    ["of five empty parts", Array(256).fill(Array(5).fill(none)), 1],
    ["of six short parts", Array(256).fill(Array(6).fill(x)), 1],
    ["of six empty parts", Array(256).fill(Array(6).fill(none)), 0],
    ["of sixteen parts", Array(256).fill([x, ...Array(15).fill(none)]), 0],
  ] as [string, Message[], number][])(
    "unless its receiver would refuse that: 256 messages %s",
    (_, batch, form) => {
      for (const level of [0, 9]) {
        const wire = sent(batch, { arenas: true, level: level as 9 })
        expect(wire.map(([part]) => part![4])).toEqual([form])
        expectReceived(wire, batch)
      }
    },
  )

  test("or stored if that is not shorter", () => {
    const batch = Array.from({ length: 20 }, (_, i) => [payload("random", 200, i)])
    const wire = sent(batch, { arenas: true })
    expect(wire.flat().map((part) => part.length)).toEqual([16 + 20 * 202])
    expectReceived(wire, batch)
  })
})

describe("in a stream", () => {
  const ping = frame(bytes("\x04PING\0\0"), COMMAND)
  const [x] = some as [Uint8Array]

  /** Describes the output for each chunk; "PING" is a command. */
  function written(chunks: Uint8Array[], options: CodecOptions = {}) {
    const transcoder = open.sending(instance, { arenas: true, ...options })
    const made = [shaken, ...chunks].map((chunk) => {
      const pieces: Uint8Array[] = []
      transcoder.transcode(chunk, {
        take: (piece) => pieces.push(new Uint8Array(piece)) > 0,
      })
      return concat(...pieces)
    })
    transcoder.close()
    expectSameBytes(made[0]!, shaken)
    return made.slice(1).map((output) => {
      const { frames, restBytes } = parseStream(concat(shaken.subarray(0, 64), output))
      expect(restBytes).toBe(0)
      return frames.flatMap(({ flags, body }): (number | string | undefined)[] =>
        flags & COMMAND ? ["PING"] : shapes([[body]])[0]!,
      )
    })
  }

  test("only messages in the same chunk share an arena; none waits for more", () => {
    const one = run_([x])
    expect(written([one, concat(one, one, one), one, concat(one, one)])).toEqual([
      ["plain"],
      [3],
      ["plain"],
      [2],
    ])
  })

  test("a command ends an arena, and keeps its place", () => {
    const two = run_([x], [x])
    expect(written([concat(two, ping, two, two, ping, ping, run_([x]))])).toEqual([
      [2, "PING", 4, "PING", "PING", "plain"],
    ])
  })

  test("a message with a command inside it is not put into an arena", () => {
    const split = concat(frame(x, MORE), ping, frame(x))
    expect(written([concat(run_([x], [x]), split, run_([x], [x]))])).toEqual([
      [2, "plain", "PING", "plain", 2],
    ])
  })

  test("an incomplete message waits, and earlier ones do not", () => {
    const big = run_([payload("json", 600)])
    const chunk = concat(run_([x], [x]), big.subarray(0, 300))
    expect(written([chunk, concat(big.subarray(300), run_([x]))])).toEqual([[2], [2]])
  })

  test("parts of an incomplete message are sent as they arrive", () => {
    const [first, last] = [frame(x, MORE), frame(x)]
    const chunk = concat(run_([x], [x]), first)
    expect(written([chunk, concat(last, run_([x], [x]))])).toEqual([
      [2, "plain"],
      ["plain", 2],
    ])
  })

  test("an arena is always shorter than its messages", () => {
    const random = (count: number, size: number) =>
      run_(...Array.from({ length: count }, (_, i) => [payload("random", size, i)]))
    const plain = (count: number) => Array(count).fill("plain")
    for (const level of [0, 9] as const)
      expect(written([random(6, 100), random(7, 100)], { level })).toEqual([plain(6), [7]])
  })

  test("the dictionary goes before the first arena, once", () => {
    const three = run_([x], [x], [x])
    expect(written([ping, three, three], { dictionary })).toEqual([["PING"], ["LZ4D", 3], [3]])
  })
})

// -- Any messages ------------------------------------------------------------------------------

const parts = fc.oneof(
  { arbitrary: fc.uint8Array({ maxLength: 30 }), weight: 5 },
  { arbitrary: fc.integer({ min: 0, max: 900 }).map((size) => payload("json", size)), weight: 3 },
  { arbitrary: plaintexts, weight: 1 },
)
const someMessages = fc.array(
  fc.oneof(
    { arbitrary: fc.array(parts, { minLength: 1, maxLength: 4 }), weight: 20 },
    { arbitrary: fc.constant(Array<Uint8Array>(1500).fill(none)), weight: 1 },
  ),
  { maxLength: 40 },
)
const someOptions: fc.Arbitrary<CodecOptions> = fc
  .record(
    {
      dictionary: dictionaries,
      minCompressSize: fc.constantFrom(0, 100, 70_000),
      level: fc.constantFrom(0, 3, 9, 12),
    },
    { requiredKeys: [] },
  )
  .map((options) => ({ ...options, arenas: true }))

describe("any messages round-trip", () => {
  test("any messages round-trip by Codec", () => {
    fc.assert(
      fc.property(someMessages, someOptions, (batch, options) => {
        using sender = Codec.createSync(options)
        expectReceived(sender.encodeBatch(batch), batch)
      }),
      { numRuns: 150 },
    )
  })

  test("any messages round-trip by the transcoder, and from it by Codec, with any chunks", () => {
    fc.assert(
      fc.property(someMessages, someOptions, fc.string(), fc.string(), (batch, options, a, b) => {
        const stream = concat(shaken, run_(...batch))
        const sent = run(open.sending(instance, options), stream, atRandom(a))
        const received = run(open.receiving(instance), sent.output, atRandom(b))
        expect(received.error).toBeUndefined()
        expectSameBytes(received.output, stream)
        expect(received.traffic).toEqual(sent.traffic)
        expectReceived(messagesOf(parseStream(sent.output).frames), batch)
      }),
      { numRuns: 150 },
    )
  })

  test("any damage to an arena gives messages or a ProtocolError, and a valid one can be read afterwards", () => {
    using sender = Codec.createSync({ arenas: true })
    const arenas = [small(3), small(60), events.slice(0, 30)].map(
      (batch) => sender.encodeBatch(batch)[0]![0]!,
    )
    using receiver = Codec.createSync({ maxMessageSize: 5000 })
    fc.assert(
      fc.property(fc.constantFrom(...arenas), mutations, (wire, mutate) => {
        const damaged = mutate(wire)
        // A dictionary would affect later messages.
        fc.pre(formOf(damaged) !== "LZ4D")
        codeOf(() => receiver.decode([damaged]))
        expect(receiver.decode([good])).toEqual([[x]])
      }),
      { numRuns: 3000 },
    )
  })
})
