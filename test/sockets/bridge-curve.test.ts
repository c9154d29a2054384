/** `zeromq-lz4 bridge` with CURVE: zeromq.js over `tcp://`, which is the reference, on one side or both. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import * as zeromq from "zeromq"
import * as lz4 from "zeromq-lz4"

import { RawServer, rawClient } from "../support/raw-ends.js"
import { RunningBridge } from "../support/running-bridge.js"
import { type AnySocket, eventually, use } from "../support/sockets.js"
import { isInFull } from "../support/transports.js"
import { concat } from "../support/wire.js"
import { frame, greeting, message, ready } from "../support/zmtp.js"

const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-bridge-curve-"))
afterAll(() => rmSync(directory, { recursive: true }))

const file = (name: string, content: string): string => {
  writeFileSync(join(directory, name), content)
  return join(directory, name)
}
/** A pair of keys, and the file with the secret one. */
const pair = (name: string) => {
  const keys = zeromq.curveKeyPair()
  return { ...keys, file: file(`${name}.secret`, `${keys.secretKey}\n`) }
}
/** The server that is bound, the bridge as the server for its clients, as a client, and a client. */
const bound = pair("bound")
const from = pair("from")
const to = pair("to")
const client = pair("client")

const serverOf = ({ secretKey }: { secretKey: string }) => ({
  curveServer: true,
  curveSecretKey: secretKey,
})
const clientOf = (server: { publicKey: string }) => ({
  curveServerKey: server.publicKey,
  curvePublicKey: client.publicKey,
  curveSecretKey: client.secretKey,
})

/** What is encrypted: the connections at --from, those at --to, or both. */
interface Way {
  connecting: "tcp" | "lz4+tcp"
  curve: "from" | "to" | "both"
}
const ways: Way[] = (["tcp", "lz4+tcp"] as const).flatMap((connecting) =>
  (["from", "to", "both"] as const).map((curve) => ({ connecting, curve })),
)

/** Options of the two sockets, and of the bridge between them. */
function optionsOf({ curve }: Way) {
  const atFrom = curve !== "to"
  const atTo = curve !== "from"
  return {
    connecting: atFrom ? clientOf(from) : {},
    bound: atTo ? serverOf(bound) : {},
    bridge: [
      ...(atFrom ? ["--from-curve-server", "--from-secret-key", from.file] : []),
      ...(atTo ? ["--to-server-key", bound.publicKey, "--to-secret-key", to.file] : []),
    ],
  }
}

/** Binds one socket, and connects the other through a bridge. */
async function through(
  { connecting: scheme }: Way,
  connecting: zeromq.Socket,
  binding: zeromq.Socket,
  ...options: string[]
): Promise<RunningBridge> {
  const other = scheme === "tcp" ? "lz4+tcp" : "tcp"
  await binding.bind(`${other}://127.0.0.1:*`)
  const to = binding.lastEndpoint as string
  const bridge = await RunningBridge.start(`${scheme}://127.0.0.1:0`, to, ...options)
  connecting.connect(bridge.endpoint)
  return bridge
}

/** The package of a socket at a scheme. */
const packageOf = (scheme: Way["connecting"]) =>
  (scheme === "tcp" ? zeromq : lz4) as unknown as typeof zeromq

const MESSAGES: readonly Buffer[][] = [
  [Buffer.from("short")],
  [Buffer.alloc(0), Buffer.alloc(0)],
  [Buffer.alloc(222, 1), Buffer.alloc(255, 2), Buffer.alloc(256, 3)],
  [Buffer.alloc(16_384, 4), Buffer.from("LZ4B"), Buffer.alloc(100_000, 5)],
  [Buffer.alloc(3_000_000, 6), Buffer.from("end")],
  [Buffer.from("last")],
]

type Both = { send(message: Buffer[]): Promise<void>; receive(): Promise<Buffer[]> }

async function pass(from: unknown, to: unknown): Promise<void> {
  const [sending, receiving] = [from as Both, to as Both]
  for (const message of MESSAGES) {
    await sending.send(message)
    const received = await receiving.receive()
    expect(received.map(({ length }) => length)).toEqual(message.map(({ length }) => length))
    expect(Buffer.concat(received).equals(Buffer.concat(message))).toBe(true)
  }
}

