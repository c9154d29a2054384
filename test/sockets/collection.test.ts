/** Garbage collection of sockets that listeners refer to, and events without listeners. */
import { expect, test } from "vitest"
import { Dealer } from "zeromq-lz4"

import { runScript } from "../support/script.js"
import { use } from "../support/sockets.js"
import { transports } from "../support/transports.js"

const listeners = [
  'socket.lz4.on("disconnect", () => socket.closed)',
  'socket.events.on("bind", () => socket.closed)',
]

const cases = [
  ...transports.flatMap(({ scheme }) =>
    listeners.map((listener) => ({ scheme, listener, closes: true })),
  ),
  { scheme: "lz4+tcp://", listener: listeners[0], closes: false },
]

test.each(cases)(
  "a socket is collected with its listeners: $scheme, $listener, close() $closes",
  async ({ scheme, listener, closes }) => {
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
      if (${closes}) socket.close()
      refs.push(new WeakRef(socket))
    }
    for (let i = 0; i < 20; i++) await work()
    const left = () => refs.filter((ref) => ref.deref()).length
    while (left() > 0) await collect()
    return left()`)
    expect(left).toBe(0)
  },
)

test("listeners of a socket's lz4 are called even if nothing refers to the socket any more", async () => {
  const told = await runScript(`
    const pull = new zmq.Pull({ linger: 0 })
    await pull.bind("lz4+tcp://127.0.0.1:*")
    const [ref, lz4] = await (async () => {
      const push = new zmq.Push({ linger: 0 })
      push.connect(pull.lastEndpoint)
      await push.send("text")
      await pull.receive()
      return [new WeakRef(push), push.lz4]
    })()
    const told = new Promise((resolve) => lz4.on("disconnect", resolve))
    setInterval(() => {}, 1000) // a thread may tell of it later, and keeps no process alive
    while (ref.deref()) await collect()
    await told
    return lz4.stats.sent.messages`)
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
