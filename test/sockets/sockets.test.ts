/** The API of zeromq.js: sending, receiving, iterating, closing, garbage collection. */
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { beforeEach, describe, expect, expectTypeOf, test } from "vitest"
import * as zeromq from "zeromq"
import * as zmq from "zeromq-lz4"
import { Dealer, Pair, Publisher, Pull, Push, Router, Subscriber } from "zeromq-lz4"

import { runScript } from "../support/script.js"
import { anyPort, eventually, freePort, join, use } from "../support/sockets.js"
import { hasOptions, lz4, transports } from "../support/transports.js"

const CLOSED = { code: "EBADF", errno: expect.any(Number), message: "Socket is closed" }
const CANCELLED = { code: "EAGAIN", errno: expect.any(Number) }

describe("the package", () => {
  const ours = new Map<string, unknown>(Object.entries(zmq))
  const extended = [
    [zmq.Pair, zeromq.Pair],
    [zmq.Publisher, zeromq.Publisher],
    [zmq.Subscriber, zeromq.Subscriber],
    [zmq.XPublisher, zeromq.XPublisher],
    [zmq.XSubscriber, zeromq.XSubscriber],
    [zmq.Push, zeromq.Push],
    [zmq.Pull, zeromq.Pull],
    [zmq.Request, zeromq.Request],
    [zmq.Reply, zeromq.Reply],
    [zmq.Dealer, zeromq.Dealer],
    [zmq.Router, zeromq.Router],
  ] as const

  test("exports all that zeromq does, unchanged except for sockets, Observer and Proxy", () => {
    // Newer versions of Node export the first two for any CommonJS module.
    const names = ["__esModule", "module.exports", "Stream", ...extended.map(([{ name }]) => name)]
    for (const [name, value] of Object.entries(zeromq))
      if (!["default", "Observer", "Proxy", ...names].includes(name))
        expect(ours.get(name)).toBe(value)
  })

  test.each([
    ["zeromq", "Push"],
    ["zeromq-lz4", "Push"],
    ["zeromq/v5-compat.js", "socket"],
    ["zeromq-lz4/v5-compat", "socket"],
  ])(
    "the default import is what require() returns, and tests can replace its members: %s",
    async (name, member) => {
      const required = createRequire(import.meta.url)(name)
      expect((await import(name)).default).toBe(required)
      const settings = { configurable: true, enumerable: true, writable: true }
      expect(Object.getOwnPropertyDescriptor(required, member)).toMatchObject(settings)
    },
  )

  test.each(extended)(
    "a socket is an instance of zeromq's class of the same name: %o",
    (Ours, Theirs) => {
      expect(ours.get(Theirs.name)).toBe(Ours)
      const socket = use(new Ours())
      expect(socket).toBeInstanceOf(Theirs)
      expect(socket.constructor.name).toBe(Theirs.name)
    },
  )

  test("its types extend those of zeromq", () => {
    expectTypeOf<zmq.Push>().toExtend<zeromq.Push>()
    expectTypeOf<zmq.Router>().toExtend<zeromq.Router>()
    expectTypeOf(new Subscriber().receive).returns.resolves.toEqualTypeOf<zeromq.Message[]>()
    expectTypeOf<zmq.Push>().not.toHaveProperty("receive")
    expectTypeOf<zmq.Pull["lz4"]["connections"][0]["remotePort"]>().toBeNumber()
  })

  test("the constructor accepts options, and checks them as zeromq does", () => {
    const socket = use(new Dealer({ routingId: "me", backlog: 3, maxMessageSize: 100 }))
    expect([socket.routingId, socket.backlog, socket.maxMessageSize]).toEqual(["me", 3, 100])
    expect(() => new Dealer({ nonsense: 1 } as object)).toThrow(TypeError)
    expect(() => Object.assign(socket, { nonsense: 1 })).toThrow(TypeError)
  })
})