describe.each(ways)("from $connecting, encrypted: $curve", (way) => {
  const left = packageOf(way.connecting)
  const right = packageOf(way.connecting === "tcp" ? "lz4+tcp" : "tcp")
  const options = optionsOf(way)

  test("PAIR, both ways, compressed or not", async () => {
    for (const more of [[], ["--level", "0"]]) {
      const connecting = use(new left.Pair(options.connecting))
      const binding = use(new right.Pair(options.bound))
      const bridge = await through(way, connecting, binding, ...options.bridge, ...more)
      await pass(connecting, binding)
      await pass(binding, connecting)
      connecting.close()
      const { input } = await bridge.until(/^#1 closed/)
      const [, plain, wire] = /sent 6 messages, (\d+) bytes as (\d+)/.exec(input) as string[]
      const sealed = way.curve === "both" || (way.curve === "from") === (way.connecting !== "tcp")
      // Not compressed if it is encrypted, unless that was asked for: a sentinel for each part.
      if (sealed && more.length === 0) expect(Number(wire)).toBe(Number(plain) + 4 * 12)
      else expect(Number(wire)).toBeLessThan(Number(plain) / 50)
    }
  })

  // Each side of a bridge reads and writes what peers say of themselves by itself, encrypted or not.
  if (way.curve !== "both" && !isInFull) return

  test("REQ and ROUTER see each other's type and identity", async () => {
    const request = use(new left.Request({ ...options.connecting, routingId: "me" }))
    const router = use(new right.Router(options.bound))
    await through(way, request, router, ...options.bridge)
    await request.send("question")
    const [id, empty, question] = await router.receive()
    expect([id, empty, question].map(String)).toEqual(["me", "", "question"])
    await router.send([id as Buffer, "", "answer"])
    expect(String(await request.receive())).toBe("answer")
  })

  test("SUB and XPUB: subscriptions go through", async () => {
    const subscriber = use(new left.Subscriber(options.connecting))
    const publisher = use(new right.XPublisher(options.bound))
    subscriber.subscribe("a")
    await through(way, subscriber, publisher, ...options.bridge)
    expect(String(await publisher.receive())).toBe("\x01a")
    await publisher.send("b is not for it")
    await publisher.send("a is")
    expect(String(await subscriber.receive())).toBe("a is")
    subscriber.subscribe("b")
    expect(String(await publisher.receive())).toBe("\x01b")
    await publisher.send("b is, too")
    expect(String(await subscriber.receive())).toBe("b is, too")
  })
})

test("libzmq with CURVE on both ends of two bridges", async () => {
  const push = use(new zeromq.Push(clientOf(from)))
  const pull = use(new zeromq.Pull(serverOf(bound)))
  await pull.bind("tcp://127.0.0.1:*")
  const middle = pair("middle")
  const second = await RunningBridge.start(
    ...(["lz4+tcp://127.0.0.1:0", pull.lastEndpoint] as [string, string]),
    ...["--from-curve-server", "--from-secret-key", middle.file, "--level", "0"],
    ...["--to-server-key", file("bound.public", `CURVE_PUBLIC_KEY='${bound.publicKey}'\n`)],
  )
  const first = await RunningBridge.start(
    ...(["tcp://127.0.0.1:0", second.endpoint] as [string, string]),
    ...["--from-curve-server", "--from-secret-key", from.file, "--level", "0"],
    ...["--to-server-key", middle.publicKey, "--auto-dictionary"],
  )
  push.connect(first.endpoint)
  await pass(push, pull)
})

test("the bridge as a client of a server that connects, and as the server of one that is bound", async () => {
  const connecting = use(new zeromq.Dealer(serverOf(bound)))
  const binding = use(new lz4.Dealer(clientOf(to)) as unknown as AnySocket)
  await binding.bind("lz4+tcp://127.0.0.1:*")
  const bridge = await RunningBridge.start(
    ...(["tcp://127.0.0.1:0", binding.lastEndpoint] as [string, string]),
    ...["--from-server-key", bound.publicKey, "--to-curve-server", "--to-secret-key", to.file],
  )
  connecting.connect(bridge.endpoint)
  await pass(connecting, binding)
  await pass(binding, connecting)
})

describe("wrong keys end the connection, and a line says why", () => {
  const stranger = pair("stranger")
  const AT_FROM = ["--from-curve-server", "--from-secret-key", from.file]
  test.each<
    [says: RegExp, connecting: zeromq.SocketOptions<zeromq.Push>, bound: object, bridge: string[]]
  >([
    [
      /by tcp.*a HELLO does not open: the peer may have another server's key/,
      clientOf(stranger),
      {},
      AT_FROM,
    ],
    [
      /by tcp.*the vouch of an INITIATE is not from the owner of its key/,
      { ...clientOf(from), curvePublicKey: stranger.publicKey },
      {},
      AT_FROM,
    ],
    [
      /by lz4\+tcp.*the server closed the connection during the handshake of CURVE: it may have another key/,
      {},
      serverOf(bound),
      ["--to-server-key", stranger.publicKey],
    ],
  ])("%s", async (says, connecting, binding, options) => {
    const push = use(new zeromq.Push(connecting))
    const pull = use(new lz4.Pull(binding) as unknown as AnySocket)
    const bridge = await through({ connecting: "tcp", curve: "from" }, push, pull, ...options)
    const { input } = await bridge.until(says)
    // A client that does not show its keys is no peer, so nothing was dialled for it.
    expect(input).toMatch(options === AT_FROM ? /^protocol error by / : /^#\d+ protocol error by /)
    if (options !== AT_FROM) await bridge.until(/^#\d+ closed/)
  })
})

test("a server of libzmq that gets a HELLO with another's key just closes the connection", async () => {
  const push = use(new lz4.Push() as unknown as AnySocket)
  const pull = use(new zeromq.Pull(serverOf(bound)))
  const options = ["--to-server-key", from.publicKey]
  const bridge = await through({ connecting: "lz4+tcp", curve: "to" }, push, pull, ...options)
  await bridge.until(/by tcp.*: the server closed the connection during the handshake of CURVE/)
})

test("a server's ZAP handler is asked about the bridge's key, and its refusal is printed", async () => {
  const pull = use(new zeromq.Pull({ ...serverOf(bound), zapDomain: "test" }))
  const handler = use(new zeromq.Reply())
  await handler.bind("inproc://zeromq.zap.01")
  await pull.bind("tcp://127.0.0.1:*")
  const bridge = await RunningBridge.start(
    ...(["lz4+tcp://127.0.0.1:0", pull.lastEndpoint] as [string, string]),
    ...["--to-server-key", bound.publicKey, "--to-secret-key", to.file, "--json"],
  )
  const push = use(new lz4.Push())
  push.connect(bridge.endpoint)
  const asked = await handler.receive()
  expect(String(asked[5])).toBe("CURVE")
  expect(asked[6]?.length).toBe(32)
  await handler.send([asked[0] as Buffer, asked[1] as Buffer, "400", "no", "", ""])
  await bridge.until(/"type":"error".*the peer refused with \\"400\\"/)
  const accept = async () => {
    const [version, id] = await handler.receive()
    await handler.send([version as Buffer, id as Buffer, "200", "yes", "", ""])
  }
  await accept()
  await push.send("accepted")
  expect(String(await pull.receive())).toBe("accepted")
  const curve = bridge.lines.find((line) => line.includes('"type":"curve"')) as string
  expect(JSON.parse(curve)).toMatchObject({ side: "to", role: "client", publicKey: to.publicKey })
})

test("a bridge with a list of clients refuses the others, which do not try again", async () => {
  const other = zeromq.curveKeyPair()
  const list = file("clients", `# ours\n\n${client.publicKey}  the client\n`)
  const pull = use(new lz4.Pull())
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const bridge = await RunningBridge.start(
    ...(["tcp://127.0.0.1:0", pull.lastEndpoint] as [string, string]),
    ...["--from-curve-server", "--from-secret-key", from.file, "--from-client-keys", list],
  )
  expect(bridge.lines.join("\n")).toMatch(/the bridge is the server, .*; it accepts 1 client$/m)
  const stranger = use(
    new zeromq.Push({
      curveServerKey: from.publicKey,
      curvePublicKey: other.publicKey,
      curveSecretKey: other.secretKey,
    }),
  )
  const refused = new Promise((resolve) => stranger.events.on("handshake:error:auth", resolve))
  stranger.connect(bridge.endpoint)
  expect(await refused).toMatchObject({ error: { status: 400 } })
  const [, named] = await bridge.until(/the client (.{40}) is not in --from-client-keys$/)
  expect(named).toBe(other.publicKey)
  expect(bridge.lines.filter((line) => line.includes("connected"))).toEqual([])
  const push = use(new zeromq.Push(clientOf(from)))
  push.connect(bridge.endpoint)
  await push.send("known")
  expect(String(await pull.receive())).toBe("known")
})

test("strangers without keys lock no client out, and nothing is dialled for them", async () => {
  const pull = use(new lz4.Pull())
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const bridge = await RunningBridge.start(
    ...(["tcp://127.0.0.1:0", pull.lastEndpoint] as [string, string]),
    ...["--from-curve-server", "--from-secret-key", from.file, "--max-connections", "20"],
  )
  const strangers = []
  for (let i = 0; i < 40; i++) {
    const stranger = await rawClient(bridge.endpoint)
    stranger.socket.write(greeting({ mechanism: "CURVE" }).subarray(0, i % 2 ? 64 : 10))
    strangers.push(stranger)
  }
  const push = use(new zeromq.Push(clientOf(from)))
  push.connect(bridge.endpoint)
  await push.send("known")
  expect(String(await pull.receive())).toBe("known")
  await bridge.until(/^#1 connected/)
  expect(pull.lz4.connections).toHaveLength(1)
  expect(strangers.filter(({ ended }) => !ended).length).toBeGreaterThan(10)
})

test("a client is told that the other side speaks ZMTP 3.0, from its second attempt on", async () => {
  const old = await RawServer.start()
  const bridge = await RunningBridge.start(
    ...(["lz4+tcp://127.0.0.1:0", `tcp://127.0.0.1:${old.port}`] as [string, string]),
    ...["--from-curve-server", "--from-secret-key", from.file],
  )
  const subscriber = use(new lz4.Subscriber(clientOf(from)))
  subscriber.subscribe("news")
  subscriber.connect(bridge.endpoint)
  const hello = concat(greeting({ minor: 0 }), ready("PUB"))
  const first = await old.accept()
  first.socket.write(hello)
  await bridge.until(/^#1 error by tcp:.*: this side speaks ZMTP 3\.0; the client was told 3\.1/)
  const second = await old.accept()
  second.socket.write(hello)
  // Version 3.0 has no command for subscriptions.
  const subscription = Buffer.from(frame(Buffer.from("\x01news")))
  await eventually(() => second.received.includes(subscription))
  second.socket.write(message(Buffer.from("news today")))
  expect(String(await subscriber.receive())).toBe("news today")
})

test.each([
  [1001, /part 0 declares 1001 bytes; 1000 left of --max-plain-message-size 1000/],
  [5_000_000, /ERR_ZMTP_CURVE: a MESSAGE is longer than --max-plain-message-size allows/],
])(
  "a message of %d bytes, more than the plain side may send, ends its connection",
  async (bytes, says) => {
    const push = use(new zeromq.Push(clientOf(from)))
    const pull = use(new lz4.Pull() as unknown as AnySocket & lz4.Pull)
    const bridge = await through(
      { connecting: "tcp", curve: "from" },
      push,
      pull,
      ...["--from-curve-server", "--from-secret-key", from.file],
      ...["--max-plain-message-size", "1000"],
    )
    await push.send(Buffer.alloc(1000))
    expect((await pull.receive())[0]?.length).toBe(1000)
    await push.send(Buffer.alloc(bytes))
    await bridge.until(says)
  },
)
