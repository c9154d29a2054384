/** Sockets with endpoints of both libzmq and lz4+tcp://. */
import dns from "node:dns/promises"
import { syncBuiltinESMExports } from "node:module"
import { beforeEach, describe, expect, onTestFinished, test } from "vitest"
import {
  Dealer,
  Publisher,
  Pull,
  Push,
  Reply,
  Request,
  Router,
  Subscriber,
  XPublisher,
  Proxy as ZmqProxy,
} from "zeromq-lz4"

import { keptProxy } from "../support/kept-proxy.js"
import { mixedProcesses } from "../support/mixed-process.mjs"
import { type RawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { runScript } from "../support/script.js"
import { anyPort, eventually, join, use } from "../support/sockets.js"
import { noise } from "../support/threads.js"
import { lz4, tcp, times } from "../support/transports.js"
import { message } from "../support/zmtp.js"

const PROCESSES = 10
const LZ4 = "lz4+tcp://127.0.0.1:*"
const TCP = "tcp://127.0.0.1:*"
const blocked = expect.objectContaining({
  code: "EBUSY",
  message: "Socket is blocked by a bind or unbind operation",
})

// Several tests, because a busy machine takes long to start so many processes.
test.each(Array.from({ length: times(3, 1) }, (_, i) => i + 1))(
  `none of ${PROCESSES} processes aborts when it unbinds all endpoints of a receiving socket: %i`,
  async () => {
    expect(await mixedProcesses(PROCESSES)).toEqual([])
  },
)

describe("a call that is pending when the socket gets its first endpoint of libzmq", () => {
  test("receive() gets a message that arrives over it", async () => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    await pull.bind(LZ4)
    const received = pull.receive()
    await push.bind(TCP)
    pull.connect(push.lastEndpoint as string)
    await push.send("text")
    expect(await received).toEqual([Buffer.from("text")])
  })

  test("receive() gets a message that arrives over it after a failed disconnect()", async () => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    const received = pull.receive()
    expect(() => pull.disconnect("lz4+tcp://127.0.0.1:9")).toThrow("No such endpoint")
    await pull.bind(TCP)
    push.connect(pull.lastEndpoint as string)
    await push.send("text")
    expect(await received).toEqual([Buffer.from("text")])
  })

  test("send() sends its message over it", async () => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    await push.bind(LZ4)
    const sent = push.send("text")
    await pull.bind(TCP)
    push.connect(pull.lastEndpoint as string)
    await sent
    expect(await pull.receive()).toEqual([Buffer.from("text")])
  })
})

describe("while an endpoint of libzmq is bound or unbound on a socket with lz4+tcp://", () => {
  let dealer: Dealer
  /** Returns a new name for each test, because libzmq frees names some time after close(). */
  let inproc = "inproc://blocked"
  let bound: string
  let boundLz4: string

  beforeEach(async () => {
    dealer = use(new Dealer())
    // Nobody else gets these addresses when they are free again.
    await dealer.bind(anyPort(lz4))
    boundLz4 = dealer.lastEndpoint as string
    inproc += "+"
    await dealer.bind(inproc)
    await dealer.bind(anyPort(tcp))
    bound = dealer.lastEndpoint as string
  })

  test.each([
    ["bind", () => dealer.bind(TCP)],
    ["unbind", () => dealer.unbind(bound)],
  ])("no other operation can start during %s()", async (_, begin) => {
    const under = begin()
    const calls = [
      () => dealer.send("text"),
      () => dealer.receive(),
      () => dealer.bind(LZ4),
      () => dealer.bind(TCP),
      () => dealer.bindSync(TCP),
      () => dealer.unbind(bound),
      () => dealer.connect("inproc://elsewhere"),
      () => dealer.connect("lz4+tcp://127.0.0.1:1"),
      () => dealer.disconnect(bound),
    ]
    for (const call of calls) expect(call).toThrow(blocked)
    expect([dealer.readable, dealer.writable]).toEqual([false, false])
    await under
    const peer = use(new Dealer())
    peer.connect(inproc)
    await peer.send("text")
    expect(String(await dealer.receive())).toBe("text")
  })

  test("an earlier receive() gets its message", async () => {
    const peer = use(new Dealer())
    peer.connect(inproc)
    const received = dealer.receive()
    const unbound = dealer.unbind(bound)
    await peer.send("text")
    expect(String(await received)).toBe("text")
    await unbound
  })

  test("close() waits for it, and closes all endpoints", async () => {
    const under = dealer.bind(TCP)
    dealer.close()
    expect(dealer.closed).toBe(false)
    await under
    expect(dealer.closed).toBe(true)
    const other = use(new Dealer())
    for (const name of [bound, boundLz4]) await eventually(() => other.bind(name).then(() => true))
  })

  test("errors are those of zeromq.js", async () => {
    const plain = use(new Dealer())
    for (const address of [bound, "tcp://nonsense", "foo://127.0.0.1:1"])
      for (const name of ["bind", "unbind"] as const) {
        const other = name === "unbind" && address === bound ? "inproc://nobody" : address
        const failed = async (socket: Dealer) => socket[name](other).catch((error) => error)
        const [mixed, native] = [await failed(dealer), await failed(plain)]
        expect({ ...mixed, message: mixed.message }).toEqual({ ...native, message: native.message })
      }
    for (const args of [[], [1], [TCP, {}]]) {
      const call = (socket: Dealer) => () => socket.unbind(...(args as unknown as [string]))
      let message = ""
      expect(() => {
        try {
          call(plain)()
        } catch (error) {
          message = (error as Error).message
          throw error
        }
      }).toThrow()
      expect(call(dealer)).toThrow(message)
    }
  })
})

