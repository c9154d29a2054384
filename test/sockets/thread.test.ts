/**
 * Endpoints with `thread: true`, whose connections are on a worker thread. The other suites, which
 * also run with threads, test all that does not depend on it.
 */
import { once } from "node:events"
import { connect } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import {
  type Connection,
  Context,
  Dealer,
  type EndpointOptions,
  Pair,
  type ProtocolErrorEvent,
  Publisher,
  Pull,
  Push,
  Reply,
  Request,
  Router,
  Subscriber,
} from "zeromq-lz4"
import { ProtocolError } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { ownHost } from "../support/own-host.mjs"
import { portOf, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { runScript } from "../support/script.js"
import { sleep } from "../support/sleep.js"
import { anyPort, eventually, freePort, subscribed, use } from "../support/sockets.js"
import { ANY, joinWith, noise, plain, text, threaded } from "../support/threads.js"
import { lz4, times } from "../support/transports.js"
import { concat, plainPart } from "../support/wire.js"
import { COMMAND, frame, frameHead, handshake, LONG, message } from "../support/zmtp.js"

const MIB = 2 ** 20
const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")

const expectMessage = (received: readonly Buffer[], sent: readonly (Uint8Array | string)[]) => {
  expect(received.map(({ length }) => length)).toEqual(sent.map(({ length }) => length))
  for (const [i, part] of received.entries())
    expectSameBytes(part, Buffer.from(sent[i] as Uint8Array))
}

const pairs = [
  { what: "two sockets with a thread", bound: threaded, connected: threaded },
  { what: "one with a thread and one that connects without", bound: threaded, connected: plain },
  {
    what: "one without a thread and one that connects with one",
    bound: plain,
    connected: threaded,
  },
]

const MESSAGES: { what: string; parts: (Uint8Array | string)[] }[] = [
  { what: "a small one", parts: ["text"] },
  { what: "an empty one", parts: [""] },
  {
    what: "many parts, some of them empty",
    parts: ["", "a", "", noise, payload("json", 3000), ""],
  },
  { what: "20 MB that shrink", parts: ["head", "", payload("json", 20_000_000)] },
  { what: "20 MB that do not", parts: [payload("random", 20_000_000), "tail"] },
]

describe.each(pairs)("$what exchange messages", ({ bound, connected }) => {
  test.each(MESSAGES)("PUSH and PULL: $what", async ({ parts }) => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    await joinWith(pull, push, bound, connected)
    await push.send(parts)
    expectMessage(await pull.receive(), parts)
    await push.send("next")
    expect(await text(pull)).toBe("next")
  })

  test.each(MESSAGES)("REQ and REP, there and back: $what", async ({ parts }) => {
    const [reply, request] = [use(new Reply()), use(new Request())]
    await joinWith(reply, request, bound, connected)
    for (const message of [parts, ["next"]]) {
      await request.send(message)
      expectMessage(await reply.receive(), message)
      await reply.send(message)
      expectMessage(await request.receive(), message)
    }
  })

  test("3,000 messages in both directions at once, with marks of 10, arrive in order", async () => {
    const options = { sendHighWaterMark: 10, receiveHighWaterMark: 10 }
    const [a, b] = [use(new Pair(options)), use(new Pair(options))]
    await joinWith(a, b, bound, connected)
    const parts = (i: number) => [String(i), payload("json", (i * 37) % 2000)]
    const send = async (socket: Pair) => {
      for (let i = 0; i < 3000; i++) await socket.send(parts(i))
    }
    const receive = async (socket: Pair) => {
      for (let i = 0; i < 3000; i++) {
        const [number, part] = await socket.receive()
        if (String(number) !== String(i)) expect(String(number)).toBe(String(i))
        if (part?.length !== (i * 37) % 2000) expect(part?.length).toBe((i * 37) % 2000)
      }
    }
    await Promise.all([send(a), send(b), receive(a), receive(b)])
  })
})

test("messages right after a peer's handshake are received, on any connection", async () => {
  const pull = use(new Pull({ context: new Context() }))
  await pull.bind(ANY, threaded)
  for (let i = 1; i <= 8; i++) {
    const hello = concat(handshake("PUSH"), message(plainPart(ascii(`of ${i}`))))
    use(await rawPeer(pull.lastEndpoint as string, hello))
    expect(await text(pull)).toBe(`of ${i}`)
  }
})

