/** Messages about connections in node:diagnostics_channel and NODE_DEBUG. */
import { AsyncLocalStorage } from "node:async_hooks"
import { channel, subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { closeSync, openSync } from "node:fs"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { beforeEach, describe, expect, onTestFinished, test } from "vitest"
import {
  type ConnectionMessage,
  channels,
  Dealer,
  type DiagnosticsMessage,
  type LevelMessage,
  type PeerMessage,
  type ProtocolErrorMessage,
  Publisher,
  Pull,
  Push,
  type ReconnectMessage,
  type SocketOptions,
  Subscriber,
} from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { Relay } from "../support/relay.js"
import { noise, Script } from "../support/running-script.js"
import { eventually, freePort, use } from "../support/sockets.js"
import { stalledPeer } from "../support/stalled-peer.js"
import { isOnThreads, lz4 } from "../support/transports.js"
import { handshake, message } from "../support/zmtp.js"

const address = `${lz4.scheme}127.0.0.1:*`

/** Collects a channel's messages about these sockets until the test ends; sockets of other tests may still be closing. */
function heard<M extends DiagnosticsMessage>(
  name: string,
  ...sockets: { readonly lz4: object }[]
): M[] {
  const messages: M[] = []
  listen<M>(name, (message) => {
    if (sockets.some(({ lz4 }) => lz4 === message.lz4)) messages.push(message)
  })
  return messages
}

function listen<M>(name: string, call: (message: M) => void): void {
  const listener = (message: unknown) => call(message as M)
  subscribe(`zeromq-lz4:${name}`, listener)
  onTestFinished(() => {
    unsubscribe(`zeromq-lz4:${name}`, listener)
  })
}

/** Starts a server that treats each connection in this way, and returns its port. */
async function serverWith(treat: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    onTestFinished(() => {
      socket.destroy()
    })
    treat(socket.on("error", () => {}))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

describe("channels", () => {
  let pull: Pull
  let push: Push

  beforeEach(async () => {
    pull = use(new Pull())
    push = use(new Push({ reconnectInterval: 1 }))
    await pull.bind(address)
  })

  test("report accepted, connected and closed connections", async () => {
    const messages = heard<ConnectionMessage>("connection", pull, push)
    const endpoint = pull.lastEndpoint as string
    push.connect(endpoint)
    await push.send("text")
    await pull.receive()
    await eventually(() => messages.length === 2)
    const [ofPull] = pull.lz4.connections
    const [ofPush] = push.lz4.connections
    push.close()
    await eventually(() => messages.length === 4)
    const counts = { messages: 1, plainBytes: 4, wireBytes: 8 }
    const nothing = { messages: 0, plainBytes: 0, wireBytes: 0 }
    const about = (socket: Pull | Push, socketType: string, remotePort: number | undefined) => ({
      socketType,
      endpoint,
      lz4: socket.lz4,
      remoteAddress: "127.0.0.1",
      remotePort,
    })
    const [accepted, received] = [about(pull, "PULL", ofPull?.remotePort), { received: counts }]
    const [connected, sent] = [about(push, "PUSH", ofPush?.remotePort), { sent: counts }]
    expect(messages.filter(({ lz4 }) => lz4 === pull.lz4)).toEqual([
      { ...accepted, state: "accepted" },
      { ...accepted, state: "closed", error: undefined, sent: nothing, ...received },
    ])
    expect(messages.filter(({ lz4 }) => lz4 === push.lz4)).toEqual([
      { ...connected, state: "connected" },
      { ...connected, state: "closed", error: undefined, received: nothing, ...sent },
    ])
  })

  test("report the network error that ended a connection", async () => {
    const messages = heard<ConnectionMessage>("connection", pull, push)
    const relay = use(await Relay.before(pull.lastEndpoint as string))
    push.connect(relay.endpoint)
    await push.send("text")
    await pull.receive()
    relay.reset()
    await eventually(() =>
      messages.some(
        ({ lz4, state, error }) =>
          lz4 === pull.lz4 &&
          state === "closed" &&
          (error as NodeJS.ErrnoException)?.code === "ECONNRESET",
      ),
    )
  })

  test("report peers that break a rule, before their connection is closed", async () => {
    const errors = heard<ProtocolErrorMessage>("protocol-error", pull)
    const order: string[] = []
    for (const name of ["protocol-error", "connection"])
      listen<DiagnosticsMessage>(name, ({ lz4 }) => {
        if (lz4 === pull.lz4) order.push(name)
      })
    const endpoint = pull.lastEndpoint as string
    const rubbish = message(Buffer.from("no sentinel"))
    const { address: peer, closed } = use(await rawZmtpPeer(endpoint, "PUSH", rubbish))
    await closed
    await eventually(() => order.length === 3)
    expect(order).toEqual(["connection", "protocol-error", "connection"])
    expect(errors).toMatchObject([{ socketType: "PULL", endpoint, lz4: pull.lz4, ...peer }])
    expect(errors[0]?.error.code).toBe("ERR_LZ4_UNKNOWN_SENTINEL")
  })

  test("report when a socket will reconnect", async () => {
    const messages = heard<ReconnectMessage>("reconnect", push)
    const endpoint = `${lz4.scheme}127.0.0.1:${await freePort()}`
    push.connect(endpoint)
    await eventually(() => messages.length >= 2)
    for (const { intervalMs, error, ...about } of messages) {
      expect(intervalMs).toBeGreaterThan(0)
      expect(error).toMatchObject({
        code: "ECONNREFUSED",
        message: expect.stringMatching(/^connect ECONNREFUSED 127/),
      })
      expect(about).toEqual({ socketType: "PUSH", endpoint, lz4: push.lz4 })
    }
  })

  test.each<
    [what: string, address: () => Promise<string>, options: SocketOptions<Push>, error: object]
  >([
    ["an unknown host", async () => "no-such-host.invalid:5555", {}, { code: "ENOTFOUND" }],
    ["no host", async () => ":5555", {}, { code: "ENODEV" }],
    ["an IPv6 address without the option", async () => "[::1]:5555", {}, { code: "ENODEV" }],
    [
      "a source that is no address of this machine",
      async () => `192.0.2.1:0;127.0.0.1:${await freePort()}`,
      {},
      { code: "EADDRNOTAVAIL" },
    ],
    [
      "a name of which no address answers",
      async () => `localhost:${await freePort()}`,
      { ipv6: true },
      { code: "ECONNREFUSED", message: expect.stringContaining("connect ECONNREFUSED 127.0.0.1:") },
    ],
    [
      "a peer that ends before the handshake",
      async () => `127.0.0.1:${await serverWith((socket) => socket.end())}`,
      {},
      {
        code: "EPIPE",
        message: "Broken pipe: the peer closed the connection during the handshake",
      },
    ],
    [
      "a peer that resets the connection during the handshake",
      async () =>
        `127.0.0.1:${await serverWith((socket) => socket.once("data", () => socket.resetAndDestroy()))}`,
      {},
      { code: "ECONNRESET" },
    ],
    [
      "a peer that is silent during the handshake",
      async () => `127.0.0.1:${await serverWith(() => {})}`,
      { handshakeInterval: 20 },
      { code: "ETIMEDOUT" },
    ],
  ])("report why, after %s", async (_, address, options, error) => {
    Object.assign(push, options)
    const messages = heard<ReconnectMessage>("reconnect", push)
    const closed: unknown[] = []
    push.events.on("close", (event) => closed.push(event))
    push.connect(`${lz4.scheme}${await address()}`)
    await eventually(() => messages.length >= 2)
    expect(messages[0]?.error).toMatchObject(error)
    // The event follows only if the address was found.
    for (const event of closed) expect(event).toMatchObject({ type: "close", error })
  })

  test("report the network error after which a socket reconnects, and none if the peer has closed", async () => {
    const messages = heard<ReconnectMessage>("reconnect", push)
    const relay = use(await Relay.before(pull.lastEndpoint as string))
    push.connect(relay.endpoint)
    await push.send("text")
    await pull.receive()
    relay.reset()
    await eventually(() => messages.length === 1)
    expect(messages[0]?.error).toMatchObject({ code: "ECONNRESET" })
    const another = use(new Push({ reconnectInterval: 1 }))
    const ofAnother = heard<ReconnectMessage>("reconnect", another)
    another.connect(pull.lastEndpoint as string)
    await another.send("text")
    await pull.receive()
    pull.close()
    await eventually(() => ofAnother.length > 0)
    expect(ofAnother[0]?.error).toBeUndefined()
  })

  test("call listeners and subscribers in the async context in which the socket was created", async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen = new Set<string>()
    const note = (what: string) => seen.add(`${what} ${storage.getStore()}`)
    const [a, b] = storage.run("creation", () => [
      use(new Pull()),
      use(new Push({ reconnectInterval: 1 })),
    ])
    const sockets: unknown[] = [a.lz4, b.lz4]
    await storage.run("another", async () => {
      for (const name of ["connection", "protocol-error", "reconnect"])
        listen<DiagnosticsMessage>(name, ({ lz4 }) => sockets.includes(lz4) && note(name))
      for (const one of [a.lz4, b.lz4])
        for (const type of ["connect", "disconnect", "protocolError"] as const)
          one.on(type, () => note(type))
      await a.bind(address)
      b.connect(a.lastEndpoint as string)
      await b.send("text")
      await a.receive()
      const rubbish = message(Buffer.from("no sentinel"))
      await use(await rawZmtpPeer(a.lastEndpoint as string, "PUSH", rubbish)).closed
      a.close()
    })
    await eventually(() => seen.size >= 6)
    expect([...seen].sort()).toEqual([
      "connect creation",
      "connection creation",
      "disconnect creation",
      "protocol-error creation",
      "protocolError creation",
      "reconnect creation",
    ])
  })

  test.each([{}, { acceptPlain: true, thread: false }, { acceptPlain: true, thread: true }])(
    "report a new level at the same time as `connections`: %o",
    async (options) => {
      const slow = use(new Push({ sendHighWaterMark: 4 }))
      const messages = heard<LevelMessage>("level", slow)
      const server = createServer((socket) => {
        socket.on("error", () => {}).pause()
        socket.write(handshake("PULL", 2))
        // The speed of a network of 40 Mbit/s.
        const timer = setInterval(() => {
          socket.read(Math.min(50_000, socket.readableLength))
        }, 10)
        socket.on("close", () => clearInterval(timer))
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      onTestFinished(() => {
        server.close()
      })
      const { port } = server.address() as { port: number }
      const shaken = new Promise((resolve) => slow.events.on("handshake", resolve))
      slow.connect(`${lz4.scheme}127.0.0.1:${port}`, options)
      await shaken
      expect(slow.lz4.connections[0]?.sent.level).toBe(0)
      const part = payload("json", 131_072)
      while (messages.length === 0) await slow.send(part)
      const [{ level, previous, ...about }] = messages as [LevelMessage]
      const { socketType, endpoint, lz4: of, remotePort } = about
      expect([socketType, endpoint, remotePort]).toEqual([
        "PUSH",
        `${lz4.scheme}127.0.0.1:${port}`,
        port,
      ])
      expect(of).toBe(slow.lz4)
      expect(previous).toBe(0)
      expect(level).not.toBe(previous)
      await eventually(() => {
        expect(slow.lz4.connections[0]?.sent.level).toBe(messages.at(-1)?.level)
      })
      for (const [i, { previous }] of messages.slice(1).entries())
        expect(previous).toBe(messages[i]?.level)
    },
  )

  test("let a subscriber send in the callback for a new level", async () => {
    const slow = use(new Push({ sendHighWaterMark: 4 }))
    slow.connect(pull.lastEndpoint as string)
    let inside: Promise<void> | undefined
    listen<LevelMessage>("level", ({ lz4 }) => {
      // Refused if another send is pending.
      if (lz4 === slow.lz4) inside ??= (async () => slow.send("inside"))().catch(() => {})
    })
    const part = payload("json", 131_072)
    const received = { whole: 0, inside: 0 }
    const receiving = (async () => {
      for await (const [body] of pull) {
        if (body?.equals(part)) received.whole++
        else if (body?.toString() === "inside") received.inside++
        else if (body?.toString() === "last") return
        else throw new Error("another message")
      }
    })()
    let sent = 0
    for (; !inside; sent++) await slow.send(part)
    await inside
    await slow.send("last")
    await receiving
    expect(received.whole).toBe(sent)
    expect(received.inside).toBeLessThanOrEqual(1)
  })

  test("have no subscribers in the package itself", () => {
    for (const name of ["connection", "protocol-error", "reconnect", "level"])
      expect(channel(`zeromq-lz4:${name}`).hasSubscribers).toBe(false)
  })
})

const PROGRAM = `
  const pull = new zmq.Pull()
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const push = new zmq.Push({ linger: 0 })
  const endpoint = pull.lastEndpoint
  push.connect(endpoint)
  await push.send("text")
  await pull.receive()
  console.log(endpoint)
  pull.close()
  await new Promise((resolve) => push.events.on("connect:retry", resolve))
  push.close()
`

/** A publisher, and a plain subscriber that waits in vain. */
const SILENT = `
  const [pub, sub] = [new zmq.Publisher(), new zmq.Subscriber()]
  await pub.bind("${address}")
  sub.connect(pub.lastEndpoint.replace("lz4+", ""))
  await sub.receive()
`

describe("a peer that announced nothing, and sends nothing", () => {
  const plainAddress = (socket: Publisher | Push) =>
    (socket.lastEndpoint as string).replace("lz4+tcp", "tcp")

  /** Connects a plain peer to another endpoint of the socket, and waits for its report, which comes last. */
  async function lastReport(socket: Publisher, reports: PeerMessage[]): Promise<void> {
    await socket.bind(address)
    const { lastEndpoint } = socket
    use(new Subscriber()).connect(plainAddress(socket))
    await eventually(() => reports.some(({ endpoint }) => endpoint === lastEndpoint))
  }

  test("is reported once for each endpoint, although it subscribes", async () => {
    const pub = use(new Publisher())
    await pub.bind(address)
    const endpoint = pub.lastEndpoint as string
    const reports = heard<PeerMessage>("silent-peer", pub)
    for (let i = 0; i < 2; i++) {
      const sub = use(new Subscriber())
      sub.subscribe("topic")
      sub.connect(plainAddress(pub))
    }
    await eventually(() => reports.length === 1)
    expect(reports[0]).toMatchObject({ socketType: "PUB", endpoint, remoteAddress: "127.0.0.1" })
    const later = use(new Subscriber())
    later.connect(plainAddress(pub))
    await eventually(() => pub.lz4.connections.length === 3)
    await lastReport(pub, reports)
    expect(reports).toHaveLength(2)
  })

  test("is reported by the side that connected", async () => {
    const pull = use(new Pull())
    await pull.bind("tcp://127.0.0.1:*")
    const push = use(new Push())
    const reports = heard<PeerMessage>("silent-peer", push)
    const endpoint = `lz4+${pull.lastEndpoint}`
    push.connect(endpoint)
    await eventually(() => reports.length === 1)
    expect(reports).toMatchObject([{ socketType: "PUSH", endpoint }])
  })

  test("is reported in the async context in which the socket was created", async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const pull = use(new Pull())
    await pull.bind("tcp://127.0.0.1:*")
    const push = storage.run("creation", () => use(new Push()))
    const { lz4 } = push
    listen<PeerMessage>("silent-peer", (report) => {
      if (report.lz4 === lz4) seen.push(storage.getStore())
    })
    storage.run("another", () => push.connect(`lz4+${pull.lastEndpoint}`))
    await eventually(() => seen.length > 0)
    expect(seen).toEqual(["creation"])
  })

  test("is not reported if it has gone, has sent a message, reads the format or may be plain", async () => {
    const pub = use(new Publisher())
    const [dealer, plain] = [use(new Dealer()), use(new Push())]
    const reports = heard<PeerMessage>("silent-peer", pub, dealer, plain)
    await pub.bind(address)
    const gone = await rawZmtpPeer(pub.lastEndpoint as string, "SUB")
    await eventually(() => pub.lz4.connections.length === 1)
    gone.close()
    await eventually(() => pub.lz4.connections.length === 0)
    const reads = use(new Subscriber())
    reads.connect(pub.lastEndpoint as string)

    await dealer.bind(address)
    const part = Buffer.concat([Buffer.alloc(4), Buffer.from("text")])
    use(await rawZmtpPeer(dealer.lastEndpoint as string, "DEALER", message(part)))
    expect((await dealer.receive()).map(String)).toEqual(["text"])

    await plain.bind(address, { acceptPlain: true })
    use(new Pull()).connect(plainAddress(plain))
    await eventually(() => plain.lz4.connections.some(({ scheme }) => scheme === "tcp"))
    await eventually(() => pub.lz4.connections.some(({ scheme }) => scheme === "lz4+tcp"))
    await lastReport(pub, reports)
    expect(reports).toHaveLength(1)
  })
})

test("the exported channels are those of node:diagnostics_channel", () => {
  expect({ ...channels }).toEqual({
    connection: channel("zeromq-lz4:connection"),
    protocolError: channel("zeromq-lz4:protocol-error"),
    reconnect: channel("zeromq-lz4:reconnect"),
    level: channel("zeromq-lz4:level"),
    silentPeer: channel("zeromq-lz4:silent-peer"),
  })
  for (const one of Object.values(channels)) expect(one).toBe(channel(one.name))
})

describe("NODE_DEBUG=zeromq-lz4", () => {
  const lines = async (environment: string) => {
    const before = process.env.NODE_DEBUG
    process.env.NODE_DEBUG = environment
    try {
      const script = new Script(PROGRAM, {})
      const endpoint = await script.line()
      await script.ended()
      return {
        endpoint,
        lines: script.errors.split("\n").filter((line) => /ZEROMQ-LZ4/.test(line)),
      }
    } finally {
      if (before === undefined) delete process.env.NODE_DEBUG
      else process.env.NODE_DEBUG = before
    }
  }

  test("prints that a peer may speak tcp://", async () => {
    const before = process.env.NODE_DEBUG
    process.env.NODE_DEBUG = "zeromq-lz4"
    const script = new Script(SILENT, {})
    if (before === undefined) delete process.env.NODE_DEBUG
    else process.env.NODE_DEBUG = before
    onTestFinished(() => void script.process.kill())
    await eventually(() => script.errors.includes("has sent nothing: if it is a tcp:// peer"))
  })

  test("prints for which endpoints with CURVE nothing is compressed, as that was not asked for", async () => {
    const script = new Script(
      `const { publicKey, secretKey } = zmq.curveKeyPair();
      const push = new zmq.Push({ curveServerKey: publicKey, curvePublicKey: publicKey, curveSecretKey: secretKey });
      const options = [{}, { level: "none" }, { level: 3 }, { autoDictionary: true }];
      options.forEach((each, i) => push.connect("lz4+tcp://127.0.0.1:" + (i + 1), each));
      process.exit()`,
      {},
      "unlimited",
      { NODE_DEBUG: "zeromq-lz4" },
    )
    await script.ended()
    const lines = script.errors.match(/PUSH .* compresses nothing with CURVE/g)
    expect(lines).toEqual(["PUSH lz4+tcp://127.0.0.1:1: compresses nothing with CURVE"])
  })

  test("prints a line for each message", async () => {
    const { endpoint, lines: printed } = await lines("zeromq-lz4")
    const about = (type: string) => (line: string) => line.includes(`: ${type} ${endpoint}: `)
    const says = (type: string) =>
      printed
        .filter(about(type))
        .map((line) => line.slice(line.indexOf(endpoint) + endpoint.length + 2))
    expect(says("PULL")).toEqual([
      expect.stringMatching(/^accepted 127\.0\.0\.1:\d+$/),
      expect.stringMatching(
        /^closed 127\.0\.0\.1:\d+, sent 0 messages \(0 bytes as 0\), received 1 messages \(4 bytes as 8\)$/,
      ),
    ])
    const peer = endpoint.slice(lz4.scheme.length)
    const [connected, closed, again] = says("PUSH")
    expect(connected).toBe(`connected to ${peer}`)
    expect(closed).toContain(`closed ${peer}, sent 1 messages (4 bytes as 8)`)
    expect(again).toMatch(/^tries to connect again in \d+ ms( \(.*\))?$/)
  })

  test("with another name prints nothing", async () => {
    expect((await lines("net,zeromq")).lines).toEqual([])
  })
})

describe.each(isOnThreads ? [] : [false, true])("on a full disk, with thread %s", (thread) => {
  const full = (source: string, argument: object, environment: Record<string, string> = {}) => {
    const disk = openSync("/dev/full", "w")
    onTestFinished(() => closeSync(disk))
    return new Script(source, { thread, ...argument }, "unlimited", environment, { errors: disk })
  }

  /** Warns of a plain peer, which fails, and waits until it has. */
  const warns = `const { thread } = argument;
    const failed = new Promise((resolve) => process.once("warning", resolve));
    const pull = new zmq.Pull();
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread });
    const push = new zmq.Push({ linger: 0 });
    push.connect(pull.lastEndpoint.slice("lz4+".length));
    await push.send("hello");
    const alive = setInterval(() => {}, 1000);
    await failed;
    clearInterval(alive);
    push.close();
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);`

  test.each(["", "zeromq-lz4"])(
    "a warning does not end a process with NODE_DEBUG=%s",
    async (NODE_DEBUG) => {
      const script = full(`${warns} console.log("goes on")`, {}, { NODE_DEBUG })
      expect(await script.line()).toBe("goes on")
      expect(await script.ended()).toEqual({ code: 0, signal: null })
    },
  )

  test("a warning does not end a process that has a worker, whose errors Node pipes to it", async () => {
    const source = `import { Worker } from "node:worker_threads";
      const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
      ${warns} await worker.terminate(); console.log("goes on")`
    const script = full(source, {})
    expect(await script.line()).toBe("goes on")
    expect(await script.ended()).toEqual({ code: 0, signal: null })
  })

  test("nor does the warning that a process waits for its messages to be delivered", async () => {
    const { endpoint } = await stalledPeer()
    const source = `const push = new zmq.Push({ linger: 1000, sendHighWaterMark: 0 });
      push.connect(argument.endpoint, { thread: argument.thread });
      ${noise} for (let i = 0; i < 20; i++) await push.send(noise(1 << 20));
      push.close();
      process.on("exit", (code) => console.log("exits", code))`
    const script = full(source, { endpoint })
    expect(await script.line()).toBe("exits 0")
    expect(await script.ended()).toEqual({ code: 0, signal: null })
  })

  // After an error, Node 20 does not ignore the next one of console.error(), whoever wrote.
  test("the first console.error() does not end a process, as without this package", async () => {
    const source = `await new zmq.Pull().bind("lz4+tcp://127.0.0.1:*", { thread: argument.thread });
      console.error("text");
      for (let i = 0; i < 3; i++) await new Promise(setImmediate);
      console.log("goes on")`
    expect(await full(source, {}).line()).toBe("goes on")
  })

  test("an error of the program's own write is not hidden", async () => {
    const source = `${warns} process.on("uncaughtException", ({ code }) => console.log(code));
      process.stderr.write("text")`
    expect(await full(source, {}).line()).toBe("ENOSPC")
  })
})
