/** Parts that are sent plain: with level "none", below the threshold, or incompressible; and how little of them enters the module. */
import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { REFERRED_MIN_BYTES } from "../../../src/base/limits.js"
import { loadInstanceSync } from "../../../src/codec/module.js"
import { NO_EFFORT } from "../../../src/codec/no-effort.js"
import { checkLz4Options, type Lz4Options } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import { Transcoder } from "../../../src/codec/transcoder.js"
import { Batch, plainLength } from "../../../src/patterns/batch.js"
import { Distribution } from "../../../src/patterns/distribution.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import { bytesOfChunk } from "../../support/chunks.js"
import { burst, FakeConnection, noMarks, silent } from "../../support/pipes.js"
import { concat, formOf } from "../../support/wire.js"
import { message as framesOf, greeting, messagesOf, parseStream } from "../../support/zmtp.js"

type Message = Buffer[]

const KIB = 1024
const MIB = 2 ** 20
const NO_FRAMES = new Uint8Array(0)
const dictionary = payload("json", 2048, 999)

const source = {
  json: Buffer.from(payload("json", 3 * MIB + 4096)),
  random: Buffer.from(payload("random", 3 * MIB + 4096)),
}

const bytesOf = (kind: "json" | "random", size: number, seed = 1): Buffer =>
  Buffer.from(source[kind].subarray(37 * seed, 37 * seed + size))

function openSender(options: Lz4Options): Sender {
  const sender = new Sender(checkLz4Options(options, -1))
  onTestFinished(() => sender.close())
  return sender
}

const wireParts = (bytes: Uint8Array): Uint8Array[][] =>
  messagesOf(parseStream(concat(greeting(), bytes)).frames)

const formsOf = (bytes: Uint8Array): (string | undefined)[] =>
  wireParts(bytes).flatMap((parts) => parts.map(formOf))

/** Decodes the frames that a peer receives. */
function received(bytes: Uint8Array): Uint8Array {
  const transcoder = Transcoder.receiving(loadInstanceSync(), checkLz4Options({}, -1), true)
  const pieces: Uint8Array[] = []
  transcoder.transcode(bytes, { take: (piece) => pieces.push(Buffer.from(piece)) > 0 })
  transcoder.close()
  return concat(...pieces)
}

const expectFrames = (bytes: Uint8Array, messages: readonly Message[]) =>
  expect(Buffer.compare(received(bytes), concat(...messages.map((one) => framesOf(...one))))).toBe(
    0,
  )

/** Returns the wire bytes of the parts of some messages. */
const wireBytesOf = (bytes: Uint8Array): number =>
  wireParts(bytes)
    .flat()
    .reduce((sum, part) => sum + part.length, 0)

describe('level "none"', () => {
  const options = { level: "none", dictionary } as const

  test("level none of a codec gives plain parts, and no dictionary", () => {
    using codec = Codec.createSync(options)
    const message = [bytesOf("json", 10), bytesOf("json", 5000), bytesOf("json", 2 * MIB)]
    const sent = codec.encode(message)
    expect(sent.map((parts) => parts.map(formOf))).toEqual([["plain", "plain", "plain"]])
    using receiver = Codec.createSync()
    const [decoded = []] = sent.flatMap((wire) => receiver.decode(wire))
    for (const [i, part] of decoded.entries())
      expect(Buffer.compare(part, message[i] as Buffer)).toBe(0)
  })

  test("level none of a codec trains no dictionary and gives no arenas", () => {
    using codec = Codec.createSync({ level: "none", autoDictionary: { trigger: 1 }, arenas: true })
    const messages = Array.from({ length: 5 }, (_, i) => [bytesOf("json", 600, i)])
    const sent = codec.encodeBatch(messages)
    expect(sent.flat().map(formOf)).toEqual(Array(5).fill("plain"))
  })

  test("excludes an acceleration, as levels do", () => {
    expect(() => checkLz4Options({ level: "none", acceleration: 2 }, -1)).toThrow(
      'acceleration applies to level 0 only; got it with level "none"',
    )
  })

  test("level none of a sender gives plain parts of any size, which are counted", () => {
    const sender = openSender(options)
    const message = [0, 251, 252, 5000, 9000, 300 * KIB, 3 * MIB].map((n) => bytesOf("json", n))
    const chunk = sender.encode(framesOf(...message), message)
    expect(new Set(formsOf(bytesOfChunk(chunk)))).toEqual(new Set(["plain"]))
    expectFrames(bytesOfChunk(chunk), [message, message])
    const plainBytes = message.reduce((sum, part) => sum + part.length, 0)
    expect(chunk).toMatchObject({
      messages: 2,
      plainBytes: 2 * plainBytes,
      wireBytes: 2 * plainBytes + 2 * 4 * message.length,
      dictionary: undefined,
    })
    chunk.release()
  })
})

