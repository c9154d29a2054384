/** Garbage collection of sockets with listeners and without, and events that nobody receives. */
import { expect, test } from "vitest"
import { Dealer } from "zeromq-lz4"

import { runScript } from "../support/script.js"
import { use } from "../support/sockets.js"
import { transports } from "../support/transports.js"

const listeners = [
  'socket.lz4.on("disconnect", () => socket.closed)',
  'socket.events.on("bind", () => socket.closed)',
]

const cases = transports.flatMap(({ scheme }) =>
  listeners.map((listener) => ({ scheme, listener })),
)

test.each(cases)(
  "a closed socket is collected with its listeners: $scheme, $listener",
  async ({ scheme, listener }) => {
    const left = await runScript(`
    const refs = []
    const work = async () => {
      const socket = new zmq.Pull({ linger: 0 }), push = new zmq.Push({ linger: 0 })
      ${listener}
      await socket.bind("${scheme}127.0.0.1:*")
      push.connect(socket.lastEndpoint)
      await push.send("text")
      await socket.receive()
      push.close()
      socket.close()
      refs.push(new WeakRef(socket))
    }
    for (let i = 0; i < 20; i++) await work()
    const left = () => refs.filter((ref) => ref.deref()).length
    while (left() > 0) await collect()
    return left()`)
    expect(left).toBe(0)
  },
)

const waits = [
  'socket.lz4.once("disconnect", resolve)',
  'once(socket.lz4, "disconnect").then(resolve)',
]

test.each(waits)("a socket that nothing but a listener refers to is kept: %s", async (wait) => {
  const kept = await runScript(`
    const { once } = await import("node:events")
    const pull = new zmq.Pull({ linger: 0 })
    await pull.bind("lz4+tcp://127.0.0.1:*")
    const work = async () => {
      const socket = new zmq.Push({ linger: 0 })
      const told = new Promise((resolve) => { ${wait} })
      socket.connect(pull.lastEndpoint)
      await socket.send("text")
      await pull.receive()
      return [new WeakRef(socket), told]
    }
    const [ref, told] = await work()
    for (let i = 0; i < 10; i++) await collect()
    const kept = ref.deref() !== undefined
    setInterval(() => {}, 1000) // an awaited event does not keep the process alive
    pull.close()
    await told
    return kept`)
  expect(kept).toBe(true)
})

test("a socket to which nobody listens any more is collected without close()", async () => {
  const told = await runScript(`
    const pull = new zmq.Pull({ linger: 0 })
    await pull.bind("lz4+tcp://127.0.0.1:*")
    const gone = new Promise((resolve) => pull.lz4.on("disconnect", resolve))
    const ref = await (async () => {
      const push = new zmq.Push({ linger: 0 })
      const listener = () => push.closed
      push.lz4.on("connect", listener).once("connect", listener).prependListener("disconnect", listener)
      push.connect(pull.lastEndpoint)
      await push.send("text")
      await pull.receive()
      push.lz4.off("connect", listener).removeAllListeners("disconnect")
      return new WeakRef(push)
    })()
    while (ref.deref()) await collect()
    setInterval(() => {}, 1000) // an awaited event does not keep the process alive
    await gone
    return pull.lz4.stats.received.messages`)
  expect(told).toBe(1)
})

test("of events that nobody receives, the first 2,000 are kept", async () => {
  const dealer = use(new Dealer())
  const { events } = dealer
  let refusals = 0
  for (let i = 0; i < 2500; i++) {
    try {
      dealer.bindSync("lz4+tcp://192.0.2.1:1")
    } catch {
      refusals++
    }
  }
  expect(refusals).toBe(2500)
  await dealer.bind("lz4+tcp://127.0.0.1:*")
  let last = ""
  let count = 0
  dealer.close()
  while (last !== "end") {
    last = (await events.receive()).type
    count++
  }
  expect(count).toBe(2001)
})