describe("with a thread", () => {
  test("a PUB delivers all messages to all subscribers, over several endpoints and threads", async () => {
    const context = new Context({ ioThreads: 2 })
    const publisher = use(new Publisher({ context, sendHighWaterMark: 0 }))
    const endpoints: string[] = []
    for (const options of [threaded, threaded, plain]) {
      await publisher.bind(ANY, options)
      endpoints.push(publisher.lastEndpoint as string)
    }
    const subscribers = [...endpoints, ...endpoints].map((endpoint, i) => {
      const subscriber = use(new Subscriber({ receiveHighWaterMark: 0 }))
      subscriber.subscribe(i < 3 ? "" : "even")
      subscriber.connect(endpoint, i % 2 ? threaded : plain)
      return subscriber
    })
    for (const [i, subscriber] of subscribers.entries())
      await subscribed(publisher, subscriber, i < 3 ? "" : "even")
    const total = 1000
    for (let i = 0; i < total; i++)
      await publisher.send([i % 2 ? "odd" : "even", `${i}`, payload("json", (i * 31) % 3000)])
    const receive = async (subscriber: Subscriber, step: number) => {
      const received: string[] = []
      const expected: string[] = []
      for (let i = 0; i < total; i += step)
        expected.push(`${i % 2 ? "odd" : "even"} ${i} ${(i * 31) % 3000}`)
      while (received.length < expected.length) {
        const [topic, number, part] = await subscriber.receive()
        if (number !== undefined) received.push(`${topic} ${number} ${part?.length}`) // not a probe
      }
      expect(received).toEqual(expected)
    }
    await Promise.all(subscribers.map((subscriber, i) => receive(subscriber, i < 3 ? 1 : 2)))
  })

  test.each(pairs)(
    "conflate keeps the latest message only: $what",
    async ({ bound, connected }) => {
      const [push, pull] = [use(new Push({ conflate: true })), use(new Pull({ conflate: true }))]
      await joinWith(pull, push, bound, connected)
      for (let i = 0; i < 1000; i++) await push.send(`${i}`)
      let newest = -1
      let reads = 0
      while (newest < 999) {
        const received = Number(await text(pull))
        expect(received).toBeGreaterThan(newest)
        newest = received
        reads++
      }
      expect(reads).toBeLessThan(1000)
    },
  )

  test("a PUB sends messages that fill a batch, and more, between small ones", async () => {
    const publisher = use(new Publisher({ sendHighWaterMark: 0 }))
    await publisher.bind(ANY, threaded)
    const subscribers = [plain, threaded].map((options) => {
      const subscriber = use(new Subscriber({ receiveHighWaterMark: 0 }))
      subscriber.subscribe("")
      subscriber.connect(publisher.lastEndpoint as string, options)
      return subscriber
    })
    for (const subscriber of subscribers) await subscribed(publisher, subscriber)
    const sizes = [70_000, 10, 130_000, 9000, 65_000, 65_530, 65_536, 1, 300_000]
    const bodyOf = (i: number) => Buffer.alloc(sizes[i % sizes.length] as number, i & 0xff)
    for (let i = 0; i < 300; i++) {
      await publisher.send([String(i), bodyOf(i)])
      if (i % 50 === 0) await sleep(15) // the thread checks for messages every 10 ms
    }
    for (const subscriber of subscribers)
      for (let i = 0; i < 300; i++) {
        let [number, body] = await subscriber.receive()
        while (String(number).endsWith("probe")) [number, body] = await subscriber.receive()
        expect(String(number)).toBe(String(i))
        expect(bodyOf(i).equals(body as Buffer)).toBe(true)
      }
  })

  test("a socket with immediate waits for a connection, and again after losing it", async () => {
    const port = await freePort()
    const endpoint = `lz4+tcp://127.0.0.1:${port}`
    const push = use(new Push({ immediate: true, reconnectInterval: 10, sendTimeout: 50 }))
    push.connect(endpoint, threaded)
    const refused = { code: "EAGAIN" }
    await expect(push.send("too early")).rejects.toMatchObject(refused)
    for (let i = 0; i < 2; i++) {
      const pull = use(new Pull())
      await eventually(() => pull.bind(endpoint, plain))
      await eventually(() => push.send("in time"))
      expect(await text(pull)).toBe("in time")
      const lost = once(push.lz4, "disconnect")
      pull.close()
      await lost
      await expect(push.send("too late")).rejects.toMatchObject(refused)
    }
  })

  const good = message(plainPart(ascii("good")))
  test.each([
    ["ERR_LZ4_BUDGET_EXCEEDED", message(plainPart(new Uint8Array(2000)))],
    ["ERR_LZ4_UNKNOWN_SENTINEL", message(ascii("what is it"))],
    ["ERR_LZ4_PART_TOO_SHORT", message(plainPart(ascii("1")), ascii("x"))],
    ["ERR_ZMTP_FRAME", frame(plainPart(ascii("1")), 8)],
    [
      "ERR_ZMTP_COMMAND",
      concat(Uint8Array.of(COMMAND | LONG), frameHead(2 * MIB).subarray(1), ascii("\x07UNKNOWN")),
    ],
    ["ERR_ZMTP_PARTS", Buffer.alloc(65_537 * 6, frame(plainPart(ascii("")), 1))],
  ])(
    "a peer is disconnected with %s, and its earlier messages are delivered",
    async (code, bytes) => {
      const pull = use(new Pull({ maxMessageSize: 1000 }))
      await pull.bind(ANY, threaded)
      const [reported, disconnected] = [
        once(pull.lz4, "protocolError") as Promise<[ProtocolErrorEvent]>,
        once(pull.lz4, "disconnect"),
      ]
      const hello = concat(handshake("PUSH"), good, good, bytes)
      const peer = use(await rawPeer(pull.lastEndpoint as string, hello))
      expect(await text(pull)).toBe("good")
      expect(await text(pull)).toBe("good")
      const [{ error, ...who }] = await reported
      expect(error).toBeInstanceOf(ProtocolError)
      expect(error.name).toBe("ProtocolError")
      expect(error.code).toBe(code)
      expect(error.message).toMatch(new RegExp(`^${code}: .`))
      expect(who).toEqual(peer.address)
      expect(await disconnected).toEqual([{ ...peer.address, error: undefined }])
      await peer.closed
      const honest = use(new Push())
      honest.connect(pull.lastEndpoint as string, plain)
      await honest.send("honest")
      expect(await text(pull)).toBe("honest")
    },
  )

  test("a peer of another protocol is disconnected in the handshake", async () => {
    const pull = use(new Pull())
    await pull.bind(ANY, threaded)
    const reported = once(pull.lz4, "protocolError")
    const hello = ascii("GET / HTTP/1.1\r\n\r\n")
    const peer = use(await rawPeer(pull.lastEndpoint as string, hello))
    const [{ error }] = await reported
    expect(error).toBeInstanceOf(ProtocolError)
    expect(error.code).toBe("ERR_ZMTP_GREETING")
    await peer.closed
  })

  test("a peer whose message the socket type refuses is disconnected with ERR_ZMTP_MESSAGE", async () => {
    const request = use(new Request())
    await request.bind(ANY, threaded)
    const reported = once(request.lz4, "protocolError")
    const endpoint = request.lastEndpoint as string
    const peer = use(await rawZmtpPeer(endpoint, "REP", message(plainPart(ascii("no delimiter")))))
    const [{ error }] = await reported
    expect(error).toBeInstanceOf(ProtocolError)
    expect(error.code).toBe("ERR_ZMTP_MESSAGE")
    await peer.closed
  })

  test("accept filters accept only matching addresses", async () => {
    const pull = use(new Pull({ tcpAcceptFilter: "203.0.113.0/24" }))
    await pull.bind(ANY, threaded)
    const refused = connect(portOf(pull.lastEndpoint as string), ownHost).resume()
    refused.on("error", () => {})
    await once(refused, "close")
    expect(pull.lz4.connections).toEqual([])
    pull.tcpAcceptFilter = "127.0.0.1"
    await pull.bind(ANY, threaded)
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, threaded)
    await push.send("text")
    expect(await text(pull)).toBe("text")
  })

  test("PLAIN asks the ZAP handler, on the sockets' thread", async () => {
    const context = new Context()
    const zap = use(new Router({ context }))
    await zap.bind("inproc://zeromq.zap.01")
    const serving = (async () => {
      for await (const [id, empty, version, request, , , , , user, password] of zap) {
        const ok = `${user}:${password}` === "alice:secret"
        const answer = ok ? ["200", "OK"] : ["400", "no"]
        await zap.send([id, empty, version, request, ...answer, "alice", ""] as Buffer[])
      }
    })()
    const pull = use(new Pull({ context, plainServer: true, zapDomain: "test" }))
    await pull.bind(ANY, threaded)
    const push = (plainPassword: string) => {
      const one = use(new Push({ context, plainUsername: "alice", plainPassword }))
      one.connect(pull.lastEndpoint as string, threaded)
      return one
    }
    const wrong = push("guess")
    const refused = new Promise((resolve) =>
      wrong.events.on("handshake:error:auth", ({ error }) => resolve(error.status)),
    )
    await wrong.send("let me in")
    expect(await refused).toBe(400)
    await push("secret").send("hello")
    expect(await text(pull)).toBe("hello")
    zap.close()
    await serving
  })

  /** 20 MB: more than the system and the thread buffer, so that most are queued at the socket. */
  const fill = async (push: Push, pull: Pull, count = 320): Promise<string> => {
    const endpoint = await joinWith(pull, push, plain, threaded)
    for (let i = 0; i < count; i++) await push.send([String(i), noise])
    return endpoint
  }
  const big = { sendHighWaterMark: 0 }
  const small = { receiveHighWaterMark: 1 }

  test("disconnect() delivers all queued messages within linger", async () => {
    const [push, pull] = [use(new Push(big)), use(new Pull(small))]
    push.linger = -1
    const endpoint = await fill(push, pull)
    push.disconnect(endpoint)
    for (let i = 0; i < 320; i++) expect(await text(pull)).toBe(String(i))
    await eventually(() => pull.lz4.connections.length === 0)
    await eventually(() => push.lz4.connections.length === 0)
  })

  test("close() delivers all queued messages within linger", async () => {
    const [push, pull] = [use(new Push(big)), use(new Pull(small))]
    push.linger = -1
    await fill(push, pull)
    push.close()
    for (let i = 0; i < 320; i++) expect(await text(pull)).toBe(String(i))
    await eventually(() => pull.lz4.connections.length === 0)
  })

  test("close() with linger 0 drops queued messages", async () => {
    const [push, pull] = [use(new Push(big)), use(new Pull(small))]
    await fill(push, pull)
    expect(await text(pull)).toBe("0") // wait for a connection
    push.close()
    let isLost = false
    pull.lz4.once("disconnect", () => {
      isLost = true
    })
    let received = 1
    pull.receiveTimeout = 100
    // A connection that waits for room does not notice the peer's end.
    while (!isLost) {
      try {
        expect(await text(pull)).toBe(String(received++))
      } catch (error) {
        expect(error).toMatchObject({ code: "EAGAIN" })
        received--
      }
    }
    expect(received).toBeLessThan(320)
  })

  test("unbind() delivers all queued messages within linger, and frees the port", async () => {
    const [push, pull] = [use(new Push(big)), use(new Pull(small))]
    push.linger = -1
    await joinWith(push, pull, threaded, plain, anyPort(lz4))
    for (let i = 0; i < 320; i++) await push.send([String(i), noise])
    const endpoint = push.lastEndpoint as string
    await push.unbind(endpoint)
    await eventually(() => use(new Pull()).bind(endpoint, plain))
    for (let i = 0; i < 320; i++) expect(await text(pull)).toBe(String(i))
    await eventually(() => push.lz4.connections.length === 0)
  })

  test("close() delivers queued messages to a peer that starts to send meanwhile", async () => {
    const count = 256
    const bytes = count * noise.length
    // A reader that loses its position finds headers of commands that are too long.
    const one = message(plainPart(new Uint8Array(70).fill(COMMAND | LONG)))
    const endless = Buffer.alloc(100 * one.length, one)
    // Bytes that it has not read yet when it starts; the system's buffers are unknown.
    for (let left = 0; left < 12 * MIB; left += MIB / times(2, 1)) {
      const dealer = use(new Dealer({ ...big, receiveHighWaterMark: 5 }))
      await dealer.bind(ANY, threaded)
      const peer = use(await rawZmtpPeer(dealer.lastEndpoint as string, "DEALER"))
      const { socket } = peer
      socket.pause()
      let came = 0
      let sent = 0
      socket.on("data", ({ length }) => {
        came += length
        if (came < bytes - left) return
        // Chunks that cut messages anywhere, and hold more of them than fit into the dealer's queue.
        const from = sent % one.length
        socket.write(endless.subarray(from, from + 5003))
        sent += 5003
        socket.pause()
        setImmediate(() => socket.resume())
      })
      for (let i = 0; i < count; i++) await dealer.send([String(i), noise])
      dealer.linger = -1
      dealer.close()
      await turn()
      socket.resume()
      await peer.closed
      expect(came).toBeGreaterThan(bytes)
    }
  })

  test("totals and connections are the same as without a thread", async () => {
    const shown = async (options: EndpointOptions) => {
      const [pull, push] = [use(new Pull()), use(new Push())]
      // An adaptive level would depend on the speed of the machine.
      await joinWith(pull, push, { ...options, level: 0 }, { ...options, level: 0 })
      const messages = [
        ["text"],
        ["", "a", payload("json", 10_000)],
        [noise],
        [payload("zeros", 3 * MIB)],
      ]
      for (const parts of messages) {
        await push.send(parts)
        await pull.receive()
      }
      await eventually(() => push.lz4.stats.sent.messages === messages.length)
      await eventually(() => pull.lz4.stats.received.messages === messages.length)
      await eventually(() => push.lz4.stats.waiting.bytes === 0)
      const endpoint = pull.lastEndpoint
      const [ofPush, ofPull] = [push, pull].map(({ lz4 }) => {
        expect(lz4.connections).toHaveLength(1)
        const [{ remoteAddress, remotePort, ...counts }] = lz4.connections as [Connection]
        expect(counts.endpoint).toBe(endpoint)
        expect(remoteAddress).toMatch(/^127(\.\d+){3}$/)
        expect(remotePort).toBeGreaterThan(0)
        return { stats: lz4.stats, counts: { ...counts, endpoint: "any port" } }
      })
      push.close()
      await eventually(() => pull.lz4.connections.length === 0)
      return { ofPush, ofPull, past: pull.lz4.stats, pushPast: push.lz4.stats }
    }
    expect(await shown(threaded)).toEqual(await shown(plain))
  })
})

