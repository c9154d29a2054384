/** CURVE: between `lz4+tcp://` sockets, and with libzmq's peers over `tcp://`, which are the reference. */
import { describe, expect, test } from "vitest"
import * as zeromq from "zeromq"
import * as lz4 from "zeromq-lz4"

import { rawPeer } from "../support/raw-peer.js"
import { eventually, use } from "../support/sockets.js"
import { concat } from "../support/wire.js"
import { z85 } from "../support/z85.js"
import { frame, greeting } from "../support/zmtp.js"

const serverKeys = zeromq.curveKeyPair()
const clientKeys = zeromq.curveKeyPair()
const SERVER = { curveServer: true, curveSecretKey: serverKeys.secretKey }
const CLIENT = {
  curvePublicKey: clientKeys.publicKey,
  curveSecretKey: clientKeys.secretKey,
  curveServerKey: serverKeys.publicKey,
}
const ZAP = "inproc://zeromq.zap.01"

/** Which package the server and the client are from. */
const ways = [
  { way: "tcp://", server: zeromq, client: zeromq, options: {} },
  { way: "lz4+tcp://", server: lz4, client: lz4, options: {} },
  { way: "lz4+tcp:// with threads", server: lz4, client: lz4, options: { thread: true } },
  { way: "a libzmq client", server: lz4, client: zeromq, options: { acceptPlain: true } },
  { way: "a libzmq server", server: zeromq, client: lz4, options: { acceptPlain: true } },
  {
    way: "a libzmq client, with threads",
    server: lz4,
    client: zeromq,
    options: { acceptPlain: true, thread: true },
  },
] as const
type Way = (typeof ways)[number]
type AnyPackage = typeof zeromq
type Lz4 = lz4.Pair
const packageOf = (of: Way["server"]) => of as unknown as AnyPackage

async function bind(way: Way, socket: zeromq.Socket): Promise<string> {
  if (way.server === zeromq) await socket.bind("tcp://127.0.0.1:*")
  else await (socket as unknown as Lz4).bind("lz4+tcp://127.0.0.1:*", way.options)
  return socket.lastEndpoint?.replace("lz4+", "") as string
}

function connect(way: Way, socket: zeromq.Socket, endpoint: string): void {
  if (way.client === zeromq) socket.connect(endpoint)
  else (socket as unknown as Lz4).connect(`lz4+${endpoint}`, way.options)
}

const MESSAGES: readonly Buffer[][] = [
  [Buffer.from("short")],
  [Buffer.alloc(0), Buffer.alloc(0)],
  [Buffer.alloc(222, 1), Buffer.alloc(255, 2), Buffer.alloc(256, 3)],
  [Buffer.alloc(16_384, 4), Buffer.from("LZ4B"), Buffer.alloc(100_000, 5)],
  [Buffer.alloc(3_000_000, 6), Buffer.from("end")],
]

/** Waits for the next event of a kind. */
const event = (socket: zeromq.Socket, kind: zeromq.EventType) =>
  new Promise<{ error: NodeJS.ErrnoException & { status: number } }>((resolve) => {
    socket.events.on(kind, (details) => resolve(details as never))
  })
/** Waits until a peer has broken a rule. */
const violation = (socket: lz4.Lz4Socket) =>
  new Promise<string>((resolve) => {
    socket.lz4.on("protocolError", ({ error }) => resolve(error.message))
  })

interface Both {
  send(message: Buffer[]): Promise<void>
  receive(): Promise<Buffer[]>
}

/** Sends all messages from one socket to another, and compares. */
async function pass(from: Both, to: Both, before: Buffer[] = []): Promise<void> {
  for (const message of MESSAGES) {
    await from.send([...before, ...message])
    const received = await to.receive()
    expect(received.length).toBe(message.length)
    for (const [i, part] of message.entries())
      expect(Buffer.compare(received[i] as Buffer, part)).toBe(0)
  }
}