describe.each(transports)("over $name", (transport) => {
  const { scheme } = transport
  let [a, b] = [] as unknown as [Pair, Pair]

  beforeEach(() => {
    a = use(new Pair())
    b = use(new Pair())
  })

  describe("a connected socket", () => {
    beforeEach(() => join(b, a, transport))

    test("sends strings, buffers, typed arrays and values that can be converted to strings", async () => {
      const sent = [
        "text",
        Buffer.from("bytes"),
        Int32Array.of(0x66),
        new ArrayBuffer(2),
        null,
        16.2,
      ]
      for (const message of sent) await a.send(message as string)
      const received: string[] = []
      for (let i = 0; i < sent.length; i++) received.push(String(await b.receive()))
      expect(received).toEqual(["text", "bytes", "f\0\0\0", "\0\0", "", "16.2"])
    })

    test("sends a copy: later changes do not affect it", async () => {
      const small = Buffer.from("small")
      await a.send(small)
      small.fill(0)
      expect(String(await b.receive())).toBe("small")
    })

    test("yields messages in order to an iteration, which can be left and resumed", async () => {
      for (let i = 0; i < 10; i++) await a.send(`${i}`)
      const received: string[] = []
      for await (const [message] of b) if (received.push(String(message)) === 4) break
      for await (const [message] of b) if (received.push(String(message)) === 10) break
      expect(received).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`))
    })

    test("may send during a receive()", async () => {
      const received = a.receive()
      for (let i = 0; i < 20; i++) {
        await a.send(`${i}`)
        expect(String(await b.receive())).toBe(`${i}`)
      }
      await b.send("answer")
      expect(String(await received)).toBe("answer")
    })

    test("allows one receive() at a time: EBUSY", async () => {
      const first = b.receive()
      expect(() => b.receive()).toThrow(expect.objectContaining({ code: "EBUSY" }))
      await a.send("for the first")
      expect(String(await first)).toBe("for the first")
    })

    test("has readable and writable", async () => {
      expect([a.writable, b.readable]).toEqual([true, false])
      await a.send("text")
      await eventually(() => b.readable)
    })

    test("does not starve the event loop", async () => {
      let turns = 0
      const interval = setInterval(() => turns++, 0)
      for (let i = 0; i < 2000; i++) {
        await a.send("x")
        await b.receive()
      }
      clearInterval(interval)
      expect(turns).toBeGreaterThan(2)
    })
  })

  test("receive() and send() may come before bind() and connect()", async () => {
    const address = `${scheme}127.0.0.1:${await freePort()}`
    const exchange = Promise.all([b.receive(), a.send("early")])
    await b.bind(address)
    a.connect(address)
    expect(String((await exchange)[0])).toBe("early")
  })

  test("a PUSH distributes messages among its peers", async () => {
    const push = use(new Push())
    await push.bind(`${scheme}127.0.0.1:*`)
    const pulls = [use(new Pull()), use(new Pull())]
    for (const pull of pulls) pull.connect(push.lastEndpoint as string)
    const counts = pulls.map(async (pull) => {
      let count = 0
      for await (const [message] of pull) {
        if (String(message) === "end") break
        count++
      }
      return count
    })
    // Both are connected once each has received a message.
    let done = false
    const ends = Promise.all(counts).finally(() => {
      done = true
    })
    for (let i = 0; i < 100; i++) await push.send("work")
    while (!done) await push.send("end")
    expect((await ends).reduce((sum, count) => sum + count)).toBe(100)
  })

  describe("close()", () => {
    test("rejects pending and later calls", async () => {
      await b.bind(`${scheme}127.0.0.1:*`)
      const receiving = b.receive()
      const sending = a.send("nobody there")
      for (const socket of [a, b]) socket.close()
      await expect(receiving).rejects.toMatchObject(CANCELLED)
      await expect(sending).rejects.toMatchObject(CANCELLED)
      for (const call of [
        () => a.send("text"),
        () => a.receive(),
        () => a.bind(`${scheme}127.0.0.1:*`),
        () => a.bindSync(`${scheme}127.0.0.1:*`),
        () => a.unbind(`${scheme}127.0.0.1:*`),
        () => a.connect(`${scheme}127.0.0.1:5000`),
        () => a.disconnect(`${scheme}127.0.0.1:5000`),
      ])
        expect(call).toThrow(expect.objectContaining(CLOSED))
      expect([a.readable, a.writable, a.closed]).toEqual([false, false, true])
    })

    test("may be called again", () => {
      a.close()
      a.close()
      expect(a.closed).toBe(true)
    })

    test("ends an iteration", async () => {
      await join(b, a, transport)
      await a.send("only")
      const received: string[] = []
      for await (const [message] of b) {
        received.push(String(message))
        process.nextTick(() => b.close())
      }
      expect(received).toEqual(["only"])
    })

    test.each([
      ["a bind", true, (socket: Pair, address: string) => socket.bind(address)],
      ["a bind that fails", false, (socket: Pair, address: string) => socket.bind(address)],
      ["an unbind", true, (socket: Pair, address: string) => socket.unbind(address)],
      ["an unbind that fails", false, (socket: Pair, address: string) => socket.unbind(address)],
    ])("waits for a pending %s", async (what, succeeds, start) => {
      await b.bind(`${scheme}127.0.0.1:*`)
      const taken = b.lastEndpoint as string
      const free = `${scheme}127.0.0.1:${await freePort()}`
      if (what === "an unbind") await a.bind(free)
      const outcome = start(a, what.endsWith("fails") ? taken : free).then(
        () => true,
        () => false,
      )
      a.close()
      expect(a.closed).toBe(false)
      expect(await outcome).toBe(succeeds)
      expect(a.closed).toBe(true)
      await eventually(() => use(new Pair()).bind(free)) // the port is closed
    })

    test("frees the port", async () => {
      await b.bind(anyPort(transport))
      const address = b.lastEndpoint as string
      b.close()
      await eventually(() => a.bind(address))
    })

    test("ends the connection with a ROUTER, whose other peers stay connected", async () => {
      const router = use(new Router())
      const [first, second] = [use(new Dealer()), use(new Dealer())]
      const address = await join(router, first, transport)
      second.connect(address)
      await first.send("first")
      await router.receive()
      first.close()
      await second.send("second")
      const [id, text] = await router.receive()
      expect(String(text)).toBe("second")
      await router.send([id as Buffer, "answer"])
      expect(String(await second.receive())).toBe("answer")
    })
  })

  if (hasOptions) return

  test("an unreferenced socket is collected, and its connections end", async () => {
    const result = await runScript(`
      const pull = new zmq.Pull()
      await pull.bind("${scheme}127.0.0.1:*")
      let gone = false
      pull.events.on("disconnect", () => { gone = true })
      const ref = await (async () => {
        const push = new zmq.Push({ linger: 0 })
        push.connect(pull.lastEndpoint)
        await push.send("text")
        await pull.receive()
        return new WeakRef(push)
      })()
      for (let i = 0; i < 2000 && !(gone && !ref.deref()); i++) await collect()
      return { gone, collected: !ref.deref() }`)
    expect(result).toEqual({ gone: true, collected: true })
  })

  test("messages of an unreferenced socket still arrive, within linger", async () => {
    const port = await freePort()
    const result = await runScript(`
      const ref = await (async () => {
        const push = new zmq.Push({ reconnectInterval: 20 })
        push.connect("${scheme}127.0.0.1:${port}")
        for (const text of ["1", "2", "3"]) await push.send(text)
        return new WeakRef(push)
      })()
      for (let i = 0; i < 2000 && ref.deref(); i++) await collect()
      const pull = new zmq.Pull({ receiveTimeout: 200_000 })
      await pull.bind("${scheme}127.0.0.1:${port}")
      const received = []
      while (received.length < 3) received.push(String((await pull.receive())[0]))
      return { received, collected: !ref.deref() }`)
    expect(result).toEqual({ received: ["1", "2", "3"], collected: true })
  })

  test("an unreferenced bound socket is collected, and its address is free again", async () => {
    const port = await freePort()
    const result = await runScript(`
      const push = new zmq.Push({ reconnectInterval: 20, linger: 0 })
      const gone = new Promise((resolve) => push.events.on("disconnect", resolve))
      const [ref, address] = await (async () => {
        const pull = new zmq.Pull({ linger: 0 })
        await pull.bind("${scheme}127.0.0.1:${port}")
        push.connect(pull.lastEndpoint)
        await push.send("text")
        await pull.receive()
        return [new WeakRef(pull), pull.lastEndpoint]
      })()
      const other = new zmq.Pull()
      let bound = false
      for (let i = 0; i < 2000 && !bound; i++) {
        await collect()
        bound = await other.bind(address).then(() => true, () => false)
      }
      await gone // a message for a connection that breaks would be lost
      await push.send("to the other")
      return { bound, collected: !ref.deref(), text: String((await other.receive())[0]) }`)
    expect(result).toEqual({ bound: true, collected: true, text: "to the other" })
  })

  test("a context is collected after its sockets are closed", async () => {
    const result = await runScript(`
      const ref = await (async () => {
        const context = new zmq.Context()
        const pull = new zmq.Pull({ context, linger: 0 }), push = new zmq.Push({ context, linger: 0 })
        await pull.bind("${scheme}127.0.0.1:*")
        push.connect(pull.lastEndpoint)
        await push.send("text")
        await pull.receive()
        pull.close()
        push.close()
        return new WeakRef(context)
      })()
      for (let i = 0; i < 2000 && ref.deref(); i++) await collect()
      return ref.deref() === undefined`)
    expect(result).toBe(true)
  })
})

// Over tcp:// the addon itself sometimes crashes when a worker ends with unsent messages.
test("sockets of a worker thread exchange messages with the main thread's, and the worker ends by itself", async () => {
  const result = await runScript(`
    const { Worker } = require("node:worker_threads")
    const pull = new zmq.Pull()
    await pull.bind("${lz4.scheme}127.0.0.1:*")
    const source = \`
      const { Push } = require("zeromq-lz4")
      const push = new Push()
      push.connect("\${pull.lastEndpoint}")
      push.send("from a worker")\`
    const worker = new Worker(source, { eval: true })
    const ended = new Promise((resolve) => worker.once("exit", resolve))
    return [String(await pull.receive()), await ended]`)
  expect(result).toEqual(["from a worker", 0])
})

test("idle sockets do not keep a process alive", async () => {
  const script = `
    const { Pull, Push } = require("zeromq-lz4")
    const pull = new Pull(), push = new Push()
    pull.bind("${lz4.scheme}127.0.0.1:*").then(() => push.connect(pull.lastEndpoint))`
  const code = await new Promise((resolve) =>
    execFile(process.execPath, ["-e", script]).once("exit", resolve),
  )
  expect(code).toBe(0)
})

test("a publisher without subscribers does not wait for one", async () => {
  const publisher = use(new Publisher())
  await publisher.bind(`${lz4.scheme}127.0.0.1:*`)
  for (let i = 0; i < 5000; i++) await publisher.send("nobody there")
})
