/** How many threads links live on: at most as many as the context has for input and output. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { Context, Dealer, Pull, Push } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { runScript } from "../support/script.js"
import { anyPort, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

/**
 * `threads()` counts the worker threads. `join(count)` connects `push` to as many PULLs more;
 * `through()` says whether all of them get a message each.
 */
const helpers = `
  process.report.excludeNetwork = true // which takes long
  const threads = () => process.report.getReport().workers.length
  const push = new zmq.Push(), pulls = []
  const join = async (count) => {
    for (let i = 0; i < count; i++) {
      const pull = new zmq.Pull()
      await pull.bind("lz4+tcp://127.0.0.1:*")
      push.connect(pull.lastEndpoint)
      pulls.push(pull)
    }
    while (push.lz4.connections.length < pulls.length) await sleep(5)
  }
  const through = async () => {
    for (const _ of pulls) await push.send("x".repeat(1000))
    const parts = await Promise.all(pulls.map((pull) => pull.receive()))
    return parts.every(([part]) => part.length === 1000)
  }`

test.each([
  ["one by default", "", {}, 1],
  ["as many as ioThreads says", "zmq.context.ioThreads = 3", {}, 3],
  ["no more than there are endpoints", "zmq.context.ioThreads = 100", {}, 8],
  [
    "the calling one, if that is asked for",
    "zmq.context.ioThreads = 3",
    { ZEROMQ_LZ4_THREAD: "0" },
    0,
  ],
])("links live on %s", async (_, prelude, environment, expected) => {
  const result = await runScript(
    `${prelude}
    ${helpers}
    await join(4)
    return { arrived: await through(), threads: threads() }`,
    environment,
  )
  expect(result).toEqual({ arrived: true, threads: expected })
})

test("connections of several threads are counted each", async () => {
  const result = await runScript(`
    zmq.context.ioThreads = 2
    ${helpers}
    await join(4)
    await through()
    const { connections, stats } = push.lz4
    return { connections: connections.map(({ sent }) => sent.messages), total: stats.sent.messages }`)
  expect(result).toEqual({ connections: [1, 1, 1, 1], total: 4 })
})

test("a thread without endpoints ends, and the others go on", async () => {
  const result = await runScript(`
    zmq.context.ioThreads = 2
    ${helpers}
    const [one, other] = [new zmq.Pull(), new zmq.Pull()]
    for (const pull of [one, other]) await pull.bind("lz4+tcp://127.0.0.1:*")
    const before = threads()
    one.close()
    while (threads() > 1) await sleep(50)
    push.connect(other.lastEndpoint)
    await push.send("text")
    return { before, arrived: String(await other.receive()), after: threads() }`)
  expect(result).toEqual({ before: 2, arrived: "text", after: 2 })
})

test("a script that sends over several threads and ends has delivered", async () => {
  const pulls = Array.from({ length: 3 }, () => use(new Pull()))
  for (const pull of pulls) await pull.bind(anyPort(lz4))
  const process = new Script(
    `zmq.context.ioThreads = 3;
    const push = new zmq.Push();
    for (const endpoint of argument) push.connect(endpoint);
    for (let i = 0; i < 300; i++) await push.send(String(i).repeat(1000))`,
    pulls.map((pull) => pull.lastEndpoint),
  )
  expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  for (const pull of pulls)
    for (let i = 0; i < 100; i++) expect((await pull.receive())[0]?.length).toBeGreaterThan(999)
})

test.each(transports)(
  "without a thread of libzmq nothing can be bound over $name",
  async (transport) => {
    const context = new Context({ ioThreads: 0 })
    const noThread = expect.objectContaining({ code: "EMTHREAD" })
    const [pull, push] = [use(new Pull({ context })), use(new Push({ context }))]
    await expect(pull.bind(anyPort(transport))).rejects.toThrow(noThread)
    expect(() => push.connect(`${transport.scheme}127.0.0.1:9`)).toThrow(noThread)
  },
)

test("threads that run out of descriptors together live on", async () => {
  const process = new Script(
    `zmq.context.ioThreads = 3;
    for (let i = 0; i < 3; i++) {
      const router = new zmq.Router(); await router.bind(argument); console.log(router.lastEndpoint);
      (async () => { for await (const [id, text] of router) await router.send([id, text]) })()
    }`,
    anyPort(lz4),
    "worker",
    192,
  )
  const endpoints = [await process.line(), await process.line(), await process.line()]
  const ports = endpoints.map((endpoint) => Number(endpoint.split(":").at(-1)))
  const flood = Array.from({ length: 600 }, (_, i) =>
    connect(ports[i % 3] as number, "127.0.0.1").resume(),
  )
  for (const socket of flood) socket.on("error", () => {})
  await sleep(500) // time to run out
  expect(process.running, process.errors).toBe(true)
  for (const socket of flood) socket.destroy()
  for (const endpoint of endpoints) {
    const dealer = use(new Dealer({ reconnectInterval: 20 }))
    dealer.connect(endpoint)
    await dealer.send("text")
    expect(String((await dealer.receive())[0])).toBe("text")
  }
})
