/** Parts that programs send as they came, and messages whose form they choose. */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"
import { Dish, Radio } from "zeromq-lz4/draft"

import { payload } from "../../bench/payloads.mjs"
import { expectSameBytes } from "../support/same-bytes.js"
import { anyPort, use } from "../support/sockets.js"
import { dictionary, lz4, tcp } from "../support/transports.js"
import { SENTINELS } from "../support/wire.js"

const KIB = 1024
const json = (size: number, seed = 0) => Buffer.from(payload("json", size, seed))
const FORMS = { "lz4+tcp://": "LZ4B", "zstd+tcp://": "ZSTD", "tcp://": "" } as const
const format = lz4.scheme === "zstd+tcp://" ? "zstd" : "lz4"
const thorough = format === "zstd" ? 9 : 12
const usual = format === "zstd" ? 1 : 0

/** Connects a PUSH to a PULL. */
async function pair(
  { sender, receiver }: { sender?: zmq.EndpointOptions; receiver?: zmq.EndpointOptions },
  options: object = {},
) {
  const [push, pull] = [use(new zmq.Push(options)), use(new zmq.Pull(options))]
  await pull.bind(anyPort(lz4), receiver)
  push.connect(pull.lastEndpoint as string, sender)
  return { push, pull }
}

describe("with keepCompressed", () => {
  const keeping = { receiver: { keepCompressed: true } }

  test.each([600, 16 * KIB, 200 * KIB, 3 * KIB * KIB])(
    "a part of %i bytes is known as it came, and sent on like that",
    async (size) => {
      const { push, pull } = await pair({ sender: { level: thorough, arenas: false }, ...keeping })
      const next = await pair({ sender: { level: usual } })
      const parts = [Buffer.from("topic"), json(size), Buffer.alloc(0)]
      await push.send(parts)
      const received = await pull.receive()
      for (const [i, part] of parts.entries()) expectSameBytes(received[i] as Buffer, part)
      const [topic, body] = received as [Buffer, Buffer]
      expect(pull.lz4.compressedOf(topic)).toBeUndefined()
      const compressed = pull.lz4.compressedOf(body) as zmq.CompressedPart
      expect(compressed.form).toBe(FORMS[lz4.scheme])
      expect(compressed.plainLength).toBe(size)
      expect(compressed.wireLength).toBeLessThan(size)
      expect(compressed.wireLength).toBe(compressed.bytes.length)
      const codec = await Codec.create({ format })
      expectSameBytes(codec.decodePart(compressed.bytes) as Uint8Array, body)
      codec.close()
      await next.push.send(received.map((part) => pull.lz4.compressedOf(part) ?? part))
      const last = await next.pull.receive()
      for (const [i, part] of parts.entries()) expectSameBytes(last[i] as Buffer, part)
      expect(next.push.lz4.stats.sent).toEqual(push.lz4.stats.sent)
    },
  )

  test("a part that came with a dictionary is not known", async () => {
    const { push, pull } = await pair({ sender: { dictionary }, ...keeping })
    await push.send(json(8 * KIB))
    const [part] = await pull.receive()
    expectSameBytes(part as Buffer, json(8 * KIB))
    expect(pull.lz4.compressedOf(part as Buffer)).toBeUndefined()
  })

  test("types that look into messages receive plaintext", async () => {
    const [request, reply] = [use(new zmq.Request()), use(new zmq.Reply())]
    await reply.bind(anyPort(lz4), { keepCompressed: true })
    request.connect(reply.lastEndpoint as string, { keepCompressed: true, level: usual })
    const sending = request.send(json(9000))
    const [question] = await reply.receive()
    await sending
    expect(reply.lz4.compressedOf(question as Buffer)?.plainLength).toBe(9000)
    const [publisher, subscriber] = [use(new zmq.XPublisher()), use(new zmq.Subscriber())]
    await publisher.bind(anyPort(lz4), { level: usual })
    subscriber.connect(publisher.lastEndpoint as string, { keepCompressed: true })
    subscriber.subscribe(json(600))
    await publisher.receive()
    await publisher.send(json(5000, 1))
    await publisher.send(json(5000))
    const [news] = await subscriber.receive()
    expectSameBytes(news as Buffer, json(5000))
    expect(subscriber.lz4.compressedOf(news as Buffer)?.plainLength).toBe(5000)
  })
})