describe.each(ways)("over $way", (way) => {
  const server = packageOf(way.server)
  const client = packageOf(way.client)

  const paired: [string, () => [zeromq.Socket, zeromq.Socket]][] = [
    ["DEALER and DEALER", () => [new server.Dealer(SERVER), new client.Dealer(CLIENT)]],
    ["PAIR and PAIR", () => [new server.Pair(SERVER), new client.Pair(CLIENT)]],
  ]
  test.each(paired)("%s exchange messages", async (_, make) => {
    const [a, b] = make().map(use) as [zeromq.Dealer, zeromq.Dealer]
    connect(way, b, await bind(way, a))
    await pass(b as Both, a as Both)
    await pass(a as Both, b as Both)
    expect(a.securityMechanism).toBe("curve")
    expect(b.securityMechanism).toBe("curve")
  })

  test("PUSH and PULL, REQ and REP, ROUTER and DEALER", async () => {
    const [pull, push] = [use(new server.Pull(SERVER)), use(new client.Push(CLIENT))]
    connect(way, push, await bind(way, pull))
    await pass(push as unknown as Both, pull as unknown as Both)

    const [reply, request] = [use(new server.Reply(SERVER)), use(new client.Request(CLIENT))]
    connect(way, request, await bind(way, reply))
    for (const text of ["one", "two"]) {
      await request.send(text)
      expect(String(await reply.receive())).toBe(text)
      await reply.send(`${text} back`)
      expect(String(await request.receive())).toBe(`${text} back`)
    }

    const [router, dealer] = [
      use(new server.Router(SERVER)),
      use(new client.Dealer({ ...CLIENT, routingId: "me" })),
    ]
    connect(way, dealer, await bind(way, router))
    await dealer.send("hello")
    expect((await router.receive()).map(String)).toEqual(["me", "hello"])
    await router.send(["me", "world"])
    expect((await dealer.receive()).map(String)).toEqual(["world"])
  })

  test.each([
    ["PUB", "SUB"],
    ["XPUB", "SUB"],
  ])("%s and %s: subscriptions are encrypted, too", async (type) => {
    const Type = type === "PUB" ? server.Publisher : server.XPublisher
    const publisher = use(new Type(SERVER))
    const subscriber = use(new client.Subscriber(CLIENT))
    subscriber.subscribe("a")
    connect(way, subscriber, await bind(way, publisher))
    if (type === "XPUB")
      expect(String(await (publisher as zeromq.XPublisher).receive())).toBe("\x01a")
    const first = subscriber.receive()
    let isThere = false
    first.then(() => {
      isThere = true
    })
    await eventually(async () => {
      await publisher.send(["b", "not wanted"])
      await publisher.send(["a", "wanted"])
      return isThere
    })
    expect((await first).map(String)).toEqual(["a", "wanted"])
  })

  test("as in libzmq, the keys that count are those set last before bind() and connect()", async () => {
    const [a, b] = [use(new server.Dealer()), use(new client.Dealer({ ...CLIENT }))]
    a.curveSecretKey = clientKeys.secretKey
    a.curveServer = true
    a.curveSecretKey = serverKeys.secretKey
    connect(way, b, await bind(way, a))
    await pass(b as Both, a as Both)
  })

  test("a client with another server's key does not come in, and the server's events say so", async () => {
    const pull = use(new server.Pull(SERVER))
    const failure = event(pull, "handshake:error:protocol").then(({ error }) => error.code)
    const push = use(
      new client.Push({ ...CLIENT, curveServerKey: clientKeys.publicKey, sendTimeout: 0 }),
    )
    connect(way, push, await bind(way, pull))
    expect(await failure).toBe("ERR_ZMTP_CRYPTOGRAPHIC")
  })

  test("a client without CURVE does not come in", async () => {
    const pull = use(new server.Pull(SERVER))
    const endpoint = await bind(way, pull)
    const other = use(new client.Push())
    // Whoever sees the other's greeting first ends the connection.
    const failed = Promise.race([pull, other].map((it) => event(it, "handshake:error:protocol")))
    connect(way, other, endpoint)
    const { error } = await failed
    expect(error.code).toBe("ERR_ZMTP_MECHANISM_MISMATCH")
    const push = use(new client.Push(CLIENT))
    connect(way, push, endpoint)
    await push.send("let me in")
    expect(String(await pull.receive())).toBe("let me in")
  })

  test("ZAP decides by the client's long-term key", async () => {
    const context = new server.Context()
    const zap = use(new server.Reply({ context }))
    await eventually(() => zap.bind(ZAP).then(() => true))
    const asked: string[][] = []
    const serving = async () => {
      for await (const [version, id, domain, , , mechanism, key] of zap) {
        const isKnown = Buffer.compare(key as Buffer, known) === 0
        asked.push([
          String(domain),
          String(mechanism),
          String((key as Buffer).length),
          `${isKnown}`,
        ])
        await zap.send([version as Buffer, id as Buffer, isKnown ? "200" : "400", "", "", ""])
      }
    }
    // What zeromq.js was given as text.
    const known = z85(clientKeys.publicKey)
    serving().catch(() => {})
    const pull = use(new server.Pull({ ...SERVER, context, zapDomain: "here" }))
    const endpoint = await bind(way, pull)
    const refusedThere = event(pull, "handshake:error:auth").then(({ error }) => error.status)
    const stranger = use(
      new client.Push({
        ...serverKeysAsClient(),
        curveServerKey: serverKeys.publicKey,
      }),
    )
    const refusedHere = event(stranger, "handshake:error:auth").then(({ error }) => error.status)
    connect(way, stranger, endpoint)
    expect(await refusedThere).toBe(400)
    expect(await refusedHere).toBe(400)
    const push = use(new client.Push(CLIENT))
    connect(way, push, endpoint)
    await push.send("known")
    expect(String(await pull.receive())).toBe("known")
    expect(asked).toContainEqual(["here", "CURVE", "32", "true"])
    expect(asked).toContainEqual(["here", "CURVE", "32", "false"])
    zap.close()
  })

  test("messages wait for a server that starts later, and go on after it has started again", async () => {
    const first = use(new server.Pull(SERVER))
    const endpoint = await bind(way, first)
    const push = use(new client.Push({ ...CLIENT, reconnectInterval: 5 }))
    connect(way, push, endpoint)
    await push.send("one")
    expect(String(await first.receive())).toBe("one")
    const gone = event(push, "disconnect")
    first.close()
    await gone
    const second = use(new server.Pull(SERVER))
    await eventually(async () => {
      if (way.server === zeromq) await second.bind(endpoint)
      else await (second as unknown as Lz4).bind(`lz4+${endpoint}`, way.options)
      return true
    })
    await push.send("two")
    expect(String(await second.receive())).toBe("two")
  })
})

