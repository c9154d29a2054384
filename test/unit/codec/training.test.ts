/** Dictionaries that a sender trains itself (RFC.md section 6.4), and trainDictionary. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Codec, type CodecOptions, trainDictionary } from "zeromq-lz4/codec"

import { logEvents, payload } from "../../../bench/payloads.mjs"
import { createRandom } from "../../../bench/random.mjs"
import { loadInstanceSync } from "../../../src/codec/module.js"
import { checkCodecOptions, type Training } from "../../../src/codec/options.js"
import { Trainer } from "../../../src/codec/trainer.js"
import { Transcoder } from "../../../src/codec/transcoder.js"
import { plaintexts } from "../../support/arbitraries.js"
import { inChild } from "../../support/child.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { atOnce, atRandom, byteByByte, type Feed, run } from "../../support/transcoding.js"
import { concat, dictionaryPart, formOf } from "../../support/wire.js"
import { frame, handshake, MORE, message, messagesOf, parseStream } from "../../support/zmtp.js"

type Message = Uint8Array[]

const MIB = 2 ** 20
const instance = loadInstanceSync()
const shaken = handshake("PUSH")
const text = new TextEncoder()
const none = new Uint8Array(0)

/** Returns messages of one event each. */
function events(count: number, seed = 1): Message[] {
  const texts = logEvents(seed)
  return Array.from({ length: count }, () => [text.encode(texts.next().value as string)])
}

/** Returns messages of random bytes, all different. */
function noises(count: number, size: number): Message[] {
  const random = createRandom("noises")
  return Array.from({ length: count }, () => [random.bytes(size)])
}

// -- Ways to send ------------------------------------------------------------------------

type Send = (messages: readonly Message[], options: CodecOptions) => Message[]

const byCodec: Send = (messages, options) => {
  using codec = Codec.createSync(options)
  return messages.flatMap((parts) => codec.encode(parts))
}

const byBatch: Send = (messages, options) => {
  using codec = Codec.createSync(options)
  return codec.encodeBatch(messages)
}

const byStream =
  (feed: Feed): Send =>
  (messages, options) => {
    const settings = checkCodecOptions(options)
    const trainer = settings.training && new Trainer(instance, settings.training)
    const stream = concat(shaken, ...messages.map((parts) => message(...parts)))
    const sent = run(Transcoder.sending(instance, settings, trainer), stream, feed)
    trainer?.close()
    expect(sent.error).toBeUndefined()
    expect(sent.traffic.messages).toBe(messages.length)
    return messagesOf(parseStream(sent.output).frames)
  }

const bytewise = byStream(byteByByte)

const ways: [string, Send][] = [
  ["encode", byCodec],
  ["encodeBatch", byBatch],
  ["a stream at once", byStream(atOnce)],
  ["a stream byte by byte", bytewise],
  ["a stream in random cuts", byStream(atRandom("training"))],
]

/** Returns the dictionaries, and the number of messages before each. */
function shipped(wire: readonly Message[]): [after: number, dictionary: Uint8Array][] {
  const found: [number, Uint8Array][] = []
  for (const [i, [part]] of wire.entries())
    if (formOf(part!) === "LZ4D") found.push([i - found.length, part!.subarray(4)])
  return found
}

function expectReceived(wire: readonly Message[], sent: readonly Message[]): void {
  using receiver = Codec.createSync()
  const received = wire.flatMap((parts) => receiver.decode(parts))
  expect(received.length).toBe(sent.length)
  for (const [i, parts] of sent.entries())
    expectSameBytes(concat(...received[i]!), concat(...parts))
}

const wireBytes = (wire: readonly Message[]) =>
  wire.flat().reduce((sum, part) => sum + part.length, 0)

// -- While sending -------------------------------------------------------------------------