describe("the option", () => {
  test.each([1, "true", null, {}])("must be a boolean; it is not %j", async (thread) => {
    const options = { thread } as unknown as EndpointOptions
    const wrong = { code: "ERR_INVALID_ARG_TYPE", message: expect.stringContaining("thread") }
    const pull = use(new Pull())
    await expect(async () => pull.bind(ANY, options)).rejects.toMatchObject(wrong)
    expect(() => pull.bindSync(ANY, options)).toThrow(expect.objectContaining(wrong))
    expect(() => pull.connect("lz4+tcp://127.0.0.1:9", options)).toThrow(
      expect.objectContaining(wrong),
    )
  })

  test.each([
    ["true", ""],
    ["TRUE", ", {}"],
    ["2", ", { thread: undefined }"],
  ])("has no default if ZEROMQ_LZ4_THREAD is %s", async (environment, options) => {
    const failed = await runScript(
      `const pull = new zmq.Pull()
      return pull.bind("${ANY}"${options}).then(() => "bound", ({ code, message }) => ({ code, message }))`,
      { ZEROMQ_LZ4_THREAD: environment },
    )
    expect(failed).toEqual({
      code: "ERR_INVALID_ARG_VALUE",
      message: `ZEROMQ_LZ4_THREAD in the environment must be 1 or 0; got "${environment}"`,
    })
  })

  test.each([
    { environment: "", options: "", threads: 0 },
    { environment: "0", options: "", threads: 0 },
    { environment: "1", options: "", threads: 1 },
    { environment: "1", options: ", {}", threads: 1 },
    { environment: "1", options: ", { thread: undefined }", threads: 1 },
    { environment: "1", options: ", { thread: false }", threads: 0 },
    { environment: "", options: ", { thread: true }", threads: 1 },
    { environment: "true", options: ", { thread: false }", threads: 0 },
  ])(
    "ZEROMQ_LZ4_THREAD=$environment and bind(address$options) give $threads threads",
    async ({ environment, options, threads }) => {
      const started = await runScript(
        `let started = 0
        process.on("worker", () => started++)
        const [pull, push] = [new zmq.Pull(), new zmq.Push()]
        await pull.bind("${ANY}"${options})
        push.connect(pull.lastEndpoint${options})
        await push.send("text")
        await pull.receive()
        return started`,
        { ZEROMQ_LZ4_THREAD: environment },
      )
      expect(started).toBe(threads)
    },
  )
})