describe("a sender whose effort changes", () => {
  const part = fc.record({
    kind: fc.constantFrom("json" as const, "random" as const),
    size: fc.oneof(
      { arbitrary: fc.nat(700), weight: 10 },
      { arbitrary: fc.nat(20_000), weight: 10 },
      // It takes nearly all of the time.
      { arbitrary: fc.constant(1.2 * MIB), weight: 1 },
    ),
  })
  const step = fc.record({
    effort: fc.constantFrom(NO_EFFORT, 1, -3),
    frames: fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    last: fc.option(fc.array(part, { minLength: 1, maxLength: 3 })),
  })

  test.each<[string, Lz4Options]>([
    ["no options", {}],
    ["a dictionary", { dictionary }],
    ["arenas", { arenas: true }],
    ["a dictionary and arenas", { dictionary, arenas: true }],
    ["training", { autoDictionary: { trigger: 3 } }],
    ["training and arenas", { autoDictionary: { trigger: 2 }, arenas: true }],
  ])(
    "a sender with %s is decodable and counted, and compresses nothing with none",
    (_, options) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
          const sender = new Sender(checkLz4Options(options, -1))
          const stream: Uint8Array[] = []
          const all: Message[] = []
          let shipped = false
          for (const { effort, frames, last } of steps) {
            const make = (parts: { kind: "json" | "random"; size: number }[]) =>
              parts.map(({ kind, size }) => bytesOf(kind, size))
            const batch = new Batch(sender.plainBelow("parts", effort))
            const messages = frames.map(make)
            for (const one of messages) batch.append(one, plainLength(one))
            const large = last ? make(last) : undefined
            const chunk = sender.encode(batch.seal(), large, { plain: batch, effort })
            if (large) messages.push(large)
            expect(chunk.messages).toBe(messages.length)
            expect(chunk.plainBytes).toBe(
              messages.flat().reduce((sum, { length }) => sum + length, 0),
            )
            expect(chunk.wireBytes).toBe(wireBytesOf(bytesOfChunk(chunk)))
            if (effort === NO_EFFORT) {
              expect(formsOf(bytesOfChunk(chunk)).every((form) => form === "plain")).toBe(true)
              expect(chunk.dictionary).toBeUndefined()
            }
            if (chunk.dictionary && !shipped) stream.push(chunk.dictionary)
            shipped ||= chunk.dictionary !== undefined
            stream.push(bytesOfChunk(chunk))
            all.push(...messages)
            chunk.release()
            batch.release()
          }
          expectFrames(concat(...stream), all)
          sender.close()
        }),
        { numRuns: 15 },
      )
    },
  )
})

describe("a sender knows which parts are sent plain", () => {
  test("all with NO_EFFORT, otherwise those below the threshold", () => {
    const sender = openSender({ minCompressSize: 300 })
    expect(sender.plainBelow("parts")).toBe(300)
    expect(sender.plainBelow("parts", NO_EFFORT)).toBe(Number.POSITIVE_INFINITY)
  })

  test("those below the threshold for a dictionary, if there is one", () => {
    expect(openSender({ dictionary }).plainBelow("parts")).toBe(128)
  })

  test("none if dictionaries are trained on them", () => {
    expect(openSender({ autoDictionary: true }).plainBelow("parts")).toBe(0)
  })

  test("none if small messages share arenas", () => {
    expect(openSender({ arenas: true }).plainBelow("arenas")).toBe(0)
  })
})

describe("a batch", () => {
  test("has the wire form of all messages before the first that may be compressed", () => {
    const batch = new Batch(512)
    const messages = [["a"], ["b", "c".repeat(511)], ["d".repeat(512)], ["e"]].map((parts) =>
      parts.map((part) => Buffer.from(part)),
    )
    for (const one of messages) batch.append(one, plainLength(one))
    expect(batch).toMatchObject({ messages: 2, plainBytes: 513, wireBytes: 525, count: 4 })
    expect(Buffer.from(batch.bytes)).toEqual(
      Buffer.concat(wireParts(batch.bytes).map((parts) => framesOf(...parts))),
    )
    expectFrames(batch.bytes, messages.slice(0, 2))
    expect(Buffer.from(batch.seal())).toEqual(
      Buffer.from(concat(...messages.slice(2).map((one) => framesOf(...one)))),
    )
    batch.release()
  })

  test("a batch of plain messages is a chunk, whose memory is not reused until it is written", () => {
    const fill = (text: string) => {
      const batch = new Batch(Number.POSITIVE_INFINITY)
      for (let i = 0; i < 100; i++) {
        const one = [Buffer.from(`${text}${i}`.repeat(50))]
        batch.append(one, plainLength(one))
      }
      const chunk = batch.takeChunk()
      batch.release()
      return chunk
    }
    const chunks = ["a", "b", "c"].map(fill)
    const copies = chunks.map(({ bytes }) => new Uint8Array(bytes))
    chunks[1]?.release()
    fill("d").release()
    expect(Buffer.from(chunks[0]?.bytes as Uint8Array)).toEqual(
      Buffer.from(copies[0] as Uint8Array),
    )
    expect(Buffer.from(chunks[2]?.bytes as Uint8Array)).toEqual(
      Buffer.from(copies[2] as Uint8Array),
    )
  })
})