describe.each(ways)("autoDictionary, by %s", (_, send) => {
  test("ships one dictionary of up to 2 KiB after 100 messages and compresses with it", () => {
    const sent = events(200)
    const wire = send(sent, { autoDictionary: true })
    const [[after, dictionary], ...more] = shipped(wire) as [[number, Uint8Array]]
    expect(more).toEqual([])
    expect(after).toBe(100)
    expect(dictionary.length).toBeGreaterThan(1000)
    expect(dictionary.length).toBeLessThanOrEqual(2048)
    expectReceived(wire, sent)

    const plain = send(sent, {})
    expect(wireBytes(wire.slice(0, 100))).toBe(wireBytes(plain.slice(0, 100)))
    expect(wireBytes(wire.slice(101))).toBeLessThan(wireBytes(plain.slice(100)) * 0.6)
    // From here on, the threshold is that for a dictionary.
    for (const [i, [part]] of wire.slice(101).entries())
      if (sent[100 + i]![0]!.length < 512) expect(formOf(part!)).toBe("LZ4B")
  })

  test("sends the same bytes as Codec", () => {
    const options = { autoDictionary: { capacity: 1000, trigger: 20 } }
    const sent = events(40, 5)
    expectSameBytes(concat(...send(sent, options).flat()), concat(...byCodec(sent, options).flat()))
  })

  test.each([
    [1, 100],
    [7, 300],
    [120, 8192],
  ])("after %i messages, of up to %i bytes", (trigger, capacity) => {
    // Two parts each, so that even one message has repetitions.
    const sent = events(130).map(([event]) => [event!, event!, none])
    const wire = send(sent, { autoDictionary: { trigger, capacity } })
    const [[after, dictionary]] = shipped(wire) as [[number, Uint8Array]]
    expect(after).toBe(trigger)
    expect(dictionary.length).toBeLessThanOrEqual(capacity)
    expectReceived(wire, sent)
  })

  test("uses the given threshold", () => {
    const sent = events(120)
    const wire = send(sent, { autoDictionary: true, minCompressSize: 700 })
    for (const [i, [part]] of wire.slice(101).entries())
      expect(formOf(part!)).toBe(sent[100 + i]![0]!.length < 700 ? "plain" : "LZ4B")
  })

  test.each<[string, Message[]]>([
    ["noise", noises(10, 600)],
    ["short noise", noises(10, 40)],
    ["parts of a few bytes", Array(10).fill([text.encode("1234567"), none])],
    ["nothing", Array(10).fill([none])],
  ])("ships nothing after sampling %s, and does not try again", (_, useless) => {
    const sent = [...useless, ...events(150)]
    const wire = send(sent, { autoDictionary: { trigger: 10 } })
    expect(shipped(wire)).toEqual([])
    expectReceived(wire, sent)
  })

  test("ships nothing before enough messages have been sent", () => {
    expect(shipped(send(events(100), { autoDictionary: true }))).toEqual([])
  })

  test("with a level", () => {
    const sent = events(150)
    const [fast, thorough] = ([0, 9] as const).map((level) =>
      send(sent, { autoDictionary: true, level }),
    )
    expect(wireBytes(thorough!)).toBeLessThan(wireBytes(fast!))
    expectReceived(thorough!, sent)
  })

  // Ten parts of 1 MiB take too long byte by byte.
  const sizes = send === bytewise ? [5000] : [5000, MIB + 1]
  test.each(sizes)("samples 2 × capacity bytes of parts of %i bytes", (size) => {
    const same = payload("json", size)
    const options = { autoDictionary: { capacity: 100, trigger: 4 } }
    const behind = (noise: number) =>
      noises(5, noise).map(([start]) => [concat(start!, same).subarray(0, size)])
    expect(shipped(send(behind(200), options))).toEqual([])
    const wire = send(behind(80), options)
    const [[after, dictionary]] = shipped(wire) as [[number, Uint8Array]]
    expect(after).toBe(4)
    expect(Buffer.from(same.subarray(0, 120)).includes(Buffer.from(dictionary).subarray(-20))).toBe(
      true,
    )
    expectReceived(wire, behind(80))
  })
})

