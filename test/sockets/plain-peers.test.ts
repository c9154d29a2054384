/** Endpoints with `acceptPlain` serve `tcp://` peers as libzmq would, and announcing peers as always. */
import { createHash } from "node:crypto"
import { describe, expect, onTestFinished, test } from "vitest"
import * as zeromq from "zeromq"
import * as lz4 from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { rawPeer } from "../support/raw-peer.js"
import { eventually, freePort, subscribed, use } from "../support/sockets.js"
import { plain, text, threaded } from "../support/threads.js"
import { concat, SENTINELS } from "../support/wire.js"
import { asOthersThanLibzmq, message as frames, handshake } from "../support/zmtp.js"

const toTcp = (endpoint: string) => endpoint.replace("lz4+tcp://", "tcp://")
const toLz4 = (endpoint: string) => endpoint.replace("tcp://", "lz4+tcp://")
const ANY_TCP = "tcp://127.0.0.1:*"
const ANY_LZ4 = "lz4+tcp://127.0.0.1:*"

/** Messages with every kind of frame: empty, short, long, and large enough to arrive in pieces; some look like sentinels. */
const MESSAGES: readonly (readonly Buffer[])[] = [
  [Buffer.from("short")],
  [Buffer.alloc(0)],
  [Buffer.alloc(4), Buffer.from("LZ4B and more"), Buffer.from("LZ4D"), Buffer.alloc(0)],
  [Buffer.from(payload("json", 255)), Buffer.from(payload("json", 256))],
  [Buffer.from(payload("json", 16 * 1024)), Buffer.alloc(0), Buffer.from("end")],
  [Buffer.from(payload("random", 70_000))],
  [Buffer.from(payload("json", 5 << 20)), Buffer.from("small"), Buffer.alloc(300_000, 7)],
]

const digest = (message: readonly unknown[]) =>
  message.map((part) => {
    const bytes = part as Buffer
    return `${bytes.length} ${createHash("sha1").update(bytes).digest("hex")}`
  })
const DIGESTS = MESSAGES.map(digest)

type Sends = { send(message: Buffer[] | Buffer | string): Promise<void> }
type Receives = { receive(): Promise<unknown[]> }

async function sendAll(socket: Sends, before: readonly Buffer[] = []): Promise<void> {
  for (const parts of MESSAGES) await socket.send([...before, ...parts])
}

async function receiveAll(socket: Receives, count = MESSAGES.length): Promise<string[][]> {
  const received: string[][] = []
  while (received.length < count) received.push(digest(await socket.receive()))
  return received
}

/** Waits until a socket has one connection, which is as expected. A thread may report it after a message. */
const connectedTo = (socket: lz4.Lz4Socket, expected: Partial<lz4.Connection>) =>
  eventually(() => expect(socket.lz4.connections).toMatchObject([expected]))

interface Pairing {
  ours: zeromq.Socket & lz4.Lz4Socket
  theirs: zeromq.Socket
  /** Sent after the sockets are connected; sockets with send() in both directions also send before. */
  exchange: () => Promise<void>
}

/** Sends in one direction. */
const oneWay = (from: Sends, to: Receives) => async () => {
  const sending = sendAll(from)
  expect(await receiveAll(to)).toEqual(DIGESTS)
  await sending
}

const bothWays = (a: Sends & Receives, b: Sends & Receives) => async () => {
  await oneWay(a, b)()
  await oneWay(b, a)()
}

async function ask(client: Sends & Receives, server: Sends & Receives): Promise<void> {
  for (const [i, parts] of MESSAGES.entries()) {
    await client.send([...parts])
    const question = (await server.receive()) as Buffer[]
    await server.send(question)
    const answer = await client.receive()
    expect(digest(answer)).toEqual(DIGESTS[i])
  }
}

