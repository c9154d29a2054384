/** Life of the connections' threads: start, end, death of a thread, and end of the process. */
import { once } from "node:events"
import { connect } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import type { Worker } from "node:worker_threads"
import { describe, expect, onTestFinished, test } from "vitest"
import { Context, Pair, Publisher, Pull, Push, Reply, Request, Subscriber } from "zeromq-lz4"

import { portOf } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { runScript } from "../support/script.js"
import { eventually, freePort, subscribed, use } from "../support/sockets.js"
import {
  ANY,
  exitOf,
  joinWith,
  noise,
  plain,
  startedThreads,
  text,
  threaded,
} from "../support/threads.js"
import { warnings } from "../support/warnings.js"

const natural = { code: 0, signal: null }

describe("threads", () => {
  test.each([
    { ioThreads: 1, endpoints: 4, threads: 1 },
    { ioThreads: 3, endpoints: 2, threads: 2 },
    { ioThreads: 3, endpoints: 7, threads: 3 },
    { ioThreads: 0, endpoints: 2, threads: 1 },
  ])(
    "a context with $ioThreads ioThreads has $threads for $endpoints endpoints",
    async ({ ioThreads, endpoints, threads }) => {
      const started = startedThreads()
      const context = new Context({ ioThreads })
      const pull = use(new Pull({ context }))
      for (let i = 0; i < endpoints; i++) await pull.bind(ANY, threaded)
      await eventually(() => started.length === threads)
      const push = use(new Push({ context }))
      push.connect(pull.lastEndpoint as string, threaded)
      await push.send("text")
      expect(await text(pull)).toBe("text")
      expect(started.length).toBeLessThanOrEqual(Math.max(1, ioThreads))
    },
  )

  test("are separate for each context", async () => {
    const started = startedThreads()
    for (const context of [new Context(), new Context()])
      for (let i = 0; i < 2; i++) await use(new Pull({ context })).bind(ANY, threaded)
    await eventually(() => started.length === 2)
  })

  test("start with the first endpoint that needs one, and end after the last", async () => {
    const started = startedThreads()
    const context = new Context()
    const [pull, push] = [use(new Pull({ context })), use(new Push({ context }))]
    await pull.bind(ANY, plain)
    push.connect(pull.lastEndpoint as string, plain)
    await push.send("text")
    await pull.receive()
    expect(started).toHaveLength(0)

    push.connect(pull.lastEndpoint as string, threaded)
    await pull.bind(ANY, threaded)
    await eventually(() => started.length === 1)
    const ended = exitOf(started[0] as Worker)
    pull.close()
    push.close()
    await ended
    expect(started).toHaveLength(1)
  })

  test("end with unbind() and disconnect(), and start again with the next endpoint", async () => {
    const started = startedThreads()
    const context = new Context()
    const [pull, push] = [use(new Pull({ context })), use(new Push({ context }))]
    for (let i = 1; i <= 2; i++) {
      const endpoint = await joinWith(pull, push, threaded, threaded)
      await push.send("text")
      await pull.receive()
      await eventually(() => started.length === i)
      const ended = exitOf(started[i - 1] as Worker)
      push.disconnect(endpoint)
      await pull.unbind(endpoint)
      await ended
    }
  })

  test("are reused by endpoints in quick succession", async () => {
    const started = startedThreads()
    const context = new Context()
    for (let i = 0; i < 20; i++) {
      const [pull, push] = [use(new Pull({ context })), use(new Push({ context }))]
      await joinWith(pull, push, threaded, threaded)
      await push.send("text")
      await pull.receive()
      pull.close()
      push.close()
    }
    expect(started).toHaveLength(1)
  })

  test("end if all their endpoints were refused", async () => {
    const started = startedThreads()
    const [pull, other] = [use(new Pull({ context: new Context() })), use(new Pull())]
    await other.bind(ANY, plain)
    const taken = other.lastEndpoint as string
    await expect(pull.bind(taken, threaded)).rejects.toMatchObject({ code: "EADDRINUSE" })
    expect(() => pull.bindSync(taken, threaded)).toThrow(
      expect.objectContaining({ code: "EADDRINUSE" }),
    )
    await eventually(() => started.length === 1)
    await exitOf(started[0] as Worker)
  })
})