test("without keepCompressed nothing is known of a part", async () => {
  const { push, pull } = await pair({ sender: { level: usual } })
  await push.send(json(8 * KIB))
  const [part] = await pull.receive()
  expect(pull.lz4.compressedOf(part as Buffer)).toBeUndefined()
  expect(() => pull.lz4.compressedOf("part" as never)).toThrow(TypeError)
})

test("keepCompressed must be boolean", async () => {
  const pull = use(new zmq.Pull())
  await expect(pull.bind(anyPort(lz4), { keepCompressed: 1 as never })).rejects.toThrow(
    "keepCompressed must be",
  )
})

describe("CompressedPart.from()", () => {
  const stored = async (options: { format: "lz4" | "zstd" }, size = 8 * KIB) => {
    const codec = await Codec.create(options)
    const part = codec.encodePart(json(size))
    codec.close()
    return Buffer.from(part)
  }

  test.each(["lz4", "zstd"] as const)(
    "takes a part of %s that an archive has stored",
    async (format) => {
      const bytes = await stored({ format })
      const part = zmq.CompressedPart.from(bytes)
      expect(part.plainLength).toBe(8 * KIB)
      expectSameBytes(part.bytes, bytes)
      const copy = part.bytes
      bytes.fill(0)
      copy.fill(0)
      for (const transport of [lz4, tcp]) {
        const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
        await pull.bind(anyPort(transport))
        push.connect(pull.lastEndpoint as string)
        await push.send(["a", part])
        expectSameBytes((await pull.receive())[1] as Buffer, json(8 * KIB))
      }
    },
  )

  test("takes no others", async () => {
    const good = await stored({ format: "lz4" })
    const refusals: [unknown, string | RegExp][] = [
      ["text", "bytes must be a Uint8Array"],
      [new Uint8Array(0), "they begin with nothing"],
      [Uint8Array.of(0, 0, 0, 0, 1), "they begin with 00000000"],
      [SENTINELS.LZ4D, "they begin with 4C5A3444"],
      [good.subarray(0, 10), /ERR_/],
      [good.subarray(0, good.length - 1), /ERR_/],
      [Buffer.concat([good, Buffer.alloc(1)]), /ERR_/],
      [Buffer.concat([good.subarray(0, 4), Buffer.alloc(8, 0xff), good.subarray(12)]), /ERR_/],
    ]
    for (const [bytes, message] of refusals)
      expect(() => zmq.CompressedPart.from(bytes as Uint8Array)).toThrow(message)
    expect(() => zmq.CompressedPart.from(good, 8 * KIB - 1)).toThrow("at most 8191 are allowed")
    expect(() => new (zmq.CompressedPart as never as new () => unknown)()).toThrow(
      "CompressedPart.from()",
    )
  })

  test("damaged bytes are refused, or another part", async () => {
    for (const format of ["lz4", "zstd"] as const) {
      const good = await stored({ format }, 2 * KIB)
      for (let at = 0; at < good.length; at += 7) {
        const bad = Buffer.from(good)
        bad[at] = (bad[at] as number) ^ 0x41
        let part: zmq.CompressedPart | undefined
        try {
          part = zmq.CompressedPart.from(bad, 1 << 20)
        } catch (error) {
          expect((error as { code?: string }).code).toMatch(/^ERR_/)
        }
        if (part) expectSameBytes(part.bytes, bad)
      }
    }
  })
})

