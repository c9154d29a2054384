/** Endpoints that can be bound and connected, and the errors for others. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { describe, expect, test } from "vitest"
import {
  Context,
  Dealer,
  type EndpointOptions,
  Pair,
  Publisher,
  Pull,
  Push,
  Subscriber,
} from "zeromq-lz4"

import { ended } from "../support/ended.js"
import { portOf } from "../support/raw-peer.js"
import { eventually, freePort, join, subscribed, use } from "../support/sockets.js"
import { lz4, tcp, transports } from "../support/transports.js"

const { scheme } = lz4
const loopback =
  Object.entries(networkInterfaces()).find(([, addresses]) => addresses?.[0]?.internal)?.[0] ?? "lo"

const dealer = (options = {}) => use(new Dealer(options))

const expectDelivery = async (from: Dealer | Push, to: Dealer | Pull, text = "through") => {
  await from.send(text)
  expect(String(await to.receive())).toBe(text)
}

describe.each(transports)("over $name", (transport) => {
  const { scheme } = transport

  test.each([
    ["127.0.0.1:*", "127.0.0.1"],
    ["127.0.0.1:0", "127.0.0.1"],
    ["*:*", "0.0.0.0"],
    ["localhost:*", "127.0.0.1"],
    [`${loopback}:*`, "127.0.0.1"],
  ])("%s can be bound, and lastEndpoint has the address", async (address, host) => {
    const [a, b] = [dealer(), dealer()]
    await a.bind(scheme + address)
    const port = portOf(a.lastEndpoint as string)
    expect(a.lastEndpoint).toBe(`${scheme}${host}:${port}`)
    b.connect(`${scheme}127.0.0.1:${port}`)
    expect(b.lastEndpoint).toBe(`${scheme}127.0.0.1:${port}`)
    await expectDelivery(b, a)
  })

  test.each(["[::1]:*", "::1:*"])("%s can be bound with ipv6", async (address) => {
    const [a, b] = [dealer({ ipv6: true }), dealer({ ipv6: true })]
    await a.bind(scheme + address)
    expect(a.lastEndpoint).toBe(`${scheme}[::1]:${portOf(a.lastEndpoint as string)}`)
    b.connect(a.lastEndpoint as string)
    await expectDelivery(b, a)
  })

  test("with ipv6, * accepts peers of both families", async () => {
    const a = dealer({ ipv6: true })
    await a.bind(`${scheme}*:*`)
    const port = portOf(a.lastEndpoint as string)
    expect(a.lastEndpoint).toBe(`${scheme}[::]:${port}`)
    for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
      const b = dealer({ ipv6: true })
      b.connect(`${scheme}${host}:${port}`)
      await expectDelivery(b, a)
    }
  })

  test("a host name can be connected to", async () => {
    const [a, b] = [dealer(), dealer()]
    await a.bind(`${scheme}127.0.0.1:*`)
    b.connect(`${scheme}localhost:${portOf(a.lastEndpoint as string)}`)
    await expectDelivery(b, a)
  })

  test("source;destination connects from the source address", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    use(server)
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    const sourcePort = await freePort()
    const connected = once(server, "connection")
    dealer().connect(`${scheme}127.0.0.2:${sourcePort};127.0.0.1:${port}`)
    const [peer] = await connected
    use({ close: () => peer.destroy() })
    expect([peer.remoteAddress, peer.remotePort]).toEqual(["127.0.0.2", sourcePort])
  })

  test.each([
    ["127.0.0.1", "EINVAL"],
    ["127.0.0.1:", "EINVAL"],
    ["127.0.0.1:port", "EINVAL"],
    ["127.0.0.1:65536", "EINVAL"],
    ["*", "EINVAL"],
    ["", "EINVAL"],
    ["no-such-interface:*", "ENODEV"],
    ["no.such.host.invalid:*", "ENODEV"],
    ["[::1]:*", "ENODEV"], // without ipv6
    ["192.0.2.1:*", "EADDRNOTAVAIL"],
  ])("%s cannot be bound: %s", async (address, code) => {
    const a = dealer()
    const refusal = { code, errno: expect.any(Number), address: scheme + address }
    await expect(a.bind(scheme + address)).rejects.toMatchObject(refusal)
    expect(() => a.bindSync(scheme + address)).toThrow(expect.objectContaining(refusal))
    await a.bind(`${scheme}127.0.0.1:*`) // the socket still works
  })

  test.each([
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:port",
    "127.0.0.1:-1",
    "127.0.0.1:*",
    "*:5000",
    "no_host!:5000",
    ";127.0.0.1:5000",
    "",
  ])("%s cannot be connected to: EINVAL", (address) => {
    expect(() => dealer().connect(scheme + address)).toThrow(
      expect.objectContaining({
        code: "EINVAL",
        errno: expect.any(Number),
        address: scheme + address,
      }),
    )
  })

  test("an endpoint in use gives EADDRINUSE, with the endpoint", async () => {
    const a = dealer()
    await a.bind(`${scheme}127.0.0.1:*`)
    const address = a.lastEndpoint as string
    const refusal = { code: "EADDRINUSE", errno: expect.any(Number), address }
    await expect(dealer().bind(address)).rejects.toMatchObject(refusal)
    await expect(a.bind(address)).rejects.toMatchObject(refusal)
    expect(() => dealer().bindSync(address)).toThrow(expect.objectContaining(refusal))
  })

  test("unbind and disconnect of an unknown endpoint give ENOENT", async () => {
    const address = `${scheme}127.0.0.1:5000`
    const refusal = { code: "ENOENT", errno: expect.any(Number), address }
    await expect(dealer().unbind(address)).rejects.toMatchObject(refusal)
    expect(() => dealer().disconnect(address)).toThrow(expect.objectContaining(refusal))
  })

  test.each(["127.0.0.1", "localhost"])("after bindSync, %s is bound", async (host) => {
    const [a, b] = [dealer(), dealer()]
    a.bindSync(`${scheme}${host}:*`)
    b.connect(a.lastEndpoint as string)
    await expectDelivery(b, a)
  })

  test("a socket is busy while it binds or unbinds", async () => {
    const a = dealer()
    const address = `${scheme}127.0.0.1:${await freePort()}`
    const expectBusy = () => {
      for (const call of [
        () => a.bind(address),
        () => a.bindSync(address),
        () => a.unbind(address),
        () => a.connect(address),
        () => a.disconnect(address),
      ])
        expect(call).toThrow(expect.objectContaining({ code: "EBUSY" }))
    }
    const binding = a.bind(address)
    expectBusy()
    await binding
    const unbinding = a.unbind(address)
    expectBusy()
    await unbinding
  })

  test("a socket may connect before its peer binds", async () => {
    const [a, b] = [dealer({ reconnectInterval: 10 }), dealer()]
    const address = `${scheme}127.0.0.1:${await freePort()}`
    a.connect(address)
    await a.send("early")
    await b.bind(address)
    expect(String(await b.receive())).toBe("early")
  })

  test("unbind accepts no more peers and frees the port", async () => {
    const [a, b, c] = [dealer(), dealer(), dealer()]
    const address = `${scheme}127.0.0.1:${await freePort()}`
    await a.bind(address)
    await a.unbind(address)
    await eventually(() => c.bind(address))
    b.connect(address)
    await expectDelivery(b, c)
  })

  test.each([
    ["Publisher", () => [new Publisher(), new Subscriber()] as const],
    ["Push", () => [new Push(), new Pull()] as const],
    ["Dealer", () => [new Dealer(), new Dealer()] as const],
    ["Pair", () => [new Pair(), new Pair()] as const],
  ])("a %s delivers what it sent in the turn of unbind()", async (_, sockets) => {
    const [a, b] = sockets()
    use(a)
    use(b)
    if (b instanceof Subscriber) b.subscribe()
    const endpoint = await join(a, b, transport)
    await subscribed(a, b)
    a.linger = -1
    // What is sent after a pause waits for the event loop, or for another thread.
    for (const end = performance.now() + 120; performance.now() < end; );
    const sends = ["1", "2", "3"].map((text) => a.send(text))
    await a.unbind(endpoint)
    for (const text of ["1", "2", "3"]) expect(String(await b.receive())).toBe(text)
    await Promise.all(sends)
  })

  test("disconnect closes the connection, and connect opens a new one", async () => {
    const [push, pull] = [use(new Push()), use(new Pull())]
    await pull.bind(`${scheme}127.0.0.1:*`)
    const address = pull.lastEndpoint as string
    push.connect(address)
    await expectDelivery(push, pull, "before")
    push.disconnect(address)
    push.sendTimeout = 0
    await expect(push.send("nobody there")).rejects.toMatchObject({ code: "EAGAIN" })
    push.sendTimeout = -1
    push.connect(address)
    await expectDelivery(push, pull, "after")
  })

  test("a socket may have several endpoints", async () => {
    const [push, pull, other] = [use(new Push()), use(new Pull()), use(new Pull())]
    for (const bound of [pull, pull, other]) {
      await bound.bind(`${scheme}127.0.0.1:*`)
      push.connect(bound.lastEndpoint as string)
    }
    // PUSH sends to its peers in turn.
    for (let i = 0; i < 6; i++) await push.send(String(i))
    const received: Uint8Array[][] = []
    for (const from of [pull, pull, pull, pull, other, other]) received.push(await from.receive())
    expect(received.map(String).sort()).toEqual(["0", "1", "2", "3", "4", "5"])
  })
})

test("one socket may have endpoints of lz4+tcp://, tcp:// and inproc:// beside each other", async () => {
  const pull = use(new Pull())
  await pull.bind("inproc://beside")
  for (const { scheme } of [tcp, lz4]) {
    await pull.bind(`${scheme}127.0.0.1:*`)
    const address = pull.lastEndpoint as string
    expect(address).toMatch(scheme === "tcp://" ? /^tcp:/ : /^lz4\+tcp:/)
    const push = use(new Push())
    push.connect(address)
    push.connect("inproc://beside")
    await push.send("one way")
    await push.send("and the other")
    const received = [await pull.receive(), await pull.receive()]
    expect(received.map(String).sort()).toEqual(["and the other", "one way"])
  }
})

test.each(["tcp://127.0.0.1", "foo://127.0.0.1:5000"])(
  "lastEndpoint is the last successful one, even after %s",
  async (bad) => {
    const [a, b] = [dealer(), dealer()]
    await a.bind(`${scheme}127.0.0.1:*`)
    const bound = a.lastEndpoint as string
    expect(bound).toMatch(/^lz4\+tcp:/)
    await expect(a.bind(bad)).rejects.toThrow()
    expect(a.lastEndpoint).toBe(bound)
    b.connect(bound)
    expect(() => b.connect(bad)).toThrow()
    expect(b.lastEndpoint).toBe(bound)
  },
)

test("other schemes are left to zeromq.js", async () => {
  await expect(dealer().bind("lz4+udp://127.0.0.1:*")).rejects.toMatchObject({
    code: "EPROTONOSUPPORT",
  })
  expect(() => dealer().connect("lz4")).toThrow(expect.objectContaining({ code: "EINVAL" }))
})

describe("options of an endpoint", () => {
  test.each([
    [{ threads: true }, TypeError, /unknown option "threads"/],
    [{ thread: 1 }, TypeError, /thread must be a boolean; got 1/],
    [{ receiveHighWaterBytes: -1 }, RangeError, /receiveHighWaterBytes must be an integer from 0/],
    [{ dictionary: "text" }, TypeError, /dictionary must be a Uint8Array; got "text"/],
    [{ dictionary: new Uint8Array() }, RangeError, /1 to 8192 bytes long; got 0/],
    [{ dictionary: new Uint8Array(8193) }, RangeError, /1 to 8192 bytes long; got 8193/],
    [{ minCompressSize: -1 }, RangeError, /minCompressSize must be/],
    [{ acceleration: 0 }, RangeError, /acceleration must be/],
    [{ maxMessageSize: 1 }, TypeError, /unknown option "maxMessageSize"/],
  ])("%j is refused before anything is bound or connected", async (wrong, type, text) => {
    const options = wrong as EndpointOptions
    const socket = dealer()
    const expectRefusal = (error: unknown) => {
      expect(error).toBeInstanceOf(type)
      expect(String(error)).toMatch(text)
    }
    expect.assertions(7)
    await socket.bind(`${scheme}127.0.0.1:*`, options).catch(expectRefusal)
    for (const call of [
      () => socket.bindSync(`${scheme}127.0.0.1:*`, options),
      () => socket.connect(`${scheme}127.0.0.1:5000`, options),
    ])
      try {
        call()
      } catch (error) {
        expectRefusal(error)
      }
    expect(socket.lz4.connections).toEqual([])
  })
})

interface TcpEntry {
  localPort: number
  remotePort: number
  state: string
  timer: string
}

/** Reads the system's list of TCP connections. */
function tcpEntries(): TcpEntry[] {
  const portOfHex = (address = "") => Number.parseInt(address.split(":")[1] ?? "", 16)
  const lines = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1)
  return lines.map((line) => {
    const [, local, remote, state = "", , timer = ""] = line.trim().split(/\s+/)
    return {
      localPort: portOfHex(local),
      remotePort: portOfHex(remote),
      state,
      timer: timer.slice(0, 2),
    }
  })
}

