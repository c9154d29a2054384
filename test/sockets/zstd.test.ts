/** zstd+tcp://, alone and beside lz4+tcp:// (RFC.md section 3.9). */
import { describe, expect, test } from "vitest"
import * as zeromq from "zeromq"
import { type EndpointOptions, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"
import { trainDictionary } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { rawPeer } from "../support/raw-peer.js"
import { messagesIn, Relay } from "../support/relay.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { eventually, freePort, subscribed, use } from "../support/sockets.js"
import { plain, text, threaded } from "../support/threads.js"
import { warnings } from "../support/warnings.js"
import { concat, SENTINELS, ZSTD_SENTINELS, zstdFormOf } from "../support/wire.js"
import { frame, handshake } from "../support/zmtp.js"

type Scheme = "lz4+tcp" | "zstd+tcp" | "tcp"
const json = payload("json", 8 * 1024)
const large = payload("json", 3 << 20)
const samples = Array.from({ length: 400 }, (_, i) => payload("json", 200, i + 1))
const dictionary = await trainDictionary(samples, { format: "zstd" })
const acceptPlain: EndpointOptions = { acceptPlain: true }
const both = [
  ["on the calling thread", plain],
  ["on a thread", threaded],
] as const

describe.each(both)("%s", (_name, where) => {
  async function join(
    bound: { scheme: Scheme; options?: EndpointOptions },
    connected: { scheme: Scheme; options?: EndpointOptions },
  ) {
    const pull = use(new Pull())
    const push = use(connected.scheme === "tcp" ? new zeromq.Push() : new Push())
    await pull.bind(`${bound.scheme}://127.0.0.1:*`, { ...where, ...bound.options })
    const port = (pull.lastEndpoint as string).split(":").pop()
    const endpoint = `${connected.scheme}://127.0.0.1:${port}`
    if (connected.scheme === "tcp") push.connect(endpoint)
    else (push as Push).connect(endpoint, { ...where, ...connected.options })
    return { pull, push: push as Push }
  }

  test.each([
    // Endpoints of the same scheme.
    ["zstd+tcp", {}, "zstd+tcp", {}, "zstd+tcp"],
    ["zstd+tcp", acceptPlain, "zstd+tcp", {}, "zstd+tcp"],
    ["zstd+tcp", acceptPlain, "zstd+tcp", acceptPlain, "zstd+tcp"],
    ["lz4+tcp", acceptPlain, "lz4+tcp", acceptPlain, "lz4+tcp"],
    // One serves what its peer announces.
    ["lz4+tcp", acceptPlain, "zstd+tcp", {}, "zstd+tcp"],
    ["zstd+tcp", acceptPlain, "lz4+tcp", {}, "lz4+tcp"],
    ["lz4+tcp", {}, "zstd+tcp", acceptPlain, "lz4+tcp"],
    ["zstd+tcp", {}, "lz4+tcp", acceptPlain, "zstd+tcp"],
    ["zstd+tcp", acceptPlain, "tcp", {}, "tcp"],
    // Both do.
    ["lz4+tcp", acceptPlain, "zstd+tcp", acceptPlain, "zstd+tcp"],
    ["zstd+tcp", acceptPlain, "lz4+tcp", acceptPlain, "zstd+tcp"],
  ] as const)("a %s endpoint with %j and a %s one with %j use %s", async (a, ofA, b, ofB, used) => {
    // The adaptive level may compress nothing on a busy machine.
    const options = { ...ofB, level: b === "zstd+tcp" ? 1 : 0 } as const
    const { pull, push } = await join({ scheme: a, options: ofA }, { scheme: b, options })
    await push.send([json, "x", large])
    await push.send("end")
    const [first, second, third] = await pull.receive()
    expect([first?.equals(json), String(second), third?.equals(large)]).toEqual([true, "x", true])
    expect(await text(pull)).toBe("end")
    const revision = used === "tcp" ? undefined : 2
    await eventually(() => expect(pull.lz4.connections).toMatchObject([{ scheme: used, revision }]))
    const { wireBytes, plainBytes } = pull.lz4.stats.received
    if (used === "tcp") expect(wireBytes).toBe(plainBytes)
    else expect(wireBytes).toBeLessThan(plainBytes / 2)
  })

  test("the settings of an endpoint apply to peers of the other format, but for its level and dictionary", async () => {
    const options: EndpointOptions = {
      acceptPlain: true,
      level: 9,
      dictionary: json,
      minCompressSize: 0,
    }
    const { pull, push } = await join({ scheme: "zstd+tcp" }, { scheme: "lz4+tcp", options })
    await push.send("a".repeat(200))
    expect(await text(pull)).toBe("a".repeat(200))
    const [connection] = push.lz4.connections
    expect(connection).toMatchObject({ scheme: "zstd+tcp", sent: { level: 1, dictionary: false } })
    expect(pull.lz4.stats.received.wireBytes).toBeLessThan(100)
  })

  test("nothing is compressed for either format with the level none", async () => {
    const options: EndpointOptions = { acceptPlain: true, level: "none" }
    for (const scheme of ["lz4+tcp", "zstd+tcp"] as const) {
      const { pull, push } = await join({ scheme }, { scheme: "lz4+tcp", options })
      await push.send(json)
      expect((await pull.receive())[0].equals(json)).toBe(true)
      const { wireBytes, plainBytes } = pull.lz4.stats.received
      expect(wireBytes).toBe(plainBytes + 4)
      expect(push.lz4.connections[0]?.sent.level).toBe("none")
    }
  })

  test.each([
    ["lz4+tcp", "zstd+tcp"],
    ["zstd+tcp", "lz4+tcp"],
  ] as const)(
    "a %s endpoint without acceptPlain refuses a %s peer, and both say why",
    async (a, b) => {
      const { pull, push } = await join({ scheme: a }, { scheme: b })
      const errorOf = (socket: Pull | Push) =>
        new Promise<string>((resolve) =>
          socket.lz4.once("protocolError", ({ error }) => resolve(error.message)),
        )
      const text = (peer: string, own: string) =>
        `ERR_ZMTP_HANDSHAKE: the peer speaks ${peer}://, and this side ${own}:// without acceptPlain`
      const [ofPull, ofPush] = [errorOf(pull), errorOf(push)]
      expect(await ofPull).toBe(text(b, a))
      expect(await ofPush).toBe(text(a, b))
    },
  )

  test("without a listener a warning says so, and what was sent reaches the peer once it has moved over", async () => {
    const heard = warnings()
    const { pull, push } = await join({ scheme: "lz4+tcp" }, { scheme: "zstd+tcp" })
    const bound = pull.lastEndpoint as string
    await push.send("first")
    const ofPull = ({ message }: Error) => message.includes(` of ${bound} was refused: `)
    const ofPush = ({ message }: Error) =>
      message.includes(`${bound.slice("lz4+tcp://".length)} of zstd+tcp://`)
    await eventually(() => heard.some(ofPull) && heard.some(ofPush))
    // Another attempt, which warns no more.
    await eventually(() => push.lz4.stats.protocolErrors > 1)
    expect([heard.filter(ofPull).length, heard.filter(ofPush).length]).toEqual([1, 1])
    expect(heard.find(ofPull)?.message).toMatch(
      /: ERR_ZMTP_HANDSHAKE: the peer speaks zstd\+tcp:\/\/, and this side lz4\+tcp:\/\/ without acceptPlain\. /,
    )
    pull.close()
    const next = use(new Pull())
    await eventually(() => next.bind(bound.replace("lz4", "zstd"), where).then(() => true))
    await push.send("second")
    expect([await text(next), await text(next)]).toEqual(["first", "second"])
  })

  test("what waits for a peer of one format reaches the next, which has the other", async () => {
    const port = await freePort()
    const push = use(new Push({ sendHighWaterMark: 100_000, reconnectInterval: 10 }))
    const deaf = use(new Pull({ receiveHighWaterMark: 1 }))
    await deaf.bind(`lz4+tcp://127.0.0.1:${port}`, where)
    push.connect(`lz4+tcp://127.0.0.1:${port}`, { ...acceptPlain, ...where, level: 0 })
    // Small and large parts, compressed and not, alone and in arenas.
    const bodies = [json, payload("random", 100_000), payload("json", 300), large]
    const numbered = (i: number) => [String(i), bodies[i % bodies.length] as Uint8Array]
    for (let i = 0; i < 120; i++) await push.send(numbered(i))
    await deaf.receive()
    deaf.close()
    const next = use(new Pull())
    await eventually(() => next.bind(`zstd+tcp://127.0.0.1:${port}`, where).then(() => true))
    await push.send(numbered(120))
    // The system of the first peer may have taken some, and what follows is whole and in order.
    let expected: number | undefined
    for (;;) {
      const [number, body] = await next.receive()
      expected ??= Number(String(number))
      expect(Number(String(number))).toBe(expected)
      expect(body?.equals(numbered(expected)[1] as Uint8Array)).toBe(true)
      if (expected++ === 120) break
    }
    await eventually(() => expect(push.lz4.connections).toMatchObject([{ scheme: "zstd+tcp" }]))
  })

  test.each([
    [{}],
    [{ autoDictionary: { trigger: 5, capacity: 512 } }],
    [{ autoDictionary: "shared" as const }],
  ])("a PUB with %j serves subscribers of all schemes, each in its own form", async (options) => {
    const publisher = use(new Publisher({ sendHighWaterMark: 0 }))
    await publisher.bind("lz4+tcp://127.0.0.1:*", {
      ...{ ...acceptPlain, ...where },
      ...{ ...options, level: 0 },
    })
    const port = (publisher.lastEndpoint as string).split(":").pop()
    const schemes = ["lz4+tcp", "zstd+tcp", "tcp", "zstd+tcp", "lz4+tcp", "tcp"] as const
    const subscribers: Subscriber[] = []
    for (const scheme of schemes) {
      const isPlain = scheme === "tcp"
      const subscriber = use(isPlain ? new zeromq.Subscriber() : new Subscriber()) as Subscriber
      subscriber.receiveHighWaterMark = 0
      subscriber.connect(`${scheme}://127.0.0.1:${port}`)
      subscriber.subscribe("")
      await subscribed(publisher, subscriber)
      for (const one of subscribers) while (String((await one.receive())[0]) !== "last probe");
      subscribers.push(subscriber)
    }
    const messages = Array.from({ length: 200 }, (_, i) => [
      Buffer.from(String(i)),
      Buffer.from(payload("json", i % 20 === 0 ? 50_000 : 150 + i, i)),
    ])
    for (const message of messages) await publisher.send(message)
    for (const subscriber of subscribers)
      for (const message of messages) {
        const received = await subscriber.receive()
        for (const [i, part] of message.entries()) expectSameBytes(received[i], part)
      }
    const found = publisher.lz4.connections.map(({ scheme }) => scheme)
    expect(found.sort()).toEqual([...schemes].sort())
    for (const { scheme, sent } of publisher.lz4.connections)
      if (scheme !== "tcp") expect(sent.wireBytes).toBeLessThan(sent.plainBytes / 1.5)
  })

  test.each([
    ["given", { dictionary }],
    ["trained", { autoDictionary: { trigger: 20 } }],
  ])("a dictionary that is %s is sent once, in a message of its own", async (_origin, options) => {
    const pull = use(new Pull())
    await pull.bind("zstd+tcp://127.0.0.1:*", where)
    const relay = use(await Relay.before(pull.lastEndpoint as string))
    const push = use(new Push())
    push.connect(relay.endpointOf("zstd+tcp://"), {
      ...where,
      ...options,
      level: 1,
      arenas: false,
    })
    for (let i = 0; i < 60; i++) {
      const event = Buffer.from(payload("json", 200, 1000 + i))
      await push.send(event)
      expect(await pull.receive()).toEqual([event])
      // The dictionary is trained when the thread is idle.
      if (i === 30 && !("dictionary" in options))
        await eventually(async () => {
          await push.send(event)
          expect(await pull.receive()).toEqual([event])
          return push.lz4.connections[0]?.sent.dictionary === true
        })
    }
    const messages = messagesIn(relay.connections[0]?.fromClient ?? [])
    const forms = messages.map((parts) => parts.map(zstdFormOf))
    expect(forms.filter(([form]) => form === "ZDICT")).toEqual([["ZDICT"]])
    expect(forms.at(-1)).toEqual(["frame"])
    const before = forms.findIndex(([form]) => form === "ZDICT")
    expect(forms.slice(0, before).flat()).toEqual(Array(before).fill("plain"))
    const shipped = messages[before]?.[0] as Uint8Array
    if ("dictionary" in options) expectSameBytes(shipped, dictionary)
    else expect(shipped.length).toBeLessThanOrEqual(2048)
  })

  test("a peer that announces one format and sends the other loses its connection, and no other does", async () => {
    const pull = use(new Pull())
    await pull.bind("zstd+tcp://127.0.0.1:*", { ...where, ...acceptPlain })
    const endpoint = pull.lastEndpoint as string
    const good = use(new Push())
    good.connect(endpoint)
    const codes: unknown[] = []
    pull.lz4.on("protocolError", ({ error }) => codes.push(error.code))
    const sent = [
      ["Zstd", SENTINELS.LZ4B],
      ["Lz4", ZSTD_SENTINELS.frame],
      ["Zstd", SENTINELS.LZ4D],
      ["Lz4", ZSTD_SENTINELS.ZDICT],
      ["Zstd", SENTINELS.LZ4A],
      ["Lz4", ZSTD_SENTINELS.ZSTA],
    ] as const
    for (const [format, sentinel] of sent) {
      const part = frame(concat(sentinel, new Uint8Array(40)))
      const peer = await rawPeer(endpoint, concat(handshake("PUSH", 2, format), part))
      await peer.closed
    }
    const expected = sent.map(([format]) => `ERR_${format.toUpperCase()}_UNKNOWN_SENTINEL`)
    await eventually(() => expect(codes).toEqual(expected)) // a thread may tell it after the end
    await good.send("still here")
    expect(await text(pull)).toBe("still here")
    await eventually(() => pull.lz4.connections.length === 1)
  })
})

test("a thread of an endpoint of lz4+tcp:// serves a peer of zstd+tcp://, which no other endpoint uses", async () => {
  const pull = use(new Pull())
  await pull.bind("lz4+tcp://127.0.0.1:*", { ...acceptPlain, ...threaded })
  const push = use(new Push())
  const endpoint = (pull.lastEndpoint as string).replace("lz4", "zstd")
  push.connect(endpoint, { level: 1, ...plain })
  await push.send([json, large])
  const received = await pull.receive()
  expectSameBytes(received[0], json)
  expectSameBytes(received[1], large)
  expect(pull.lz4.connections).toMatchObject([{ scheme: "zstd+tcp" }])
})

test.each([
  ["level 0", { level: 0 }, "level must be -7 to -1, or 1 to 9; got 0"],
  ["level 12", { level: 12 }, "level must be an integer from -7 to 9; got 12"],
  ["an acceleration", { acceleration: 2 }, "acceleration is LZ4's"],
  [
    "a raw dictionary",
    { dictionary: json.subarray(0, 2048) },
    "dictionary must be in the format of Zstandard",
  ],
] as [string, EndpointOptions, string][])("%s is refused", async (_name, options, expected) => {
  const push = use(new Push())
  expect(() => push.connect("zstd+tcp://127.0.0.1:9", options)).toThrow(expected)
  await expect(push.bind("zstd+tcp://127.0.0.1:*", options)).rejects.toThrow(expected)
})