test.each([
  ["address in use", async () => (await listening()).lastEndpoint as string],
  ["address of another machine", () => "lz4+tcp://203.0.113.1:5555"],
])("bind() and bindSync() fail with the same errors as without a thread: %s", async (_, where) => {
  const address = await where()
  const refusals = []
  for (const options of [plain, threaded]) {
    const pull = use(new Pull())
    const refusal = await pull.bind(address, options).catch((error) => error)
    expect(refusal).toBeInstanceOf(Error)
    refusals.push({ ...refusal, message: refusal.message })
    try {
      pull.bindSync(address, options)
    } catch (error) {
      refusals.push({ ...(error as Error), message: (error as Error).message })
    }
  }
  expect(refusals).toHaveLength(4)
  expect(refusals[2]).toEqual(refusals[0])
  expect(refusals[3]).toEqual(refusals[1])
})

async function listening(): Promise<Pull> {
  const pull = use(new Pull())
  await pull.bind(ANY, plain)
  return pull
}

test.each(["close", "unbind"] as const)(
  "%s() also ends connections that the thread accepts meanwhile, and the thread ends",
  async (end) => {
    const started = startedThreads()
    // No limit for the handshake, which would end the connection as well.
    const pull = use(new Pull({ context: new Context(), handshakeInterval: 0 }))
    await pull.bind(ANY, threaded)
    const peer = connect(portOf(pull.lastEndpoint as string), "127.0.0.1").resume()
    peer.on("error", () => {})
    const over = new Promise((resolve) => peer.on("close", resolve))
    const ended = exitOf(started[0] as Worker)
    await turn() // time for net to connect
    // Time for the thread to accept it. If that takes longer, the listener has yet to be closed.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    if (end === "close") pull.close()
    else await pull.unbind(pull.lastEndpoint as string)
    await over
    await ended
    expect(pull.lz4.connections).toEqual([])
  },
)