describe("autoDictionary with arenas", () => {
  const options: CodecOptions = { autoDictionary: true, arenas: true }
  const arenaOf = (wire: Message[]) => wire.findIndex(([part]) => formOf(part!) === "LZ4A")

  test.each(ways)("by %s, all messages round-trip", (_, send) => {
    const sent = events(400)
    const wire = send(sent, options)
    expect(shipped(wire).length).toBe(1)
    expectReceived(wire, sent)
  })

  test("a stream has arenas after its dictionary is trained", () => {
    const wire = byStream(atOnce)(events(300), options)
    expect(shipped(wire).map(([after]) => after)).toEqual([100])
    expect(arenaOf(wire)).toBe(101)
  })

  test("and if there will be no dictionary", () => {
    const wire = byStream(atOnce)(noises(110, 40), options)
    expect(shipped(wire)).toEqual([])
    expect(arenaOf(wire)).toBe(100)
  })

  test("Codec samples the content of arenas", () => {
    using codec = Codec.createSync(options)
    const wire = codec.encodeBatch(events(150))
    expect(wire.map((parts) => parts.map(formOf))).toEqual([["LZ4A"], ["LZ4D"], ["LZ4A"]])
  })
})

describe("Codec", () => {
  test("counts its trained dictionary as wire bytes", () => {
    using codec = Codec.createSync({ autoDictionary: true })
    const sent = events(120)
    const wire = sent.flatMap((parts) => codec.encode(parts))
    expect(codec.stats.sent).toEqual({
      messages: 120,
      plainBytes: wireBytes(sent),
      wireBytes: wireBytes(wire),
    })
  })

  test("encodePart neither samples nor ships a dictionary, but uses it", () => {
    using codec = Codec.createSync({ autoDictionary: { trigger: 50 } })
    const sent = events(120)
    for (const [part] of sent) codec.encodePart(part!)
    expect(shipped(sent.slice(0, 60).flatMap((parts) => codec.encode(parts)))[0]![0]).toBe(50)
    const [short] = sent.map(([part]) => part!).filter((part) => part.length < 500)
    expect(formOf(codec.encodePart(short!))).toBe("LZ4B")
  })

  test("does not sample refused messages", () => {
    using codec = Codec.createSync({ autoDictionary: { trigger: 3 } })
    for (let i = 0; i < 10; i++) expect(() => codec.encode([null as never])).toThrow(TypeError)
    expect(shipped(events(10).flatMap((parts) => codec.encode(parts)))[0]![0]).toBe(3)
  })

  test("frees its memory, whenever it is closed", async () => {
    const [before, after] = await inChild(({ Codec, fillWasmMemory, memoryNow }, sent) => {
      const cycle = () => {
        for (let i = 0; i < 200; i++) {
          const codec = Codec.createSync({ autoDictionary: { trigger: 10 } })
          for (const parts of sent.slice(0, i % 13)) codec.encode(parts)
          codec.close()
        }
      }
      cycle()
      fillWasmMemory()
      const filled = memoryNow().wasm
      for (let i = 0; i < 5; i++) cycle()
      return [filled, memoryNow().wasm]
    }, events(12))
    expect(after).toBe(before)
  })
})

// -- Transcoders that share a trainer ------------------------------------------------------