function attached(sender: Sender): { pipe: Pipe; connection: FakeConnection } {
  const connection = new FakeConnection()
  const pipe = new Pipe(silent, sender, noMarks)
  pipe.attach(connection)
  return { pipe, connection }
}

/** Messages of one and several parts, small, medium and large. */
const mixed: Message[] = [10, 600, 9000, 20_000, 40_000, 300, 100_000, 5, 2 * MIB, 64].flatMap(
  (size, i) => [
    [bytesOf("json", size, i)],
    [Buffer.from("topic"), bytesOf(i % 2 ? "json" : "random", size, i)],
  ],
)

const writtenTo = ({ chunks }: FakeConnection): Uint8Array => {
  const shipped = chunks.find(({ dictionary }) => dictionary)?.dictionary ?? NO_FRAMES
  return concat(shipped, ...chunks.map(bytesOfChunk))
}

test.each<[string, Lz4Options]>([
  ["no effort", { level: "none" }],
  ["no options", {}],
  ["a high threshold", { minCompressSize: 50_000 }],
  ["a dictionary", { dictionary }],
])(
  "a pipe with %s sends messages of all sizes in order, even if the program reuses the memory of small parts",
  async (_, options) => {
    const { pipe, connection } = attached(openSender(options))
    for (const message of mixed) {
      const passed = message.map((part) => Buffer.from(part))
      expect(pipe.out.write(passed)).toBe(true)
      for (const part of passed) if (part.length < REFERRED_MIN_BYTES) part.fill(0)
    }
    await burst()
    expectFrames(writtenTo(connection), mixed)
  },
)

test("a distribution to endpoints with and without compression sends all messages to each", async () => {
  const distribution = new Distribution()
  const peers = ([{ level: "none" }, {}, { dictionary }, { arenas: true }] as const).map(
    (options) => attached(openSender(options)),
  )
  for (const { pipe } of peers) distribution.attach(pipe)
  for (const message of mixed) distribution.sendToAll(message)
  await burst()
  for (const { connection } of peers) expectFrames(writtenTo(connection), mixed)
  expect(formsOf(writtenTo(peers[0]?.connection as FakeConnection))).not.toContain("LZ4B")
  expect(formsOf(writtenTo(peers[1]?.connection as FakeConnection))).toContain("LZ4B")
})

test("a distribution of plain messages gives all peers the same bytes", async () => {
  const distribution = new Distribution()
  const sender = openSender({ arenas: false })
  const peers = [attached(sender), attached(openSender({ level: "none" })), attached(sender)]
  for (const { pipe } of peers) distribution.attach(pipe)
  const messages = Array.from({ length: 20 }, (_, i) => [Buffer.from(`message ${i}`)])
  for (const message of messages) distribution.sendToAll(message)
  await burst()
  expect(new Set(peers.map(({ connection }) => connection.chunks[0])).size).toBe(1)
  for (const { connection } of peers) expectFrames(writtenTo(connection), messages)
})

describe("the body of a large plain part does not enter the module", () => {
  const large = Buffer.alloc(64 * MIB, 1)
  const memoryBytes = () => loadInstanceSync().bytes.length

  test("when it is sent with level none", () => {
    const sender = openSender({ level: "none" })
    sender.encode(NO_FRAMES, [Buffer.alloc(10)]).release()
    const before = memoryBytes()
    sender.encode(framesOf(large), [large]).release()
    expect(memoryBytes()).toBe(before)
  })

  test("when it is received after others in a chunk", () => {
    const instance = loadInstanceSync()
    const transcoder = Transcoder.receiving(instance, checkLz4Options({}, -1), true)
    onTestFinished(() => transcoder.close())
    const plain = (bytes: Buffer) => Buffer.concat([Buffer.alloc(4), bytes])
    const stream = framesOf(plain(Buffer.alloc(10)), plain(large), plain(Buffer.alloc(20)))
    const before = memoryBytes()
    let bytes = 0
    transcoder.transcode(stream, {
      take: (piece) => {
        bytes += piece.length
        return true
      },
    })
    expect(bytes).toBe(stream.length - 3 * 4)
    expect(memoryBytes()).toBe(before)
  })
})

test("after incompressible parts, only a sample is tried until it compresses", () => {
  const sender = openSender({})
  // The repetition is neither at the beginning nor in the middle.
  const hidden = bytesOf("random", 100_000).fill(0, 10_000, 40_000)
  const form = (part: Buffer) => {
    const chunk = sender.encode(NO_FRAMES, [part])
    expectFrames(bytesOfChunk(chunk), [[part]])
    const [form] = formsOf(bytesOfChunk(chunk))
    chunk.release()
    return form
  }
  expect(form(hidden)).toBe("LZ4B")
  for (let i = 0; i < 4; i++) expect(form(bytesOf("random", 100_000, i))).toBe("plain")
  expect(form(hidden)).toBe("plain")
  expect(form(bytesOf("json", 100_000))).toBe("LZ4B")
  expect(form(hidden)).toBe("LZ4B")
})