test("host names are resolved while the event loop runs", async () => {
  const { lookup } = dns
  onTestFinished(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
  // libzmq itself could not resolve it.
  dns.lookup = (async (name: string) => {
    if (name !== "made-up.test") throw new Error("not found")
    return { address: "127.0.0.1", family: 4 }
  }) as unknown as typeof lookup
  syncBuiltinESMExports()
  const dealer = use(new Dealer())
  await dealer.bind(LZ4)
  await dealer.bind("tcp://made-up.test:*")
  const bound = dealer.lastEndpoint as string
  expect(bound).toMatch(/^tcp:\/\/127\.0\.0\.1:\d+$/)
  const peer = use(new Dealer())
  peer.connect(bound)
  await peer.send("text")
  expect(String(await dealer.receive())).toBe("text")
  await dealer.unbind(bound.replace("127.0.0.1", "made-up.test"))
  await eventually(() =>
    use(new Dealer())
      .bind(bound)
      .then(() => true),
  )
  const told = new Promise((resolve) => dealer.events.on("bind:error", resolve))
  const address = "tcp://unknown.test:*"
  await expect(dealer.bind(address)).rejects.toMatchObject({ code: "ENODEV", address })
  expect(await told).toMatchObject({ address: "unknown.test:*" })
  dealer.connect("tcp://unknown.test:9")
  await dealer.unbind("tcp://unknown.test:9")
})

test("no lz4+tcp:// endpoint can be added while zeromq.js binds the first of libzmq's", async () => {
  const pull = use(new Pull())
  const bound = pull.bind(TCP)
  expect(() => pull.bind(LZ4)).toThrow(blocked)
  expect(() => pull.connect("lz4+tcp://127.0.0.1:1")).toThrow(blocked)
  await bound
  await pull.bind(LZ4)
})

test("no lz4+tcp:// endpoint can be added while a libzmq proxy uses the socket", async () => {
  const [front, back] = [new Pull(), new Push()]
  await front.bind(TCP)
  await back.bind(TCP)
  const proxy = keptProxy(new ZmqProxy(front, back))
  const running = proxy.run()
  expect(() => front.connect("lz4+tcp://127.0.0.1:1")).toThrow(blocked)
  proxy.terminate()
  await running
})

test("after a receive() in libzmq, another can be called", async () => {
  const pull = use(new Pull())
  await pull.bind(TCP)
  const address = pull.lastEndpoint as string
  const first = pull.receive()
  await pull.bind(LZ4)
  const push = use(new Push())
  push.connect(address)
  const second = pull.receive()
  await push.send("first")
  await push.send("second")
  expect([String(await first), String(await second)]).toEqual(["first", "second"])
})

test("a receive() that must not wait gets the message that libzmq has", async () => {
  const pull = use(new Pull({ receiveTimeout: 0 }))
  await pull.bind(LZ4)
  const push = use(new Push())
  await join(pull, push, tcp)
  await expect(pull.receive()).rejects.toMatchObject({ code: "EAGAIN" })
  await push.send("text")
  await eventually(() => pull.readable)
  expect(String(await pull.receive())).toBe("text")
})

test.each([-1, 0, 60_000])(
  "libzmq's side has its turn while ours has messages, with receiveTimeout %i",
  async (receiveTimeout) => {
    const pull = use(new Pull({ receiveTimeout }))
    const [own, native] = [use(new Push()), use(new Push())]
    await join(pull, own, lz4)
    await join(pull, native, tcp)
    await native.send(TCP)
    await eventually(() => pull.readable)
    for (let i = 0; i < 50; i++) await own.send(LZ4)
    await eventually(() => pull.lz4.stats.received.messages === 50)
    const received: string[] = []
    for (let i = 0; i < 50; i++) {
      // A thread counts messages before it passes them on.
      await eventually(() => pull.readable)
      received.push(String(await pull.receive()))
    }
    expect(received).toContain(TCP)
  },
)

describe("a PUSH with three peers at lz4+tcp:// and one at tcp://", () => {
  const COUNT = 40

  /** Returns how many of the messages each peer gets. */
  const shares = async (push: Push, pulls: readonly Pull[]) => {
    for (let i = 0; i < COUNT; i++) await push.send(String(i))
    const got = pulls.map(() => 0)
    for (const [i, pull] of pulls.entries())
      void (async () => {
        for await (const _ of pull) got[i]!++
      })().catch(() => {})
    await eventually(() => got.reduce((sum, count) => sum + count) === COUNT)
    return got
  }
  const some = () => Array.from({ length: 4 }, () => use(new Pull()))

  test("gives each the same share, as over tcp:// alone, if it connects", async () => {
    for (const transports of [
      [tcp, tcp, tcp, tcp],
      [lz4, lz4, lz4, tcp],
    ]) {
      const [push, pulls] = [use(new Push()), some()]
      for (const [i, pull] of pulls.entries()) await join(pull, push, transports[i]!)
      expect(await shares(push, pulls)).toEqual([10, 10, 10, 10])
      await push.unbind(pulls[3]!.lastEndpoint as string)
      for (const pull of pulls) pull.close()
    }
  })

  test("gives each the same share if it binds both with acceptPlain", async () => {
    const [push, pulls] = [use(new Push()), some()]
    await push.bind(anyPort(lz4), lz4.options)
    const own = push.lastEndpoint as string
    await push.bind(anyPort(lz4), { ...lz4.options, acceptPlain: true })
    const both = push.lastEndpoint as string
    for (const [i, pull] of pulls.entries())
      pull.connect(i < 3 ? own : both.replace("lz4+tcp", "tcp"))
    await eventually(() => push.lz4.connections.filter(({ scheme }) => scheme).length === 4)
    expect(await shares(push, pulls)).toEqual([10, 10, 10, 10])
  })

  test("counts a peer no longer that it has disconnected from", async () => {
    const [push, pulls] = [use(new Push()), some()]
    for (const [i, pull] of pulls.entries()) await join(pull, push, i < 2 ? tcp : lz4)
    push.disconnect(pulls[0]!.lastEndpoint as string)
    expect(await shares(push, pulls.slice(1))).toEqual([14, 13, 13])
  })
})

describe("requests and replies of a socket with both transports", () => {
  test("a REQ sends requests over both transports in turn, each after the reply to the last", async () => {
    const request = use(new Request({ sendTimeout: 0, receiveTimeout: 0 }))
    const replies = [use(new Reply()), use(new Reply())] as const
    await join(replies[0], request, lz4)
    await join(replies[1], request, tcp)
    // Both transports are writable at once, because they queue messages for pending connections.
    for (const reply of [...replies, ...replies]) {
      await request.send("question")
      await expect(request.send("another")).rejects.toMatchObject({ code: "EFSM" })
      await expect(request.receive()).rejects.toMatchObject({ code: "EAGAIN" })
      expect(String(await reply.receive())).toBe("question")
      await reply.send("answer")
      await eventually(() => request.readable)
      expect(String(await request.receive())).toBe("answer")
      await expect(request.receive()).rejects.toMatchObject({ code: "EFSM" })
    }
  })

  test("a receive() of a REQ that is called before send() gets the reply, over either transport", async () => {
    const request = use(new Request())
    const replies = [use(new Reply()), use(new Reply())] as const
    await join(replies[0], request, lz4)
    await join(replies[1], request, tcp)
    for (const reply of replies) {
      const received = request.receive()
      await request.send("question")
      await reply.receive()
      await reply.send("answer")
      expect(String(await received)).toBe("answer")
    }
  })

  test("a REP receives nothing over one transport before it has replied over the other", async () => {
    const reply = use(new Reply({ receiveTimeout: 0 }))
    const [own, native] = [use(new Request()), use(new Request())]
    await join(reply, own, lz4)
    await join(reply, native, tcp)
    await native.send("first")
    await eventually(() => reply.readable)
    expect(String(await reply.receive())).toBe("first")
    await own.send("second")
    await eventually(() => reply.lz4.stats.received.messages === 1)
    expect(reply.readable).toBe(false)
    await expect(reply.receive()).rejects.toMatchObject({ code: "EFSM" })
    await reply.send("to first")
    expect(String(await native.receive())).toBe("to first")
    await eventually(() => reply.readable)
    expect(String(await reply.receive())).toBe("second")
    await native.send("third")
    await expect(reply.receive()).rejects.toMatchObject({ code: "EFSM" })
    await reply.send("to second")
    expect(String(await own.receive())).toBe("to second")
    await eventually(() => reply.readable)
    expect(String(await reply.receive())).toBe("third")
  })

  describe.each([
    { first: lz4, second: tcp },
    { first: tcp, second: lz4 },
  ])("begun over $first.name, before there is an endpoint of $second.name", ({ first, second }) => {
    test("a REQ gets its reply, and then sends another request", async () => {
      const request = use(new Request())
      const [reply, other] = [use(new Reply()), use(new Reply())]
      await join(reply, request, first)
      await request.send("question")
      await join(other, request, second)
      expect(String(await reply.receive())).toBe("question")
      await reply.send("answer")
      expect(String(await request.receive())).toBe("answer")
      request.receiveTimeout = 0
      await expect(request.receive()).rejects.toMatchObject({ code: "EFSM" })
      request.receiveTimeout = -1
      await request.send("another")
      const asked = await Promise.race([reply.receive(), other.receive()])
      expect(String(asked)).toBe("another")
    })

    test("a REP replies before it receives over the other transport", async () => {
      const reply = use(new Reply())
      const requests = [use(new Request()), use(new Request())] as const
      await join(reply, requests[0], first)
      await requests[0].send("first")
      expect(String(await reply.receive())).toBe("first")
      await join(reply, requests[1], second)
      await requests[1].send("second")
      reply.receiveTimeout = 0
      await expect(reply.receive()).rejects.toMatchObject({ code: "EFSM" })
      reply.receiveTimeout = -1
      for (const [at, request] of requests.entries()) {
        if (at === 1) expect(String(await reply.receive())).toBe("second")
        await reply.send("answer")
        expect(String(await request.receive())).toBe("answer")
      }
    })

    test("a REP replies to a request that its pending receive() got", async () => {
      const reply = use(new Reply())
      const request = use(new Request())
      await join(reply, request, first)
      const received = reply.receive()
      reply.bindSync(anyPort(second))
      await request.send("question")
      expect(String(await received)).toBe("question")
      await reply.send("answer")
      expect(String(await request.receive())).toBe("answer")
    })
  })

  test("a relaxed REQ never receives the reply to an earlier request", async () => {
    const request = use(new Request({ relaxed: true, sendTimeout: 0 }))
    const [own, native] = [use(new Router()), use(new Router())]
    await join(own, request, lz4)
    await join(native, request, tcp)
    await request.send("first")
    const [id, delimiter] = await own.receive()
    await request.send("second")
    const envelope = (await native.receive()).slice(0, 2)
    await own.send([id as Buffer, delimiter as Buffer, "late"])
    await eventually(() => request.lz4.stats.received.messages === 1)
    await native.send([...envelope, "answer"])
    expect(String(await request.receive())).toBe("answer")
    expect(request.readable).toBe(false)
    request.receiveTimeout = 0
    await expect(request.receive()).rejects.toMatchObject({ code: "EFSM" })
  })
})

describe("an XPUB on two transports", () => {
  let name = 0

  /** The notices that an XPUB receives on both transports, from two subscribers on each that come and go. */
  const notices = async (first: string, options: object): Promise<string[]> => {
    const publisher = use(new XPublisher(options))
    await publisher.bind(first)
    const endpoints = [publisher.lastEndpoint as string, `inproc://notices-${name++}`]
    await publisher.bind(endpoints[1] as string)
    const told: string[] = []
    let marks = 0
    /** Receives until the last subscription of a subscriber has arrived. */
    const settle = async (subscriber: Subscriber) => {
      const mark = `mark ${marks++}`
      subscriber.subscribe(mark)
      for (;;) {
        const [notice] = await publisher.receive()
        const text = `${notice?.[0]} ${notice?.subarray(1)}`
        if (text === `1 ${mark}`) return
        if (!text.includes("mark")) told.push(text)
      }
    }
    const subscribers = [...endpoints, ...endpoints].map((endpoint) => {
      const subscriber = use(new Subscriber())
      subscriber.connect(endpoint)
      return subscriber
    })
    for (const topics of [["a"], ["a", "b"]])
      for (const subscriber of subscribers) {
        subscriber.subscribe(...topics)
        await settle(subscriber)
      }
    for (const subscriber of subscribers) {
      subscriber.unsubscribe("a", "a")
      await settle(subscriber)
    }
    const [witness] = subscribers as [Subscriber]
    for (const subscriber of subscribers.slice(1)) {
      subscriber.unsubscribe("b")
      await settle(subscriber)
    }
    witness.unsubscribe("b")
    witness.subscribe("last")
    await settle(witness)
    return told
  }

  test.each([{}, { verbosity: "allSubs" }, { verbosity: "allSubsUnsubs" }])(
    "reports subscriptions as libzmq does, with %o",
    async (options) => {
      const expected = await notices(TCP, options)
      expect(expected).toContain("0 b")
      expect(await notices(LZ4, options)).toEqual(expected)
    },
  )
})

describe.each([
  ["PUB", Publisher],
  ["XPUB", XPublisher],
] as const)("%s with noDrop on two transports", (_, Type) => {
  const MARK = 5
  const COUNT = 150
  /** Number of refusals after which the stopped subscriber reads again. */
  const REFUSALS = 20

  let publisher: Publisher | XPublisher
  /** A subscriber on libzmq's side that only reads when it is resumed, and its messages. */
  let slow: RawPeer
  let slowBytes: Buffer[]
  let subscribers: Subscriber[]

  const receive = async (subscriber: Subscriber, count: number) => {
    const texts: string[] = []
    while (texts.length < count) texts.push(String((await subscriber.receive())[0]))
    return texts
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => `message ${i}`)

  beforeEach(async () => {
    publisher = use(new Type({ noDrop: true, sendHighWaterMark: MARK }))
    await publisher.bind(LZ4)
    const own = publisher.lastEndpoint as string
    await publisher.bind(TCP)
    const native = publisher.lastEndpoint as string
    subscribers = [own, own, native].map((endpoint) => {
      const subscriber = use(new Subscriber({ receiveHighWaterMark: 0 }))
      subscriber.connect(endpoint)
      subscriber.subscribe("")
      return subscriber
    })
    slow = use(await rawZmtpPeer(native, "SUB", message(Buffer.from([1]))))
    slowBytes = []
    slow.socket.on("data", (bytes) => slowBytes.push(bytes))
    // All have subscribed once each has received a probe.
    let waiting = subscribers.length
    const probed = subscribers.map(async (subscriber) => {
      await subscriber.receive()
      waiting--
    })
    await eventually(async () => {
      await publisher.send("probe").catch(() => {})
      return waiting === 0 && slowBytes.length > 0
    })
    await Promise.all(probed)
    // A busy machine may still have probes in the queues.
    await eventually(() => publisher.send("begin"))
    for (const subscriber of subscribers)
      while (String((await subscriber.receive())[0]) !== "begin");
    await eventually(() => Buffer.concat(slowBytes).includes("begin"))
    slowBytes = []
    slow.socket.pause()
  })

  test.each([0, -1])(
    "sends to all or to none, so that a refused send can be repeated, with sendTimeout %i",
    async (sendTimeout) => {
      publisher.sendTimeout = sendTimeout
      const received = subscribers.map((subscriber) => receive(subscriber, COUNT))
      let refused = 0
      for (let i = 0; i < COUNT; ) {
        try {
          await publisher.send([`message ${i}`, noise])
          i++
        } catch (error) {
          expect(error).toMatchObject({ code: "EAGAIN" })
          if (++refused === REFUSALS) slow.socket.resume()
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      expect(refused).toBeGreaterThanOrEqual(REFUSALS)
      for (const texts of received) expect(await texts).toEqual(numbers(COUNT))
      await eventually(() => Buffer.concat(slowBytes).includes(`message ${COUNT - 1}`))
    },
  )

  test("keeps the order of concurrent sends, and sends all before it is closed", async () => {
    publisher.sendHighWaterMark = 1000
    publisher.linger = -1
    const sent = numbers(COUNT).map((text) => publisher.send(text))
    publisher.close()
    slow.socket.resume()
    await Promise.all(sent)
    for (const subscriber of subscribers)
      expect(await receive(subscriber, COUNT)).toEqual(numbers(COUNT))
  })

  test("a program that retries at once does not starve timers", async () => {
    publisher.sendTimeout = 0
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      slow.socket.resume()
    }, 1)
    for (let i = 0; i < COUNT; )
      await publisher.send([`message ${i}`, noise]).then(
        () => i++,
        () => {},
      )
    clearTimeout(timer)
    expect(isLate).toBe(true)
  })
})

test("a proxy waits for room at an XPUB with noDrop, and loses nothing", async () => {
  const COUNT = 150
  const [front, back] = [new Pull(), new XPublisher({ noDrop: true, sendHighWaterMark: 5 })]
  await front.bind("inproc://proxied")
  await back.bind(LZ4)
  const own = back.lastEndpoint as string
  await back.bind(TCP)
  const endpoints = [own, own, back.lastEndpoint as string]
  const subscribers = endpoints.map((endpoint, i) => {
    const subscriber = use(new Subscriber({ receiveHighWaterMark: 1 }))
    subscriber.connect(endpoint)
    subscriber.subscribe("message", String(i))
    return subscriber
  })
  const told = new Set<string>()
  while (told.size <= subscribers.length) told.add(String((await back.receive())[0]))
  const proxy = keptProxy(new ZmqProxy(front, back))
  const running = proxy.run()
  const push = use(new Push({ sendHighWaterMark: 0 }))
  push.connect("inproc://proxied")
  for (let i = 0; i < COUNT; i++) await push.send([`message ${i}`, noise])
  // Each at its own pace, so that one is full while another is not.
  const received = subscribers.map(async (subscriber, pause) => {
    const texts: string[] = []
    while (texts.length < COUNT) {
      texts.push(String((await subscriber.receive())[0]))
      for (let i = 0; i < pause; i++) await new Promise((resolve) => setImmediate(resolve))
    }
    return texts
  })
  for (const texts of received)
    expect(await texts).toEqual(Array.from({ length: COUNT }, (_, i) => `message ${i}`))
  proxy.terminate()
  await running
})

test("an error of a REQ over tcp:// that nobody handles is reported as such", async () => {
  const script = `
    const request = new zmq.Request({ receiveTimeout: 0 })
    request.connect("tcp://127.0.0.1:9")
    const unhandled = new Promise((resolve) => process.once("unhandledRejection", resolve))
    request.receive()
    return (await unhandled).code`
  expect(await runScript(script)).toBe("EFSM")
})