describe("several transcoders that share a trainer", () => {
  const settings = checkCodecOptions({ autoDictionary: { trigger: 20 } })

  function open(count: number) {
    const trainer = new Trainer(instance, settings.training as Training)
    const add = () => {
      const transcoder = Transcoder.sending(instance, settings, trainer)
      const made: Uint8Array[] = []
      const sink = { take: (piece: Uint8Array) => made.push(new Uint8Array(piece)) > 0 }
      transcoder.transcode(shaken, sink)
      return {
        transcoder,
        send: (stream: Uint8Array) => transcoder.transcode(stream, sink),
        wire: () => messagesOf(parseStream(concat(...made)).frames),
      }
    }
    return { trainer, add, all: Array.from({ length: count }, add) }
  }

  const streamOf = (messages: Message[]) => concat(...messages.map((parts) => message(...parts)))

  test("one is sampled; all ship the same dictionary with their next message, later ones with their first", () => {
    const { trainer, add, all } = open(3)
    const sent = events(30)
    for (const { send } of all) send(streamOf(sent.slice(0, 15)))
    all[0]!.send(streamOf(sent.slice(15)))
    const late = add()
    for (const { send } of [all[1]!, all[2]!, late]) send(streamOf(sent.slice(15)))

    const found = [...all, late].map(({ wire }) => shipped(wire()))
    expect(found.map((each) => each.map(([after]) => after))).toEqual([[20], [15], [15], [0]])
    for (const [[, dictionary]] of found as [[number, Uint8Array]][])
      expectSameBytes(dictionary, found[0]![0]![1])
    for (const { wire } of all) expectReceived(wire(), sent)
    expectReceived(late.wire(), sent.slice(15))
    for (const { transcoder } of [...all, late]) transcoder.close()
    trainer.close()
  })

  test("another continues if the sampled one closes, even within a message", () => {
    const { trainer, all } = open(2)
    const sent = events(30)
    const [first, second] = all
    first!.send(concat(streamOf(sent.slice(0, 15)), frame(sent[15]![0]!, MORE)))
    second!.send(streamOf(sent.slice(0, 3)))
    first!.transcoder.close()
    second!.send(streamOf(sent.slice(3)))
    // 15 messages of the first and 5 of the second, from its fourth on.
    expect(shipped(second!.wire()).map(([after]) => after)).toEqual([8])
    expectReceived(second!.wire(), sent)
    second!.transcoder.close()
    trainer.close()
  })

  test("an idle one does not delay the others", () => {
    const { trainer, all } = open(3)
    const sent = events(60)
    const [idle, busy, other] = all
    idle!.send(streamOf(sent.slice(0, 1)))
    busy!.send(streamOf(sent))
    other!.send(streamOf(sent.slice(0, 1)))
    // 20 are skipped, then 19 are sampled.
    expect(shipped(busy!.wire()).map(([after]) => after)).toEqual([39])
    expect(shipped(other!.wire()).map(([after]) => after)).toEqual([0])
    expectReceived(busy!.wire(), sent)
    for (const { transcoder } of all) transcoder.close()
    trainer.close()
  })

  test("free all memory", () => {
    const sent = events(25)
    const cycle = () => {
      for (let i = 0; i < 200; i++) {
        const { trainer, all } = open(2)
        for (const { send } of all) send(streamOf(sent.slice(0, i % 25)))
        for (const { transcoder } of all) transcoder.close()
        trainer.close()
      }
    }
    cycle()
    const before = instance.exports.memory.buffer.byteLength
    for (let i = 0; i < 5; i++) cycle()
    expect(instance.exports.memory.buffer.byteLength).toBe(before)
  })

  test("a dictionary is not sent between the parts of a message", () => {
    const { trainer, all } = open(2)
    const [first, second] = all
    const sent = events(21)
    first!.send(streamOf(sent.slice(0, 1)))
    second!.send(frame(none, MORE))
    first!.send(streamOf(sent.slice(1)))
    second!.send(concat(frame(none), frame(none)))
    const forms = second!.wire().map((parts) => parts.map(formOf))
    expect(forms).toEqual([["plain", "plain"], ["LZ4D"], ["plain"]])
    for (const { transcoder } of all) transcoder.close()
    trainer.close()
  })
})

// -- Options --------------------------------------------------------------------------------