const ESTABLISHED = "01"
const SYN_SENT = "02"
const KEEP_ALIVE_TIMER = "02"

const keepsAlive = (port: number): boolean =>
  tcpEntries().some(
    ({ localPort, state, timer }) =>
      localPort === port && state === ESTABLISHED && timer === KEEP_ALIVE_TIMER,
  )

describe("options of the socket", () => {
  test.each([
    ["tcpMaxRetransmitTimeout", { tcpMaxRetransmitTimeout: 1000 }],
    ["sendBufferSize", { sendBufferSize: 4096 }],
    ["receiveBufferSize", { receiveBufferSize: 4096 }],
    ["interface", { interface: loopback }],
    ["socksProxy", { socksProxy: "127.0.0.1:1080" }],
  ])("%s is refused with ENOTSUP, and the error names it", async (name, options) => {
    const socket = use(new Pair(options))
    const refusal = {
      code: "ENOTSUP",
      message: expect.stringContaining(name),
    }
    await expect(socket.bind(`${scheme}127.0.0.1:*`)).rejects.toMatchObject(refusal)
    expect(() => socket.connect(`${scheme}127.0.0.1:5000`)).toThrow(
      expect.objectContaining(refusal),
    )
  })

  test.each([
    ["bound", 0],
    ["connected", 1],
  ] as const)("tcpKeepalive is set on the TCP connection of a %s socket", async (_, keeping) => {
    const options = { tcpKeepalive: 1, tcpKeepaliveIdle: 60 }
    const [pull, push] = [
      use(new Pull(keeping === 0 ? options : {})),
      use(new Push(keeping === 1 ? options : {})),
    ]
    await pull.bind(`${scheme}127.0.0.1:*`)
    push.connect(pull.lastEndpoint as string)
    await expectDelivery(push, pull)
    const [connection] = await eventually(
      () => pull.lz4.connections.length > 0 && pull.lz4.connections,
    )
    const ports = [portOf(pull.lastEndpoint as string), connection?.remotePort as number]
    await eventually(() => {
      expect(ports.map(keepsAlive)).toEqual([keeping === 0, keeping === 1])
    })
  })
})

