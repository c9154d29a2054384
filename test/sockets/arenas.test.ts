/**
 * Arenas are sent only to peers that have announced that they read them (RFC.md section 3.9), and received only
 * if their bytes pay for their parts (section A.1).
 */
import { describe, expect, test } from "vitest"
import * as zeromq from "zeromq"
import {
  Context,
  Dealer,
  type EndpointOptions,
  type ProtocolErrorEvent,
  Publisher,
  Pull,
  Push,
  Reply,
  Subscriber,
} from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { eventually, use } from "../support/sockets.js"
import { plain, threaded } from "../support/threads.js"
import { concat, formOf, plainPart } from "../support/wire.js"
import {
  arenaOfEmptyParts,
  frame,
  handshake,
  MOST_EMPTY_PARTS,
  message,
  messagesOf,
  parseStream,
  storedArena,
} from "../support/zmtp.js"

const MESSAGES = 200
/** Their size as separate parts: each has a sentinel, and none is long enough to be compressed. */
const texts = Array.from({ length: MESSAGES }, (_, i) => payload("json", 200, i))
const asParts = texts.reduce((sum, { length }) => sum + 4 + length, 0)

interface Received {
  readonly wireBytes: number
  readonly offences: ProtocolErrorEvent[]
}

function watched(pull: Pull | Subscriber): ProtocolErrorEvent[] {
  const offences: ProtocolErrorEvent[] = []
  pull.lz4.on("protocolError", (event) => offences.push(event))
  return offences
}

async function receiveAll(
  socket: Pull | Subscriber,
  offences: ProtocolErrorEvent[],
): Promise<Received> {
  for (const text of texts) {
    const [part] = await socket.receive()
    expect(Buffer.compare(part as Buffer, text)).toBe(0)
  }
  return { wireBytes: socket.lz4.stats.received.wireBytes, offences }
}

/** Accepts all ZAP requests. */
async function letIn(context: Context): Promise<void> {
  const handler = use(new Reply({ context }))
  await handler.bind("inproc://zeromq.zap.01")
  void (async () => {
    for await (const [version, id] of handler)
      await handler.send([version as Buffer, id as Buffer, "200", "OK", "", ""])
  })()
}

/** Sends in one burst, so that all messages wait for the handshake together. */
async function pass(
  sends: EndpointOptions,
  receives: EndpointOptions,
  push = new Push(),
  pull = new Pull(),
): Promise<Received> {
  const offences = watched(use(pull))
  await pull.bind("lz4+tcp://127.0.0.1:*", receives)
  use(push).connect(pull.lastEndpoint as string, sends)
  for (const text of texts) await push.send(text)
  return await receiveAll(pull, offences)
}