describe("options", () => {
  test.each<[options: object, type: typeof Error, says: string]>([
    [
      { autoDictionary: true, dictionary: payload("json", 10) },
      TypeError,
      "dictionary and autoDictionary exclude each other",
    ],
    [{ autoDictionary: {}, dictionary: payload("json", 10) }, TypeError, "exclude each other"],
    [{ autoDictionary: 1 }, TypeError, "autoDictionary must be a boolean or an object; got 1"],
    [{ autoDictionary: "yes" }, TypeError, 'autoDictionary must be a boolean or an object; got "'],
    [{ autoDictionary: null }, TypeError, "autoDictionary must be a boolean or an object; got"],
    [{ autoDictionary: { size: 1 } }, TypeError, 'unknown option "size"; known: capacity, trigger'],
    [{ autoDictionary: { capacity: 0 } }, RangeError, "capacity must be an integer from 1 to 8192"],
    [{ autoDictionary: { capacity: 8193 } }, RangeError, "from 1 to 8192; got 8193"],
    [{ autoDictionary: { capacity: "1" } }, TypeError, "capacity must be a number"],
    [{ autoDictionary: { trigger: 0 } }, RangeError, "trigger must be an integer from 1 to 8192"],
    [{ autoDictionary: { trigger: 8193 } }, RangeError, "from 1 to 8192; got 8193"],
    [{ autoDictionary: { trigger: 1.5 } }, RangeError, "from 1 to 8192; got 1.5"],
  ])("%j is refused", (options, type, says) => {
    const create = () => Codec.createSync(options as CodecOptions)
    expect(create).toThrow(type)
    expect(create).toThrow(says)
  })

  test.each<CodecOptions>([
    { autoDictionary: false },
    { autoDictionary: false, dictionary: payload("json", 10) },
    { autoDictionary: {} },
    { autoDictionary: { capacity: 1, trigger: 1 } },
    { autoDictionary: { capacity: 8192, trigger: 8192 } },
  ])("%j is fine", (options) => {
    expect(() => Codec.createSync(options).close()).not.toThrow()
  })
})

// -- Samples at hand ------------------------------------------------------------------------