describe.each(transports)("attempts to connect over $name", ({ scheme }) => {
  /** Counts the connections to a port while another socket, with the same timers, makes some attempts. */
  const attemptsAt = async (port: number): Promise<number> => {
    const attempts = { ours: 0, others: 0 }
    const server = createServer((peer) => {
      attempts[peer.remoteAddress === "127.0.0.2" ? "others" : "ours"]++
      peer.destroy()
    })
    await once(use(server).listen(port, "127.0.0.1"), "listening")
    const other = use(new Push({ reconnectInterval: 10 }))
    other.connect(`${scheme}127.0.0.2:0;127.0.0.1:${port}`)
    await eventually(() => attempts.others >= 10)
    return attempts.ours
  }

  test("attempts to connect end with disconnect()", async () => {
    const port = await freePort()
    const push = use(new Push({ reconnectInterval: 10 }))
    push.connect(`${scheme}127.0.0.1:${port}`)
    push.disconnect(`${scheme}127.0.0.1:${port}`)
    // libzmq completes a disconnect when the socket is used, in steps on both threads. Each thread does
    // one thing after another, so it has taken a step before others can exchange a message.
    for (let step = 0; step < 3; step++) {
      const [a, b] = [dealer(), dealer()]
      await a.bind(`${scheme}127.0.0.1:*`)
      b.connect(a.lastEndpoint as string)
      await expectDelivery(b, a)
      void push.writable
    }
    expect(await attemptsAt(port)).toBe(0)
  })

  test("attempts to connect end with close()", async () => {
    const port = await freePort()
    const context = new Context({ maxSockets: 1 })
    const push = use(new Push({ context, reconnectInterval: 10 }))
    push.connect(`${scheme}127.0.0.1:${port}`)
    push.close()
    await ended(context)
    expect(await attemptsAt(port)).toBe(0)
  })

  test("attempts to connect end after the first with reconnectInterval −1", async () => {
    const port = await freePort()
    const push = use(new Push({ reconnectInterval: -1 }))
    const refused = new Promise((resolve) => push.events.on("close", resolve))
    push.connect(`${scheme}127.0.0.1:${port}`)
    await refused
    expect(await attemptsAt(port)).toBe(0)
  })

  test("attempts to connect end after connectTimeout", async () => {
    // A server that never accepts: when its queue is full, it does not answer.
    const script = `
      const server = require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
        require("fs").writeSync(1, String(server.address().port))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })
    use({ close: () => child.kill("SIGKILL") })
    const port = Number(String((await once(child.stdout, "data"))[0]))
    const waiting = () =>
      tcpEntries().filter(({ remotePort, state }) => remotePort === port && state === SYN_SENT)
    await eventually(() => {
      const filler = connect(port, "127.0.0.1").on("error", () => {})
      use({ close: () => filler.destroy() })
      return waiting().length > 0
    })
    const fillers = new Set(waiting().map(({ localPort }) => localPort))

    const push = use(new Push({ connectTimeout: 50, reconnectInterval: 10 }))
    push.connect(`${scheme}127.0.0.1:${port}`)
    const attempts = new Set<number>()
    await eventually(() => {
      for (const { localPort } of waiting()) if (!fillers.has(localPort)) attempts.add(localPort)
      return attempts.size >= 3
    })
  })

  test("start again after a connection is lost", async () => {
    const push = use(new Push({ reconnectInterval: 10 }))
    const server = use(createServer((peer) => peer.destroy())).listen(0, "127.0.0.1")
    await once(server, "listening")
    push.connect(`${scheme}127.0.0.1:${(server.address() as { port: number }).port}`)
    await once(server, "connection")
    await once(server, "connection")
  })
})