describe("when a thread dies", () => {
  /** An endpoint that no other process gets while it is not bound. */
  const reserved = async () => `lz4+tcp://127.0.0.1:${await freePort()}`
  const lone = async (started: Worker[]): Promise<Worker> => {
    await eventually(() => started.length === 1)
    return started[0] as Worker
  }

  test("there is a warning, its connections end with the error, and connecting endpoints reconnect", async () => {
    const [started, heard] = [startedThreads(), warnings()]
    const [pull, push] = [
      use(new Pull()),
      use(new Push({ context: new Context(), reconnectInterval: 10 })),
    ]
    await joinWith(pull, push, plain, threaded)
    await push.send("before")
    expect(await text(pull)).toBe("before")
    await eventually(() => push.lz4.stats.sent.messages === 1)

    const lost = once(push.lz4, "disconnect")
    await (await lone(started)).terminate()
    expect((await lost)[0].error).toMatchObject({
      code: "ERR_LZ4_THREAD",
      message: expect.stringMatching(/thread/),
    })
    await eventually(() => heard.length > 0)
    expect(heard).toEqual([expect.objectContaining({ code: "ERR_LZ4_THREAD" })])
    await push.send("after")
    expect(await text(pull)).toBe("after")
    await eventually(() => push.lz4.connections.length === 1)
    expect(started).toHaveLength(2)
  })

  test("bound endpoints are bound to the same port again, and peers reconnect", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull({ context: new Context() })),
      use(new Push({ reconnectInterval: 10 })),
    ]
    const endpoint = await joinWith(pull, push, threaded, plain, await reserved())
    await push.send("before")
    expect(await text(pull)).toBe("before")

    const lost = Promise.all([once(pull.lz4, "disconnect"), once(push.lz4, "disconnect")])
    await (await lone(started)).terminate()
    const [[{ error }]] = await lost
    expect(error).toMatchObject({ code: "ERR_LZ4_THREAD" })
    await push.send("after")
    expect(await text(pull)).toBe("after")
    expect(pull.lastEndpoint).toBe(endpoint)
    const other = use(new Push())
    other.connect(endpoint, plain)
    await other.send("of another")
    expect(await text(pull)).toBe("of another")
    await pull.unbind(endpoint)
    await eventually(() => other.bind(endpoint, plain))
  })

  test("all its endpoints recover, repeatedly", async () => {
    const started = startedThreads()
    const context = new Context()
    const [request, reply] = [
      use(new Request({ context, reconnectInterval: 10, relaxed: true, correlate: true })),
      use(new Reply({ context })),
    ]
    const [pull, push] = [
      use(new Pull({ context })),
      use(new Push({ context, reconnectInterval: 10 })),
    ]
    await joinWith(reply, request, threaded, threaded, await reserved())
    await joinWith(pull, push, threaded, threaded, await reserved())
    for (let i = 1; i <= 4; i++) {
      await push.send(`${i}`)
      while ((await text(pull)) !== `${i}`);
      const replying = reply.receive()
      await request.send(`${i}`)
      expect(String(await replying)).toBe(`${i}`)
      await reply.send(`${i}`)
      expect(await text(request)).toBe(`${i}`)
      expect(started).toHaveLength(i)
      const lost = Promise.all([once(push.lz4, "disconnect"), once(request.lz4, "disconnect")])
      await (started[i - 1] as Worker).terminate()
      await lost
      await eventually(() => started.length === i + 1)
    }
  })

  test("messages sent by a connected PUSH while there is no thread arrive, and all queued ones", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull({ receiveHighWaterMark: 1 })),
      use(new Push({ context: new Context(), sendHighWaterMark: 0, reconnectInterval: 10 })),
    ]
    await joinWith(pull, push, plain, threaded)
    // More than the system and the thread buffer, so that some is queued at the socket.
    const total = 800
    for (let i = 0; i < total; i++) await push.send([String(i), noise])
    let seen = -1
    await eventually(() => {
      const now = pull.lz4.stats.received.messages
      const rests = now > 0 && now === seen
      seen = now
      return rests
    })
    const lost = once(push.lz4, "disconnect")
    await (await lone(started)).terminate()
    await lost
    for (let i = total; i < total + 100; i++) await push.send([String(i), noise])

    const arrived: number[] = []
    while (arrived.at(-1) !== total + 99) {
      const [number, part] = await pull.receive()
      expectSameBytes(part as Buffer, noise)
      arrived.push(Number(number))
    }
    expect(new Set(arrived).size, "nothing comes twice").toBe(arrived.length)
    // Messages in flight are lost with the connection: no more than Node's streams buffer.
    const missing = Array.from({ length: total + 100 }, (_, i) => i).filter(
      (i) => !arrived.includes(i),
    )
    expect(missing.length).toBeLessThan(20)
    if (missing.length > 0)
      expect((missing.at(-1) as number) - (missing[0] as number)).toBe(missing.length - 1)
  })

  test("messages queued at a closed socket arrive over the next thread, within linger", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull({ receiveHighWaterMark: 1 })),
      use(new Push({ context: new Context(), sendHighWaterMark: 0, reconnectInterval: 10 })),
    ]
    await joinWith(pull, push, plain, threaded)
    const total = 800
    for (let i = 0; i < total; i++) await push.send([String(i), noise])
    await eventually(() => push.lz4.connections.length === 1)
    push.linger = -1
    push.close()
    const lost = once(push.lz4, "disconnect")
    await (await lone(started)).terminate()
    await lost
    let last = -1
    while (last < total - 1) {
      const number = Number(await text(pull))
      expect(number).toBeGreaterThan(last)
      last = number
    }
    await eventually(() => pull.lz4.connections.length === 0)
    await eventually(() => started.length === 2)
    await exitOf(started[1] as Worker)
  })

  test("written messages do not arrive twice, whenever the thread dies", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull()),
      use(new Push({ context: new Context(), reconnectInterval: 10 })),
    ]
    await joinWith(pull, push, plain, threaded)
    for (let i = 0; i < 5; i++) {
      await push.send(`${i}`)
      expect(await text(pull)).toBe(`${i}`)
      const lost = once(push.lz4, "disconnect")
      await (started[i] as Worker).terminate()
      await lost
    }
  })

  test("messages sent by a connecting PUSH before there was a connection arrive, once and in order", async () => {
    const started = startedThreads()
    const port = await freePort()
    const push = use(new Push({ context: new Context(), reconnectInterval: 10 }))
    push.connect(`lz4+tcp://127.0.0.1:${port}`, threaded)
    for (let i = 0; i < 100; i++) await push.send(String(i))
    await (await lone(started)).terminate()
    const pull = use(new Pull())
    await pull.bind(`lz4+tcp://127.0.0.1:${port}`, plain)
    for (let i = 0; i < 100; i++) expect(await text(pull)).toBe(String(i))
  })

  test("messages that had arrived are received", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull({ context: new Context(), receiveHighWaterMark: 50 })),
      use(new Push({ reconnectInterval: 10 })),
    ]
    await joinWith(pull, push, threaded, plain)
    for (let i = 0; i < 50; i++) await push.send(String(i))
    await eventually(() => pull.lz4.stats.received.messages === 50)
    // The thread has counted them, and posts them before its second answer.
    await pull.bind(ANY, threaded)
    await pull.unbind(pull.lastEndpoint as string)
    const lost = once(pull.lz4, "disconnect")
    await (await lone(started)).terminate()
    await lost
    for (let i = 0; i < 50; i++) expect(await text(pull)).toBe(String(i))
  })

  test("a connecting subscriber subscribes again", async () => {
    const started = startedThreads()
    const [publisher, subscriber] = [
      use(new Publisher()),
      use(new Subscriber({ context: new Context(), reconnectInterval: 10 })),
    ]
    subscriber.subscribe("topic")
    await joinWith(publisher, subscriber, plain, threaded)
    await subscribed(publisher, subscriber, "topic")
    const lost = once(subscriber.lz4, "disconnect")
    await (await lone(started)).terminate()
    await lost
    await subscribed(publisher, subscriber, "topic")
  })

  test("a socket with reconnectInterval -1 does not reconnect", async () => {
    const started = startedThreads()
    const [pull, push] = [
      use(new Pull()),
      use(new Push({ context: new Context(), reconnectInterval: -1, sendTimeout: 50 })),
    ]
    await joinWith(pull, push, plain, threaded)
    await push.send("before")
    expect(await text(pull)).toBe("before")
    const lost = once(push.lz4, "disconnect")
    await (await lone(started)).terminate()
    await lost
    // A thread that were to start later than sendTimeout would not be noticed.
    await expect(push.send("after")).rejects.toMatchObject({ code: "EAGAIN" })
    expect(started).toHaveLength(1)
  })

  test("a closed socket leaves nothing behind", async () => {
    const started = startedThreads()
    const [pull, push] = [use(new Pull()), use(new Push({ context: new Context() }))]
    await joinWith(pull, push, plain, threaded)
    await push.send("text")
    await pull.receive()
    const worker = await lone(started)
    push.close()
    await worker.terminate()
    await eventually(() => pull.lz4.connections.length === 0)
    await eventually(() => push.lz4.connections.length === 0)
    expect(started).toHaveLength(1)
  })

  test.each([
    ["bound", (socket: Pair) => socket.bind(ANY, threaded)],
    ["connected", async (socket: Pair) => socket.connect("lz4+tcp://127.0.0.1:9", threaded)],
  ])("threads that die at once are replaced after pauses: %s", async (_, open) => {
    const started: number[] = []
    const pair = use(new Pair({ context: new Context(), reconnectInterval: 100 }))
    const kill = (worker: Worker) => {
      started.push(performance.now())
      void worker.terminate()
    }
    process.once("worker", () => process.on("worker", kill))
    onTestFinished(() => {
      process.off("worker", kill)
    })
    const [first] = (await Promise.all([once(process, "worker"), open(pair)]))[0] as [Worker]
    await first.terminate()
    await eventually(() => started.length >= 4)
    expect((started[3] as number) - (started[0] as number)).toBeGreaterThan(250)
  })

  test("a pending bind() is rejected", async () => {
    const started = startedThreads()
    process.once("worker", (worker) => void worker.terminate())
    const pull = use(new Pull({ context: new Context() }))
    await expect(pull.bind(ANY, threaded)).rejects.toMatchObject({ code: "ERR_LZ4_THREAD" })
    await pull.bind(ANY, threaded)
    expect(started).toHaveLength(2)
  })
})