async function publish(
  publisher: Sends & object,
  subscriber: Receives & { subscribe?: (topic: string) => void; send?: unknown },
): Promise<void> {
  if (subscriber.subscribe) subscriber.subscribe("topic")
  else await (subscriber as unknown as Sends).send(Buffer.from("\x01topic"))
  if (!(publisher instanceof zeromq.XPublisher)) await subscribed(publisher, subscriber, "topic")
  const topic = Buffer.from("topic")
  // Wait for the subscription: libzmq only handles new peers when it is called.
  const receiving = receiveAll(subscriber)
  if (publisher instanceof zeromq.XPublisher)
    expect(String((await publisher.receive())[0])).toBe("\x01topic")
  await publisher.send("other")
  await sendAll(publisher, [topic])
  expect(await receiving).toEqual(DIGESTS.map((one) => [...digest([topic]), ...one]))
}

const PAIRINGS: Record<string, () => Pairing> = {
  "PUSH, and a plain PULL": () => {
    const [ours, theirs] = [use(new lz4.Push()), use(new zeromq.Pull())]
    return { ours, theirs, exchange: oneWay(ours, theirs) }
  },
  "PULL, and a plain PUSH": () => {
    const [ours, theirs] = [use(new lz4.Pull()), use(new zeromq.Push())]
    return { ours, theirs, exchange: oneWay(theirs, ours) }
  },
  "PAIR, and a plain PAIR": () => {
    const [ours, theirs] = [use(new lz4.Pair()), use(new zeromq.Pair())]
    return { ours, theirs, exchange: bothWays(ours, theirs) }
  },
  "DEALER, and a plain DEALER": () => {
    const [ours, theirs] = [use(new lz4.Dealer()), use(new zeromq.Dealer())]
    return { ours, theirs, exchange: bothWays(ours, theirs) }
  },
  "REQ, and a plain REP": () => {
    const [ours, theirs] = [use(new lz4.Request()), use(new zeromq.Reply())]
    return { ours, theirs, exchange: () => ask(ours, theirs) }
  },
  "REP, and a plain REQ": () => {
    const [ours, theirs] = [use(new lz4.Reply()), use(new zeromq.Request())]
    return { ours, theirs, exchange: () => ask(theirs, ours) }
  },
  "ROUTER, and a plain REQ": () => {
    const [ours, theirs] = [use(new lz4.Router()), use(new zeromq.Request())]
    return { ours, theirs, exchange: () => ask(theirs, ours) }
  },
  "REQ, and a plain ROUTER": () => {
    const [ours, theirs] = [use(new lz4.Request()), use(new zeromq.Router())]
    return { ours, theirs, exchange: () => ask(ours, theirs) }
  },
  "ROUTER, and a plain DEALER": () => {
    const [ours, theirs] = [use(new lz4.Router()), use(new zeromq.Dealer({ routingId: "them" }))]
    const exchange = async () => {
      const sending = sendAll(theirs)
      const received = await receiveAll(ours)
      const id = digest([Buffer.from("them")])
      expect(received).toEqual(DIGESTS.map((one) => [...id, ...one]))
      await sending
      const answering = sendAll(ours, [Buffer.from("them")])
      expect(await receiveAll(theirs)).toEqual(DIGESTS)
      await answering
    }
    return { ours, theirs, exchange }
  },
  "REP, and a plain DEALER": () => {
    const [ours, theirs] = [use(new lz4.Reply()), use(new zeromq.Dealer())]
    const exchange = async () => {
      await theirs.send(["", "question"])
      expect((await ours.receive()).map(String)).toEqual(["question"])
      await ours.send("answer")
      expect((await theirs.receive()).map(String)).toEqual(["", "answer"])
    }
    return { ours, theirs, exchange }
  },
  "PUB, and a plain SUB": () => {
    const [ours, theirs] = [use(new lz4.Publisher()), use(new zeromq.Subscriber())]
    return { ours, theirs, exchange: () => publish(ours, theirs) }
  },
  "SUB, and a plain PUB": () => {
    const [ours, theirs] = [use(new lz4.Subscriber()), use(new zeromq.Publisher())]
    return { ours, theirs, exchange: () => publish(theirs, ours) }
  },
  "XPUB, and a plain SUB": () => {
    const [ours, theirs] = [use(new lz4.XPublisher()), use(new zeromq.Subscriber())]
    return { ours, theirs, exchange: () => publish(ours, theirs) }
  },
  "XSUB, and a plain XPUB": () => {
    const [ours, theirs] = [use(new lz4.XSubscriber()), use(new zeromq.XPublisher())]
    return { ours, theirs, exchange: () => publish(theirs, ours) }
  },
  "XPUB, and a plain XSUB": () => {
    const [ours, theirs] = [use(new lz4.XPublisher()), use(new zeromq.XSubscriber())]
    return { ours, theirs, exchange: () => publish(ours, theirs) }
  },
}