/** Keys of a client that ZAP does not know. */
function serverKeysAsClient() {
  const { publicKey, secretKey } = zeromq.curveKeyPair()
  return { curvePublicKey: publicKey, curveSecretKey: secretKey }
}

// -- Compression -------------------------------------------------------------------

const repetitive = Buffer.alloc(10_000, "the same again ")

async function wireBytes(options: lz4.EndpointOptions): Promise<[number, string | number]> {
  const [pull, push] = [use(new lz4.Pull(SERVER)), use(new lz4.Push(CLIENT))]
  await pull.bind("lz4+tcp://127.0.0.1:*", options)
  push.connect(pull.lastEndpoint as string, options)
  await push.send(repetitive)
  expect(Buffer.compare((await pull.receive())[0] as Buffer, repetitive)).toBe(0)
  const sent = await eventually(() => {
    const [connection] = push.lz4.connections
    return connection && connection.sent.messages === 1 ? connection.sent : false
  })
  return [sent.wireBytes, sent.level]
}

test("nothing is compressed unless that is asked for, as lengths tell about content", async () => {
  const plain = [repetitive.length + 4, "none"]
  expect(await wireBytes({})).toEqual(plain)
  expect(await wireBytes({ arenas: true })).toEqual(plain)
  expect(await wireBytes({ level: "none" })).toEqual(plain)
  expect(await wireBytes({ autoDictionary: false })).toEqual(plain)
  for (const options of [
    { level: 0 as const },
    { acceleration: 2 },
    { level: "adaptive" as const },
    { dictionary: repetitive.subarray(0, 500) },
    { autoDictionary: true },
  ])
    expect((await wireBytes(options))[0]).toBeLessThan(1000)
})