describe("a process with endpoints on a thread", () => {
  const sending =
    "const push = new zmq.Push({ sendHighWaterMark: 0 }); push.connect(argument, { thread: true });"

  test.each([
    ["sends and ends", `${sending} await push.send("0")`, 1],
    ["sends, closes and ends", `${sending} await push.send("0"); push.close()`, 1],
    [
      "sends, disconnects and ends",
      `${sending} await push.send("0"); push.disconnect(argument)`,
      1,
    ],
    [
      "sends many and ends",
      `${sending} for (let i = 0; i < 10_000; i++) await push.send(String(i))`,
      10_000,
    ],
    [
      "sends many large ones and ends",
      `${sending} for (let i = 0; i < 30; i++) await push.send([String(i), Buffer.alloc(1 << 20, "message " + i)])`,
      30,
    ],
    [
      "sends in a function that ends, and collects what is left",
      `await (async () => { ${sending} for (let i = 0; i < 100; i++) await push.send(String(i)) })();
      (await import("node:v8")).setFlagsFromString("--expose-gc");
      (await import("node:vm")).runInNewContext("gc")()`,
      100,
    ],
  ])("delivers when it %s", async (_, script, count) => {
    const pull = use(new Pull({ receiveHighWaterMark: 100 }))
    await pull.bind(ANY, plain)
    const running = new Script(script, pull.lastEndpoint)
    for (let i = 0; i < count; i++) expect(await text(pull)).toBe(String(i))
    expect(await running.ended(), running.errors).toEqual(natural)
  })

  test.each([
    ["bound", `await new zmq.Pull().bind("${ANY}", { thread: true })`],
    ["bound with bindSync()", `new zmq.Pull().bindSync("${ANY}", { thread: true })`],
    ["connected to nobody", `new zmq.Push().connect("lz4+tcp://127.0.0.1:9", { thread: true })`],
    [
      "connected to a peer, with heartbeats",
      `const push = new zmq.Push({ heartbeatInterval: 20, heartbeatTimeout: 300_000 }); push.connect(argument, { thread: true });
      while (push.lz4.connections.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))`,
    ],
    [
      "in a worker thread of the program",
      `import { Worker } from "node:worker_threads";
      const source = 'import("zeromq-lz4").then(async (zmq) => { await new zmq.Pull().bind("${ANY}", { thread: true }); new zmq.Push().connect("lz4+tcp://127.0.0.1:9", { thread: true }) })';
      new Worker(source, { eval: true })`,
    ],
  ])("is not kept alive by an idle socket: %s", async (_, script) => {
    const pull = use(new Pull())
    await pull.bind(ANY, plain)
    const running = new Script(script, pull.lastEndpoint)
    expect(await running.ended(), running.errors).toEqual(natural)
  })

  test.each([
    ["idle", "process.exit(3)"],
    [
      "sending",
      `for (let i = 0; i < 1000; i++) await push.send(Buffer.alloc(10_000)); process.exit(3)`,
    ],
    [
      "still starting its thread",
      `new zmq.Pull().bind("${ANY}", { thread: true }); process.exit(3)`,
    ],
    ["ending its thread", "push.close(); setImmediate(() => process.exit(3))"],
  ])("ends at once with process.exit() while it is %s", async (_, script) => {
    const pull = use(new Pull({ receiveHighWaterMark: 1 }))
    await pull.bind(ANY, plain)
    const running = new Script(`${sending} ${script}`, pull.lastEndpoint)
    expect(await running.ended(), running.errors).toEqual({ code: 3, signal: null })
  })

  test("waits for a pending bind()", async () => {
    const running = new Script(
      `const pull = new zmq.Pull(); await pull.bind("${ANY}", { thread: true }); console.log("bound")`,
      {},
    )
    expect(await running.line()).toBe("bound")
    expect(await running.ended(), running.errors).toEqual(natural)
  })

  test("waits for a pending receive(), and ends after a message", async () => {
    const running = new Script(
      `const pull = new zmq.Pull(); await pull.bind("${ANY}", { thread: true });
      console.log(pull.lastEndpoint); console.log(String(await pull.receive()))`,
      {},
    )
    const push = use(new Push())
    push.connect(await running.line(), plain)
    await push.send("text")
    expect(await running.line()).toBe("text")
    expect(await running.ended(), running.errors).toEqual(natural)
  })
})

test("an unreferenced socket is collected without close(), and its connections and thread end", async () => {
  const result = await runScript(`
    const { once } = require("node:events")
    let ended = 0
    process.on("worker", (worker) => worker.on("exit", () => ended++))
    const pull = new zmq.Pull()
    await pull.bind("${ANY}", { thread: false })
    const weak = await (async () => {
      const push = new zmq.Push()
      push.connect(pull.lastEndpoint, { thread: true })
      await push.send("text")
      await pull.receive()
      const bound = new zmq.Pull()
      await bound.bind("${ANY}", { thread: true })
      return [new WeakRef(push), new WeakRef(bound)]
    })()
    const connected = pull.lz4.connections.length
    for (let i = 0; i < 2000 && (ended === 0 || pull.lz4.connections.length > 0); i++) await collect()
    return { connected, left: pull.lz4.connections.length, ended, held: weak.map((one) => one.deref() !== undefined) }
  `)
  expect(result).toEqual({ connected: 1, left: 0, ended: 1, held: [false, false] })
})