describe("send() with compress", () => {
  const sizes = async (
    { push, pull }: { push: zmq.Push; pull: zmq.Pull },
    message: Buffer[],
    options: zmq.SendOptions,
  ) => {
    const before = push.lz4.stats.sent
    await push.send(message, options)
    const received = await pull.receive()
    for (const [i, part] of message.entries()) expectSameBytes(received[i] as Buffer, part)
    const after = pull.lz4.stats.received
    return after.wireBytes - before.wireBytes
  }

  test("false goes plain, also where everything is compressed", async () => {
    const both = await pair({ sender: { level: usual, minCompressSize: 0 } })
    for (const size of [1, 100, 8 * KIB, 100 * KIB, 2 * KIB * KIB])
      expect(await sizes(both, [json(size), json(size)], { compress: false })).toBe(2 * size + 8)
    expect(await sizes(both, [json(8 * KIB)], { compress: undefined })).toBeLessThan(8 * KIB)
  })

  test.each([true, false])("%s waits in a copy if it has to wait", async (compress) => {
    const push = use(new zmq.Push())
    const part = json(300)
    const sending = push.send(part, { compress })
    part.fill(0)
    const pull = use(new zmq.Pull())
    await pull.bind(anyPort(lz4))
    push.connect(pull.lastEndpoint as string)
    expectSameBytes((await pull.receive())[0] as Buffer, json(300))
    await sending
  })

  test.each<[string, zmq.EndpointOptions]>([
    ["acceptPlain", { acceptPlain: true, level: usual }],
    ["autoDictionary", { autoDictionary: true, level: usual }],
    ["a thread", { thread: true, level: usual }],
  ])("holds for a peer that comes later, with %s", async (_, options) => {
    const push = use(new zmq.Push())
    const pull = use(new zmq.Pull())
    await pull.bind(anyPort(lz4))
    const endpoint = pull.lastEndpoint as string
    await pull.unbind(endpoint)
    push.connect(endpoint, options)
    await push.send(json(8 * KIB), { compress: false })
    await push.send([json(400, 1).fill("x"), "x"], { compress: true })
    await pull.bind(endpoint)
    expectSameBytes((await pull.receive())[0] as Buffer, json(8 * KIB))
    await pull.receive()
    const { wireBytes } = pull.lz4.stats.received
    expect(wireBytes).toBeGreaterThan(8 * KIB)
    expect(wireBytes).toBeLessThan(8 * KIB + 200)
  })

  test("true is tried below the threshold, and where nothing is compressed", async () => {
    for (const sender of [{ level: usual }, { level: "none" }, { level: thorough }] as const) {
      const both = await pair({ sender })
      for (const size of [300, 8 * KIB, 100 * KIB, 2 * KIB * KIB]) {
        const text = Buffer.alloc(size, "to be or not to be, ")
        const bytes = await sizes(both, [text, Buffer.from("x")], { compress: true })
        expect(bytes).toBeLessThan(0.9 * size)
      }
    }
  })

  test("is for draft types beside the group", async () => {
    const [radio, dish] = [use(new Radio()), use(new Dish())]
    dish.join("news")
    await dish.bind(anyPort(lz4))
    radio.connect(dish.lastEndpoint as string, { level: usual })
    const part = json(8 * KIB)
    const sent = async (compress?: boolean) => {
      const { wireBytes } = radio.lz4.stats.sent
      while (radio.lz4.stats.sent.wireBytes === wireBytes) {
        await radio.send(part, { group: "news", compress })
        await radio.lz4.flush()
      }
      expectSameBytes((await dish.receive())[0] as Buffer, part)
      return radio.lz4.stats.sent.wireBytes - wireBytes
    }
    expect(await sent()).toBeLessThan(8 * KIB)
    expect(await sent(false)).toBeGreaterThan(8 * KIB)
    expect(await sent(true)).toBeLessThan(8 * KIB)
  })

  test("is ignored by libzmq's endpoints", async () => {
    const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
    await pull.bind(anyPort(tcp))
    push.connect(pull.lastEndpoint as string)
    await push.send("before", { compress: false })
    await push.send(["a", "b"], { compress: true })
    expect((await pull.receive()).map(String)).toEqual(["before"])
    expect((await pull.receive()).map(String)).toEqual(["a", "b"])
  })

  test.each([
    [{ level: 9 }, 'unknown option "level"; known: compress'],
    [{ compress: 1 }, "compress must be"],
  ])("refuses %j", async (options, message) => {
    for (const transport of [lz4, tcp]) {
      const push = use(new zmq.Push())
      await push.bind(anyPort(transport))
      expect(() => push.send("x", options as never)).toThrow(message)
    }
  })

  test("refuses what is no options as zeromq.js does", async () => {
    for (const transport of [lz4, tcp]) {
      const push = use(new zmq.Push())
      await push.bind(anyPort(transport))
      const sending = push as unknown as { send(...args: unknown[]): Promise<void> }
      for (const more of [[undefined], [1], [{}], [{}, {}], [Buffer.alloc(0)]])
        expect(() => sending.send("x", ...more)).toThrow(/Expected \d arguments? but received/)
    }
  })
})