/** Options that do not affect a plain peer. */
const SENDING: Record<string, lz4.EndpointOptions> = {
  "by default": {},
  "with a dictionary, and all parts tried": {
    dictionary: payload("json", 2048),
    minCompressSize: 0,
  },
  "with arenas for all": { arenas: true },
  "with nothing compressed": { level: "none" },
}

describe.each([
  { where: "on the calling thread", thread: plain },
  { where: "on a thread", thread: threaded },
])("$where", ({ thread }) => {
  const accepting = { ...thread, acceptPlain: true }

  describe.each(Object.entries(PAIRINGS))("%s", (_, make) => {
    test("exchange messages when ours binds", async () => {
      const { ours, theirs, exchange } = make()
      await ours.bind(ANY_LZ4, accepting)
      theirs.connect(toTcp(ours.lastEndpoint as string))
      await exchange()
      await connectedTo(ours, { scheme: "tcp", revision: undefined })
    })

    test("exchange messages when ours connects before the other binds", async () => {
      const { ours, theirs, exchange } = make()
      const port = await freePort()
      ours.connect(`lz4+tcp://127.0.0.1:${port}`, accepting)
      const exchanged = exchange()
      theirs.bindSync(`tcp://127.0.0.1:${port}`)
      await exchanged
      await connectedTo(ours, { scheme: "tcp", revision: undefined })
    })
  })

  test.each(Object.entries(SENDING))(
    "a plain peer receives plain messages %s",
    async (_, options) => {
      const push = use(new lz4.Push())
      const pull = use(new zeromq.Pull())
      await pull.bind(ANY_TCP)
      push.connect(toLz4(pull.lastEndpoint as string), { ...accepting, ...options })
      await oneWay(push, pull)() // which were queued
      await oneWay(push, pull)()
      const bytes = MESSAGES.flat().reduce((sum, part) => sum + part.length, 0)
      await eventually(() => push.lz4.stats.sent.messages === 2 * MESSAGES.length)
      expect(push.lz4.stats.sent).toEqual({
        messages: 2 * MESSAGES.length,
        plainBytes: 2 * bytes,
        wireBytes: 2 * bytes,
      })
      expect(push.lz4.connections[0]?.sent).toMatchObject({ level: "none", dictionary: false })
    },
  )

  test("two sockets that accept plain peers use lz4+tcp:// with each other", async () => {
    const pull = use(new lz4.Pull())
    const push = use(new lz4.Push())
    const port = await freePort()
    push.connect(`lz4+tcp://127.0.0.1:${port}`, { ...accepting, level: 3 })
    const waiting = oneWay(push, pull)()
    await pull.bind(`lz4+tcp://127.0.0.1:${port}`, accepting)
    await waiting
    await oneWay(push, pull)()
    for (const socket of [push, pull]) await connectedTo(socket, { scheme: "lz4+tcp", revision: 2 })
    const { plainBytes, wireBytes } = pull.lz4.stats.received
    expect(wireBytes).toBeLessThan(plainBytes / 2)
  })

  test.each([
    ["plain", "lz4"],
    ["lz4", "plain"],
  ] as const)(
    "messages queued for a %s peer reach a %s one on the same port",
    async (first, second) => {
      const port = await freePort()
      const bind = async (kind: "plain" | "lz4") => {
        const pull = use(kind === "plain" ? new zeromq.Pull() : new lz4.Pull())
        const scheme = kind === "plain" ? "tcp" : "lz4+tcp"
        await pull.bind(`${scheme}://127.0.0.1:${port}`)
        return pull
      }
      const push = use(new lz4.Push({ reconnectInterval: 10 }))
      push.connect(`lz4+tcp://127.0.0.1:${port}`, {
        ...accepting,
        dictionary: payload("json", 999),
      })
      let peer = await bind(first)
      for (const kind of [second, first, second]) {
        await oneWay(push, peer)()
        const gone = new Promise((resolve) => push.lz4.once("disconnect", resolve))
        peer.close()
        await gone
        const sending = sendAll(push)
        peer = await eventually(() => bind(kind))
        expect(await receiveAll(peer)).toEqual(DIGESTS)
        await sending
        const scheme = kind === "plain" ? "tcp" : "lz4+tcp"
        await connectedTo(push, { scheme })
      }
    },
  )

  test("a PUB sends each subscriber the form that it reads, in the same order", async () => {
    const publisher = use(new lz4.Publisher({ sendHighWaterMark: 0 }))
    await publisher.bind(ANY_LZ4, accepting)
    const endpoint = publisher.lastEndpoint as string
    const subscribers = ["plain", 2, "plain", 1, 2].map((kind) => {
      if (kind === "plain") {
        const subscriber = use(new zeromq.Subscriber({ receiveHighWaterMark: 0 }))
        subscriber.connect(toTcp(endpoint))
        return subscriber
      }
      const subscriber = use(new lz4.Subscriber({ receiveHighWaterMark: 0 }))
      subscriber.connect(endpoint, { ...thread, revision: kind as 1 | 2 })
      return subscriber
    })
    for (const subscriber of subscribers) {
      subscriber.subscribe("a")
      await subscribed(publisher, subscriber, "a")
    }
    const texts = Array.from({ length: 500 }, (_, i) => `a ${i} ${"x".repeat(i)}`)
    await publisher.send("a begin")
    for (const one of texts) {
      await publisher.send(one)
      await publisher.send(`b ${one}`)
    }
    for (const subscriber of subscribers) {
      while ((await text(subscriber)) !== "a begin");
      for (const one of texts) expect(await text(subscriber)).toBe(one)
    }
    const schemes = publisher.lz4.connections.map(({ scheme }) => scheme)
    expect(schemes.filter((scheme) => scheme === "tcp").length).toBe(2)
    expect(schemes.filter((scheme) => scheme === "lz4+tcp").length).toBe(3)
  })

  test("PLAIN and its ZAP handler accept plain and announcing peers", async () => {
    const context = new lz4.Context()
    const handler = use(new lz4.Reply({ context }))
    await handler.bind("inproc://zeromq.zap.01")
    void (async () => {
      for await (const [version, id, , , , , , password] of handler) {
        const status = String(password) === "secret" ? "200" : "400"
        await handler.send([version as Buffer, id as Buffer, status, "", "", ""])
      }
    })()
    const pull = use(new lz4.Pull({ context, plainServer: true, zapDomain: "test" }))
    await pull.bind(ANY_LZ4, accepting)
    const endpoint = pull.lastEndpoint as string
    const credentials = { plainUsername: "user", plainPassword: "secret" }
    const wrong = use(new zeromq.Push({ ...credentials, plainPassword: "wrong" }))
    wrong.connect(toTcp(endpoint))
    await wrong.send("wrong")
    const theirs = use(new zeromq.Push(credentials))
    theirs.connect(toTcp(endpoint))
    await theirs.send("plain")
    expect(await text(pull)).toBe("plain")
    const ours = use(new lz4.Push(credentials))
    ours.connect(endpoint, accepting)
    await ours.send("announced")
    expect(await text(pull)).toBe("announced")
  })

  test("a refusal by a plain server is understood", async () => {
    const context = new zeromq.Context()
    const handler = use(new zeromq.Reply({ context }))
    await handler.bind("inproc://zeromq.zap.01")
    void (async () => {
      for await (const [version, id] of handler)
        await handler.send([version as Buffer, id as Buffer, "400", "no", "", ""])
    })()
    const pull = use(new zeromq.Pull({ context, plainServer: true, zapDomain: "test" }))
    await pull.bind(ANY_TCP)
    const push = use(new lz4.Push({ plainUsername: "user", plainPassword: "wrong" }))
    const refused = new Promise<zeromq.Event>((resolve) => {
      push.events.on("handshake:error:auth", resolve)
    })
    push.connect(toLz4(pull.lastEndpoint as string), accepting)
    expect(await refused).toMatchObject({ error: { status: 400 } })
  })

  test("maxMessageSize ends the connection of a plain peer that sends more", async () => {
    const pull = use(new lz4.Pull({ maxMessageSize: 1000 }))
    await pull.bind(ANY_LZ4, accepting)
    const offence = new Promise<lz4.ProtocolErrorEvent>((resolve) => {
      pull.lz4.once("protocolError", resolve)
    })
    const push = use(new zeromq.Push())
    push.connect(toTcp(pull.lastEndpoint as string))
    await push.send(Buffer.alloc(1000))
    await push.send([Buffer.alloc(10), Buffer.alloc(1001)])
    expect((await pull.receive())[0]?.length).toBe(1000)
    const { error } = await offence
    expect(error.message).toBe(
      "ERR_LZ4_BUDGET_EXCEEDED: part 1 declares 1001 bytes; 990 left of maxMessageSize 1000",
    )
  })

  test("a peer that breaks a rule of frames loses its connection, and others do not notice", async () => {
    const pull = use(new lz4.Pull({ maxMessageSize: 1 << 20 }))
    await pull.bind(ANY_LZ4, accepting)
    const endpoint = pull.lastEndpoint as string
    const push = use(new zeromq.Push())
    push.connect(toTcp(endpoint))
    const offences: string[] = []
    pull.lz4.on("protocolError", ({ error }) => offences.push(error.code))
    const long = (flags: number, high: number) => Buffer.from([flags, high, 0, 0, 0, 0, 0, 0, 1])
    const attacks: [Uint8Array, string][] = [
      [Buffer.from([0x10, 1, 0]), "ERR_ZMTP_FRAME"],
      [Buffer.from([5, 1, 0]), "ERR_ZMTP_FRAME"],
      [long(2, 0x80), "ERR_ZMTP_FRAME"],
      [long(2, 0x7f), "ERR_LZ4_BUDGET_EXCEEDED"],
      [long(6, 1), "ERR_ZMTP_COMMAND"],
      [Buffer.alloc(2 * 65_537, Buffer.from([1, 0])), "ERR_ZMTP_PARTS"],
    ]
    for (const [bytes, code] of attacks) {
      const peer = await rawPeer(endpoint, concat(handshake("PUSH"), bytes))
      await peer.closed
      await eventually(() => offences.length > 0)
      expect(offences.splice(0)).toEqual([code])
      await push.send(code)
      expect(await text(pull)).toBe(code)
    }
  })

  test("bytes that arrive one by one give the same messages", async () => {
    const pull = use(new lz4.Pull())
    await pull.bind(ANY_LZ4, accepting)
    const stream = concat(
      handshake("PUSH"),
      frames(SENTINELS.plain, Buffer.from("two")),
      frames(Buffer.alloc(300, 1)),
    )
    const peer = await rawPeer(pull.lastEndpoint as string, stream.subarray(0, 1))
    onTestFinished(() => peer.close())
    peer.socket.setNoDelay()
    for (const byte of stream.subarray(1)) {
      peer.socket.write(Uint8Array.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(digest(await pull.receive())).toEqual(
      digest([Buffer.from(SENTINELS.plain), Buffer.from("two")]),
    )
    expect(digest(await pull.receive())).toEqual(digest([Buffer.alloc(300, 1)]))
  })

  test("a reached high-water mark stops a plain peer, which continues after messages are read", async () => {
    const pull = use(new lz4.Pull({ receiveHighWaterMark: 5 }))
    await pull.bind(ANY_LZ4, accepting)
    const push = use(new zeromq.Push({ sendHighWaterMark: 5 }))
    push.connect(toTcp(pull.lastEndpoint as string))
    const part = Buffer.alloc(200_000)
    let sent = 0
    const sending = (async () => {
      for (; sent < 200; sent++) await push.send([String(sent), part])
    })()
    for (let i = 0; i < 200; i++) {
      // As much as the marks and the system's buffers allow, which is far from all.
      if (i === 0) await eventually(() => sent > 10)
      expect(sent - i).toBeLessThan(150)
      expect(await text(pull)).toBe(String(i))
    }
    await sending
  })
})

describe.each([
  { where: "on the calling thread", thread: plain },
  { where: "on a thread", thread: threaded },
])("without acceptPlain, $where", ({ thread }) => {
  const probably = /; the peer announced nothing, so it probably speaks tcp:\/\/$/
  const part = frames(Buffer.from("text"))

  /** Connects, sends, and waits until the connection is closed. */
  async function offend(endpoint: string, revision: number | undefined, ...sent: Uint8Array[]) {
    const peer = await rawPeer(endpoint, concat(handshake("PUSH", revision), ...sent))
    await peer.closed
  }

  /** Returns the warnings about the endpoints of a test, as those of others may come late. */
  function warned(endpoints: () => readonly (string | null)[]): string[] {
    const warnings: string[] = []
    const add = ({ message }: Error) => {
      if (endpoints().some((endpoint) => message.includes(` of ${endpoint} `)))
        warnings.push(message)
    }
    process.on("warning", add)
    onTestFinished(() => void process.off("warning", add))
    return warnings
  }

  test.each([
    ["announced nothing, and its first part has no sentinel", undefined, [part], true],
    ["announced nothing, and its first part is empty", undefined, [frames(Buffer.alloc(0))], true],
    [
      "announced nothing, and returns the delimiter of a REQ",
      undefined,
      [frames(SENTINELS.plain, Buffer.from("text"))],
      true,
    ],
    ["announced a revision", 2, [part], false],
    [
      "began with a sentinel",
      undefined,
      [frames(concat(SENTINELS.plain, Buffer.from("text"))), part],
      false,
    ],
  ] as const)(
    "the error suggests the cause for a peer that %s",
    async (_, revision, sent, isPlain) => {
      const warnings = warned(() => [pull.lastEndpoint])
      const pull = use(new lz4.Pull())
      await pull.bind(ANY_LZ4, thread)
      const offence = new Promise<lz4.ProtocolErrorEvent>((resolve) => {
        pull.lz4.once("protocolError", resolve)
      })
      await offend(pull.lastEndpoint as string, revision, ...sent)
      const { error } = await offence
      expect(error.code).toMatch(/^ERR_LZ4_(UNKNOWN_SENTINEL|PART_TOO_SHORT)$/)
      expect(probably.test(error.message)).toBe(isPlain)
      expect(warnings).toEqual([])
    },
  )

  const says = (warnings: string[]) => warnings.filter((text) => /speaks tcp:\/\//.test(text))

  test.each([
    ["a PUSH that sends to a PULL", () => [new lz4.Push(), new zeromq.Pull()] as const],
    ["a REQ that asks a REP", () => [new lz4.Request(), new zeromq.Reply()] as const],
    ["a PUB that sends to a SUB", () => [new lz4.Publisher(), new zeromq.Subscriber()] as const],
  ])("%s of libzmq warns once, unless it accepts plain peers", async (_, sockets) => {
    const warnings = warned(() => [`lz4+${theirs.lastEndpoint}`])
    const [ours, theirs] = sockets()
    use(ours)
    use(theirs)
    await theirs.bind("tcp://127.0.0.1:*")
    const endpoint = `lz4+${theirs.lastEndpoint}`
    ours.connect(endpoint, { ...thread, acceptPlain: true })
    const [again] = sockets()
    use(again).connect(endpoint, thread)
    void ours.send("hello").catch(() => {})
    void again.send("hello").catch(() => {})
    await eventually(() => says(warnings).length > 0)
    expect(says(warnings)).toEqual([
      expect.stringMatching(/^the peer 127\.0\.0\.1:\d+ of lz4\+tcp:.* announced no lz4 revision/),
    ])
  })

  test("a socket that is closed before that has warned if it sent something", async () => {
    const warnings = warned(() => [`lz4+${reply.lastEndpoint}`])
    const reply = use(new zeromq.Reply())
    await reply.bind("tcp://127.0.0.1:*")
    const request = use(new lz4.Request())
    request.connect(`lz4+${reply.lastEndpoint}`, thread)
    await request.send("hello")
    await request.lz4.flush()
    request.close()
    await eventually(() => says(warnings).length > 0)
  })

  test("who listens to the channel, or to errors, is told there and not warned", async () => {
    const router = use(new zeromq.Router())
    await router.bind("tcp://127.0.0.1:*")
    const endpoint = `lz4+${router.lastEndpoint}`
    const warnings = warned(() => [endpoint])
    const told: unknown[] = []
    const tell = (message: unknown) => told.push(message)
    lz4.channels.silentPeer.subscribe(tell)
    onTestFinished(() => void lz4.channels.silentPeer.unsubscribe(tell))
    const dealer = use(new lz4.Dealer())
    dealer.connect(endpoint, thread)
    await dealer.send("hello")
    await router.receive()
    dealer.close()
    await eventually(() => told.length > 0)

    const other = use(new lz4.Dealer())
    const failed = new Promise((resolve) => other.lz4.once("protocolError", resolve))
    other.connect(endpoint, thread)
    await other.send("hello")
    const [id] = await router.receive()
    await router.send([id as Buffer, "plain text"])
    await failed
    other.close()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(told).toHaveLength(1)
    expect(warnings).toEqual([])
  })

  test("a peer that only receives, and announces nothing, may be one in Ruby, Rust or Python", async () => {
    const warnings = warned(() => [push.lastEndpoint])
    const push = use(new lz4.Push())
    await push.bind(ANY_LZ4, thread)
    const silent = asOthersThanLibzmq(handshake("PULL"))
    use(await rawPeer(push.lastEndpoint as string, silent))
    await eventually(() => push.lz4.connections.length === 1)
    // One that is libzmq's comes later, and is noticed later.
    use(await rawPeer(push.lastEndpoint as string, handshake("PULL")))
    await eventually(() => says(warnings).length > 0)
    expect(says(warnings)).toHaveLength(1)
    const [, last] = push.lz4.connections
    expect(says(warnings)[0]).toContain(`:${last?.remotePort} `)
  })

  test("without a listener, each endpoint warns once", async () => {
    const warnings = warned(() => endpoints)
    const pull = use(new lz4.Pull())
    const endpoints: string[] = []
    for (let i = 0; i < 2; i++) {
      await pull.bind(ANY_LZ4, thread)
      endpoints.push(pull.lastEndpoint as string)
    }
    for (const endpoint of endpoints)
      for (let i = 0; i < 2; i++) {
        const gone = new Promise((resolve) => pull.lz4.once("disconnect", resolve))
        await offend(endpoint, undefined, part)
        await gone
      }
    await eventually(() => warnings.length >= 2)
    expect(warnings.map((text) => endpoints.findIndex((one) => text.includes(one)))).toEqual([0, 1])
    expect(warnings[0]).toMatch(/ERR_LZ4_UNKNOWN_SENTINEL: part 0 begins with 74 65 78 74, .* tcp:/)
  })

  test("without a listener, there is no warning of other errors", async () => {
    const warnings = warned(() => [pull.lastEndpoint])
    const pull = use(new lz4.Pull())
    await pull.bind(ANY_LZ4, thread)
    const gone = new Promise((resolve) => pull.lz4.once("disconnect", resolve))
    await offend(pull.lastEndpoint as string, 2, part)
    await gone
    await new Promise((resolve) => setImmediate(resolve))
    expect(warnings).toEqual([])
  })

  test("`connections` shows that a plain peer announced nothing, and nothing else does", async () => {
    const push = use(new lz4.Push())
    const pull = use(new zeromq.Pull())
    await pull.bind(ANY_TCP)
    push.connect(toLz4(pull.lastEndpoint as string), thread)
    await push.send("text")
    expect(String((await pull.receive())[0])).toBe("\0\0\0\0text")
    await connectedTo(push, { scheme: "lz4+tcp", revision: undefined })
  })
})

test.each([1, "yes", null, {}])("acceptPlain: %j is refused", async (given) => {
  const options = { acceptPlain: given } as unknown as lz4.EndpointOptions
  const error = { code: "ERR_INVALID_ARG_TYPE", message: /^acceptPlain must be a boolean; got / }
  const push = use(new lz4.Push())
  expect(() => push.connect("lz4+tcp://127.0.0.1:9", options)).toThrow(
    expect.objectContaining({ ...error, message: expect.stringMatching(error.message) }),
  )
  await expect(push.bind(ANY_LZ4, options)).rejects.toMatchObject({ code: error.code })
})