describe.each([
  { where: "on the calling thread", thread: plain },
  { where: "on a thread", thread: threaded },
])("$where", ({ thread }) => {
  test.each<[EndpointOptions, EndpointOptions, boolean]>([
    [{}, {}, true],
    [{}, { revision: 1 }, false],
    [{ arenas: "auto" }, { revision: 2 }, true],
    [{ arenas: "auto" }, { revision: 1 }, false],
    [{ arenas: false }, {}, false],
    [{ arenas: true }, {}, true],
    [{ revision: 1 }, {}, true],
  ])("a PUSH with %j and a PULL with %j: arenas: %s", async (sends, receives, arenas) => {
    const received = await pass({ ...sends, ...thread }, { ...receives, ...thread })
    expect(received.offences).toEqual([])
    if (arenas) expect(received.wireBytes).toBeLessThan(0.7 * asParts)
    else expect(received.wireBytes).toBe(asParts)
  })

  test("with PLAIN both sides announce revisions, as with NULL", async () => {
    for (const [revision, binds] of [
      [2, true],
      [2, false],
      [1, true],
      [1, false],
    ] as const) {
      const context = new Context()
      await letIn(context)
      const client = { plainUsername: "user", plainPassword: "secret" }
      const server = { plainServer: true, zapDomain: "test" }
      const push = use(new Push({ context, ...(binds ? server : client) }))
      const pull = use(new Pull({ context, ...(binds ? client : server) }))
      const offences = watched(pull)
      const [bound, connecting] = binds ? [push, pull] : [pull, push]
      const optionsOf = (socket: object) => (socket === pull ? { ...thread, revision } : thread)
      await bound.bind("lz4+tcp://127.0.0.1:*", optionsOf(bound))
      connecting.connect(bound.lastEndpoint as string, optionsOf(connecting))
      await eventually(() => push.writable)
      for (const text of texts) await push.send(text)
      const received = await receiveAll(pull, offences)
      expect(received.offences).toEqual([])
      if (revision === 2) expect(received.wireBytes).toBeLessThan(0.7 * asParts)
      else expect(received.wireBytes).toBe(asParts)
    }
  })

  /** Returns what a peer that announced nothing is sent, in reply to its own messages. */
  async function replies(dealer: Dealer, message: Uint8Array): Promise<Uint8Array[]> {
    const peer = await rawPeer(dealer.lastEndpoint as string, concat(handshake("DEALER"), message))
    let bytes: Uint8Array = new Uint8Array()
    peer.socket.on("data", (data) => {
      bytes = concat(bytes, data)
    })
    expect(String(await dealer.receive())).toBe("hello")
    for (const text of texts) await dealer.send(text)
    const wires = await eventually(() => {
      using codec = Codec.createSync()
      const sent = messagesOf(parseStream(bytes).frames)
      return sent.flatMap((wire) => codec.decode(wire)).length === texts.length && sent.flat()
    })
    peer.close()
    return wires
  }

  test("a peer that announced nothing is sent arenas from its first one on", async () => {
    const dealer = use(new Dealer())
    await dealer.bind("lz4+tcp://127.0.0.1:*", thread)
    const inArena = storedArena([Buffer.from("hello")])
    const inPart = message(plainPart(Buffer.from("hello")))
    const hasArenas = (wires: Uint8Array[]) => wires.some((wire) => formOf(wire) === "LZ4A")
    expect(hasArenas(await replies(dealer, inPart))).toBe(false)
    expect(hasArenas(await replies(dealer, inArena))).toBe(true)
    // What one connection has shown does not hold for the next.
    expect(hasArenas(await replies(dealer, inPart))).toBe(false)
  })

  test("as many empty parts as an arena's bytes pay for are received, and one more is refused", async () => {
    const pull = use(new Pull())
    const offences = watched(pull)
    await pull.bind("lz4+tcp://127.0.0.1:*", thread)
    const endpoint = pull.lastEndpoint as string
    const good = frame(arenaOfEmptyParts(MOST_EMPTY_PARTS))
    const bad = frame(arenaOfEmptyParts(MOST_EMPTY_PARTS + 1))
    const peer = use(await rawZmtpPeer(endpoint, "PUSH", good, bad, good))
    expect(await pull.receive()).toHaveLength(MOST_EMPTY_PARTS)
    await peer.closed
    expect((await eventually(() => offences[0])).error.code).toBe("ERR_LZ4_ARENA")

    // Nothing else of that peer is received, and others are not affected.
    use(await rawZmtpPeer(endpoint, "PUSH", message(plainPart(Buffer.from("hello")))))
    expect(String((await pull.receive())[0])).toBe("hello")
    expect(offences).toHaveLength(1)
  })

  test("what would be refused is not sent", async () => {
    const batch = Array.from({ length: 256 }, () => Array<Buffer>(6).fill(Buffer.alloc(0)))
    const pull = use(new Pull())
    const offences = watched(pull)
    await pull.bind("lz4+tcp://127.0.0.1:*", thread)
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, { ...thread, acceleration: 1 })
    for (let round = 0; round < 4; round++) {
      const sent = (async () => {
        for (const parts of batch) await push.send(parts)
      })()
      for (const parts of batch) expect(await pull.receive()).toHaveLength(parts.length)
      await sent
    }
    expect(offences).toEqual([])
  })

  test("a PUB sends arenas only to SUBs that read them", async () => {
    const publisher = use(new Publisher())
    await publisher.bind("lz4+tcp://127.0.0.1:*", thread)
    const subscribers = ([2, 1, 2, 1] as const).map((revision) => {
      const subscriber = use(new Subscriber())
      const offences = watched(subscriber)
      subscriber.subscribe("")
      subscriber.connect(publisher.lastEndpoint as string, { ...thread, revision })
      return { subscriber, offences, revision }
    })
    // Wait until all are subscribed.
    const ready = Buffer.from("ready")
    const heard = subscribers.map(({ subscriber }) => subscriber.receive())
    let missing = heard.length
    for (const one of heard) void one.then(() => missing--)
    await eventually(async () => {
      await publisher.send(ready)
      return missing === 0
    })
    await publisher.send("begin")
    for (const { subscriber } of subscribers)
      while (String((await subscriber.receive())[0]) !== "begin");
    const before = subscribers.map(({ subscriber }) => subscriber.lz4.stats.received.wireBytes)
    for (const text of texts) await publisher.send(text)
    for (const [i, { subscriber, offences, revision }] of subscribers.entries()) {
      const received = await receiveAll(subscriber, offences)
      const wireBytes = received.wireBytes - (before[i] as number)
      expect(received.offences).toEqual([])
      if (revision === 2) expect(wireBytes).toBeLessThan(0.7 * asParts)
      else expect(wireBytes).toBe(asParts)
    }
  })
})

test.each([
  ["NULL", {}, {}],
  [
    "PLAIN",
    { plainUsername: "user", plainPassword: "secret" },
    { plainServer: true, zapDomain: "test" },
  ],
] as const)("libzmq ignores the announcement in the handshake: %s", async (_, client, server) => {
  const context = new Context()
  await letIn(context)
  const native = <T extends zeromq.Socket>(Type: new (options: object) => T, options: object) =>
    use(new Type({ context, ...options }))
  const handshake = async (socket: zeromq.Socket) => {
    for await (const { type } of socket.events) if (type === "handshake") return type
    return undefined
  }
  const bound = use(new Pull({ context, ...server }))
  await bound.bind("lz4+tcp://127.0.0.1:*")
  const dialling = native(zeromq.Push, client)
  const dialled = handshake(dialling)
  dialling.connect((bound.lastEndpoint as string).replace("lz4+", ""))
  expect(await dialled).toBe("handshake")

  const listening = native(zeromq.Pull, server)
  await listening.bind("tcp://127.0.0.1:*")
  const accepted = handshake(listening)
  use(new Push({ context, ...client })).connect(`lz4+${listening.lastEndpoint}`)
  expect(await accepted).toBe("handshake")
})
