/** Sockets with endpoints of libzmq beside those of lz4+tcp://. */
import { beforeEach, describe, expect, test } from "vitest"
import { Dealer, Pull, Push, Subscriber, XPublisher, Proxy as ZmqProxy } from "zeromq-lz4"

import { mixedProcesses } from "../support/mixed-process.mjs"
import { eventually, use } from "../support/sockets.js"

const PROCESSES = 60
const LZ4 = "lz4+tcp://127.0.0.1:*"
const TCP = "tcp://127.0.0.1:*"
const blocked = expect.objectContaining({
  code: "EBUSY",
  message: "Socket is blocked by a bind or unbind operation",
})

test(`none of ${PROCESSES} processes aborts that unbind all endpoints of a socket that receives`, {
  timeout: 120_000,
}, async () => {
  expect(await mixedProcesses(PROCESSES)).toEqual([])
})

describe("while an endpoint of libzmq is bound or unbound beside one of lz4+tcp://", () => {
  let dealer: Dealer
  /** A name of its own for each test: libzmq gives one back a moment after close(). */
  let inproc = "inproc://blocked"
  let bound: string
  let boundLz4: string

  beforeEach(async () => {
    dealer = use(new Dealer())
    await dealer.bind(LZ4)
    boundLz4 = dealer.lastEndpoint as string
    inproc += "+"
    await dealer.bind(inproc)
    await dealer.bind(TCP)
    bound = dealer.lastEndpoint as string
  })

  test.each([
    ["bind", () => dealer.bind(TCP)],
    ["unbind", () => dealer.unbind(bound)],
  ])("nothing else can be begun during %s()", async (_, begin) => {
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

  test("a receive() that was begun before gets its message", async () => {
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

test("no endpoint of lz4+tcp:// is added while zeromq.js binds the first of libzmq's", async () => {
  const pull = use(new Pull())
  const bound = pull.bind(TCP)
  expect(() => pull.bind(LZ4)).toThrow(blocked)
  expect(() => pull.connect("lz4+tcp://127.0.0.1:1")).toThrow(blocked)
  await bound
  await pull.bind(LZ4)
})

test("no endpoint of lz4+tcp:// is added while a proxy of libzmq uses the socket", async () => {
  const [front, back] = [new Pull(), new Push()]
  await front.bind(TCP)
  await back.bind(TCP)
  const proxy = new ZmqProxy(front, back)
  const running = proxy.run()
  expect(() => front.connect("lz4+tcp://127.0.0.1:1")).toThrow(blocked)
  proxy.terminate()
  await running
})

test("a receive() that libzmq has already does not keep another from being tried", async () => {
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

describe("an XPUB on two transports", () => {
  let name = 0

  /** The notices of an XPUB at both, of two subscribers at each that come and go. */
  const notices = async (first: string, options: object): Promise<string[]> => {
    const publisher = use(new XPublisher(options))
    await publisher.bind(first)
    const endpoints = [publisher.lastEndpoint as string, `inproc://notices-${name++}`]
    await publisher.bind(endpoints[1] as string)
    const told: string[] = []
    let marks = 0
    /** Receives until a subscription has come that was made behind all others of a subscriber. */
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
    "tells of subscriptions as libzmq does, with %o",
    async (options) => {
      const expected = await notices(TCP, options)
      expect(expected).toContain("0 b")
      expect(await notices(LZ4, options)).toEqual(expected)
    },
  )
})