describe("trainDictionary", () => {
  const samples = events(200, 3).flat()
  const heldOut = events(300, 7)

  /** Returns the relative size of the held-out messages with a dictionary, which is not counted. */
  const ratio = (dictionary: Uint8Array) => {
    const options = dictionary.length > 0 ? { dictionary } : {}
    const wire = byCodec(heldOut, options).filter(([part]) => formOf(part!) !== "LZ4D")
    return wireBytes(wire) / wireBytes(heldOut)
  }

  test("compresses unseen events, and better with a larger capacity", async () => {
    const capacities = [256, 1024, 2048, 8192]
    const made = await Promise.all(
      capacities.map((capacity) => trainDictionary(samples, { capacity })),
    )
    const ratios = made.map(ratio)
    expect(ratios).toEqual(ratios.slice().sort((a, b) => b - a))
    expect(ratios[2]).toBeLessThan(ratio(none) * 0.55)
    expect(ratios[3]).toBeLessThan(ratio(none) * 0.48)
    // Better than unselected samples of the same size.
    expect(ratios[2]).toBeLessThan(ratio(concat(...samples).subarray(0, 2048)))
  })

  test("returns 2 KiB by default", async () => {
    const made = await trainDictionary(samples)
    expect(made.length).toBeGreaterThan(1500)
    expect(made.length).toBeLessThanOrEqual(2048)
    expectSameBytes(made, await trainDictionary(samples, { capacity: 2048 }))
    expectSameBytes(made, await trainDictionary(samples, { capacity: undefined as never }))
  })

  test("returns the same as a sender with the same messages", async () => {
    const sent = events(101, 3)
    const [[, dictionary]] = shipped(byCodec(sent, { autoDictionary: true })) as [
      [number, Uint8Array],
    ]
    const made = await trainDictionary(sent.slice(0, 100).flat())
    expectSameBytes(dictionaryPart(made), dictionaryPart(dictionary))
  })

  test("accepts any iterable, iterates once, and does not modify samples", async () => {
    const copies = samples.map((sample) => sample.slice())
    function* each() {
      yield* samples
    }
    const made = await trainDictionary(each())
    expectSameBytes(made, await trainDictionary(new Set(samples)))
    expectSameBytes(made, await trainDictionary(samples.map((sample) => Buffer.from(sample))))
    expectSameBytes(concat(...samples), concat(...copies))
  })

  test("does not block the event loop", async () => {
    const full = events(8000, 3).flat()
    let turns = 0
    let done = false
    const count = () => {
      if (done) return
      turns++
      setImmediate(count)
    }
    const made = trainDictionary(full, { capacity: 8192 })
    count()
    const longest = await made
    done = true
    expect(longest.length).toBeGreaterThan(8000)
    // At least one for each step, and one between the samples.
    expect(turns).toBeGreaterThanOrEqual(7)
  })

  test("can run several times concurrently", async () => {
    const made = await trainDictionary(samples)
    for (const other of await Promise.all([samples, samples].map((all) => trainDictionary(all))))
      expectSameBytes(other, made)
  })

  test.each<[string, Uint8Array[]]>([
    ["no samples", []],
    ["one sample", [samples[0]!]],
    ["one sample of a MiB", [payload("json", MIB)]],
    ["empty samples", Array(100).fill(none)],
    ["samples of 7 bytes", Array(100).fill(text.encode("1234567"))],
    ["noise", noises(100, 300).flat()],
    ["much noise", noises(300, 5000).flat()],
  ])("is empty for %s", async (_, useless) => {
    expect((await trainDictionary(useless, { capacity: 8192 })).length).toBe(0)
    expect((await trainDictionary(useless)).length).toBe(0)
  })

  test("accepts huge samples, and more of them than it keeps", async () => {
    const huge = Array.from({ length: 4 }, (_, i) => payload("json", 4 * MIB, 1 + (i % 2)))
    const made = await trainDictionary([...huge, ...huge], { capacity: 8192 })
    expect(made.length).toBeGreaterThan(0)
    expect(made.length).toBeLessThanOrEqual(8192)
    const many = Array.from({ length: 20_000 }, (_, i) => samples[i % samples.length]!)
    expect((await trainDictionary(many)).length).toBeLessThanOrEqual(2048)
  })

  test.each([1, 5, 6, 7, 63, 127, 128, 129, 383, 384, 385, 8191, 8192])(
    "is at most %i bytes long",
    async (capacity) => {
      expect((await trainDictionary(samples, { capacity })).length).toBeLessThanOrEqual(capacity)
    },
  )

  test("is deterministic and within its capacity, whatever the samples are", async () => {
    const any = fc.array(plaintexts, { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(any, fc.integer({ min: 1, max: 8192 }), async (several, capacity) => {
        const made = await trainDictionary(several, { capacity })
        expect(made.length).toBeLessThanOrEqual(capacity)
        expectSameBytes(await trainDictionary(several, { capacity }), made)
        if (made.length > 0) {
          const sent = several.map((part) => [part])
          expectReceived(byCodec(sent, { dictionary: made }), sent)
        }
      }),
      { numRuns: 50 },
    )
  })

  test.each<[unknown, unknown, typeof Error, string]>([
    [5, {}, TypeError, "iterable"],
    [undefined, {}, TypeError, "iterable"],
    ["text", {}, TypeError, 'sample 0 must be a Uint8Array; got "t"'],
    [samples[0], {}, TypeError, "sample 0 must be a Uint8Array; got "],
    [[samples[0], "text"], {}, TypeError, 'sample 1 must be a Uint8Array; got "text"'],
    [[null], {}, TypeError, "sample 0 must be a Uint8Array; got null"],
    [samples, null, TypeError, "options must be an object; got null"],
    [samples, { size: 5 }, TypeError, 'unknown option "size"; known: capacity'],
    [samples, { capacity: 0 }, RangeError, "capacity must be an integer from 1 to 8192; got 0"],
    [samples, { capacity: 8193 }, RangeError, "got 8193"],
    [samples, { capacity: "2048" }, TypeError, "capacity must be a number"],
  ])("rejects wrong arguments (%#)", async (given, options, type, says) => {
    const made = trainDictionary(given as never, options as never)
    await expect(made).rejects.toThrow(type)
    await expect(made).rejects.toThrow(says)
  })
})