test("messages are put together only if that is asked for", async () => {
  const count = async (options: lz4.EndpointOptions) => {
    const [pull, push] = [use(new lz4.Pull(SERVER)), use(new lz4.Push(CLIENT))]
    await pull.bind("lz4+tcp://127.0.0.1:*", options)
    push.connect(pull.lastEndpoint as string, options)
    await event(push, "handshake")
    await Promise.all(Array.from({ length: 50 }, () => push.send(Buffer.alloc(64, "a"))))
    for (let i = 0; i < 50; i++) await pull.receive()
    return (await eventually(() => push.lz4.connections[0] ?? false)).sent.wireBytes
  }
  expect(await count({ level: 0 })).toBe(50 * 68)
  expect(await count({ level: 0, arenas: "auto" })).toBeLessThan(50 * 60)
  expect(await count({ level: 0, arenas: true })).toBeLessThan(50 * 60)
})

// -- Peers that break rules --------------------------------------------------------

test.each([{ thread: false }, { thread: true }])(
  "with %o, a peer that stops after its greeting, or sends something else, is one of many",
  async (options) => {
    const pull = use(new lz4.Pull(SERVER))
    await pull.bind("lz4+tcp://127.0.0.1:*", options)
    const endpoint = pull.lastEndpoint as string
    const errors: string[] = []
    pull.lz4.on("protocolError", ({ error }) => errors.push(error.message))
    const silent = use(await rawPeer(endpoint, greeting({ mechanism: "CURVE" })))
    const bad = use(
      await rawPeer(
        endpoint,
        concat(greeting({ mechanism: "CURVE" }), frame(Buffer.from("\0\0\0\0in the clear"))),
      ),
    )
    await bad.closed
    const push = use(new lz4.Push(CLIENT))
    push.connect(endpoint, options)
    await push.send("good")
    expect(String(await pull.receive())).toBe("good")
    await eventually(() => expect(errors).toHaveLength(1))
    expect(errors[0]).toMatch(/^ERR_ZMTP_HANDSHAKE: /)
    silent.close()
  },
)

test("maxMessageSize counts what is inside", async () => {
  const pull = use(new lz4.Pull({ ...SERVER, maxMessageSize: 1000 }))
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const push = use(new lz4.Push(CLIENT))
  push.connect(pull.lastEndpoint as string)
  await push.send(Buffer.alloc(1000))
  expect((await pull.receive())[0]).toHaveLength(1000)
  const failed = violation(pull)
  await push.send(Buffer.alloc(1001))
  expect(await failed).toMatch(/^ERR_LZ4_BUDGET_EXCEEDED: /)
})

test("a huge message is refused at its head", async () => {
  const pull = use(new lz4.Pull({ ...SERVER, maxMessageSize: 1000 }))
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const push = use(new lz4.Push(CLIENT))
  push.connect(pull.lastEndpoint as string)
  const failed = violation(pull)
  await push.send(Buffer.alloc(5_000_000))
  expect(await failed).toBe("ERR_ZMTP_CURVE: a MESSAGE is longer than maxMessageSize allows")
})
