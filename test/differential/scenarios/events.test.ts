/**
 * The events of socket.events, and their order.
 *
 * Observers are closed by their sockets only: after a call to events.close() the next event blocks
 * libzmq for good.
 */
import { expect } from "vitest"
import type { Observer, Push } from "zeromq"

import { NEVER_MS, scenario } from "../scenario.js"

scenario(
  "a bound socket: bind, accept, handshake, disconnect, close, end",
  async ({ zmq, make, bind, happened, until, events, observe, eventTypes }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    await happened(pull, "handshake")
    push.close()
    await happened(pull, "disconnect")
    pull.close()
    await until(() => eventTypes(pull).includes("end"))
    observe("pull", events(pull))
  },
  { pull: expect.arrayContaining([expect.objectContaining({ type: "accept" }), { type: "end" }]) },
)

scenario(
  "a connected socket: connect:delay, connect, handshake, end",
  async ({ zmq, make, bind, happened, until, events, observe, eventTypes }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    await happened(push, "handshake")
    push.close()
    await until(() => eventTypes(push).includes("end"))
    observe("push", events(push))
  },
  { push: expect.arrayContaining([expect.objectContaining({ type: "connect" })]) },
)

scenario(
  "a connected socket whose peer disconnects: disconnect, connect:retry, connect:delay, close …",
  async ({ zmq, make, bind, happened, events, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push, { reconnectInterval: 20 })]
    push.connect(await bind(pull))
    await happened(push, "handshake")
    pull.close()
    await happened(push, "disconnect")
    await happened(push, "connect:retry", 3)
    const seen = events(push)
    const third = seen.map(({ type }) => type).lastIndexOf("connect:retry")
    observe("push", seen.slice(0, third + 1).slice(0, 10))
  },
  { push: expect.arrayContaining([expect.objectContaining({ type: "connect:retry" })]) },
)

scenario(
  "an unused port: connect:delay, close, connect:retry, repeated",
  async ({ zmq, make, unused, happened, events, observe }) => {
    const push = make(zmq.Push, { reconnectInterval: 10 })
    push.connect(await unused())
    await happened(push, "connect:retry", 3)
    observe("push", events(push).slice(0, 8))
  },
  { push: expect.arrayContaining([expect.objectContaining({ type: "close" })]) },
)

for (const [name, address] of Object.entries({
  "a host whose address is unknown": "no-such-host.invalid:5555",
  "no host": ":5555",
  "no host in brackets": "[]:5555",
  "a source that is not an address of this machine": "192.0.2.1:0;127.0.0.1:5555",
}))
  scenario(
    `an attempt to connect to ${name} has no connect:delay`,
    async ({ zmq, make, at, happened, events, observe }) => {
      const push = make(zmq.Push, { reconnectInterval: 10 })
      push.connect(at(address))
      await happened(push, "connect:retry", 2)
      const seen = events(push)
      const types = seen.map(({ type }) => type)
      const second = types.indexOf("connect:retry", types.indexOf("connect:retry") + 1)
      observe("push", seen.slice(0, second + 1))
    },
    { push: expect.arrayContaining([expect.objectContaining({ type: "connect:retry" })]) },
  )

scenario(
  "reconnection: the events of both sides",
  async ({ zmq, make, bind, until, attempt, happened, eventTypes, observe }) => {
    const [first, push] = [make(zmq.Pull), make(zmq.Push, { reconnectInterval: 10 })]
    const endpoint = await bind(first)
    push.connect(endpoint)
    await happened(push, "handshake")
    first.close()
    await happened(push, "disconnect")
    const second = make(zmq.Pull)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await happened(push, "handshake", 2)
    await happened(second, "handshake")
    // The numbers of attempts depend on time.
    const types = eventTypes(push)
    observe("push", types.slice(0, 4))
    observe("push at last", types.slice(-2))
    const seen = eventTypes(second)
    observe("second", seen.slice(seen.lastIndexOf("bind")))
  },
  { "push at last": ["connect", "handshake"], second: ["bind", "accept", "handshake"] },
)

scenario(
  "two peers of one socket",
  async ({ zmq, make, bind, joined, disconnect, eventTypes, observe }) => {
    const pull = make(zmq.Pull)
    const endpoint = await bind(pull)
    const pushes = [make(zmq.Push), make(zmq.Push)]
    for (const [i, push] of pushes.entries()) {
      push.connect(endpoint)
      await joined(pull, i + 1)
    }
    await disconnect(pushes[0]!, endpoint, pull)
    observe("pull", eventTypes(pull))
  },
  { pull: ["bind", "accept", "handshake", "accept", "handshake", "disconnect"] },
)

scenario(
  "bind to a port in use: bind:error",
  async ({ zmq, make, bind, attempt, happened, events, observe }) => {
    const [first, second] = [make(zmq.Pull), make(zmq.Pull)]
    const endpoint = await bind(first)
    await attempt(() => second.bind(endpoint))
    await happened(second, "bind:error")
    observe("second", events(second))
  },
  { second: [{ type: "close" }, { type: "bind:error", error: { code: "EADDRINUSE" } }] },
)

scenario(
  "a peer that tcpAcceptFilter does not admit: accept:error",
  async ({ zmq, make, bind, happened, events, eventTypes, observe }) => {
    const pull = make(zmq.Pull, { tcpAcceptFilter: "192.0.2.0/24" } as object)
    const push = make(zmq.Push, { reconnectInterval: NEVER_MS })
    push.connect(await bind(pull))
    await happened(push, "connect:retry")
    await happened(pull, "accept:error")
    observe("pull", events(pull))
    observe("push", eventTypes(push))
  },
  { pull: [{ type: "bind" }, { type: "accept:error" }] },
)

scenario(
  "unbind: close",
  async ({ zmq, make, bind, happened, events, observe }) => {
    const pull = make(zmq.Pull)
    const endpoint = await bind(pull)
    await pull.unbind(endpoint)
    await happened(pull, "close")
    observe("pull", events(pull))
  },
  { pull: [{ type: "bind" }, { type: "close" }] },
)

scenario(
  "bind twice, close: events in the order in which they happened",
  async ({ zmq, make, bind, until, events, eventTypes, observe }) => {
    const pull = make(zmq.Pull)
    await bind(pull)
    await bind(pull)
    pull.close()
    await until(() => eventTypes(pull).includes("end"))
    observe("types", eventTypes(pull))
    observe("bind", events(pull).slice(0, 2))
  },
  { types: ["bind", "bind", "close", "close", "end"] },
)

scenario(
  "disconnect() of a connected socket",
  async ({ zmq, make, bind, happened, disconnect, settled, eventTypes, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    const endpoint = await bind(pull)
    push.connect(endpoint)
    await happened(push, "handshake")
    await happened(pull, "handshake")
    await disconnect(push, endpoint, pull)
    await settled()
    observe("push", eventTypes(push))
    observe("pull", eventTypes(pull))
  },
  { pull: ["bind", "accept", "handshake", "disconnect"] },
)

for (const [bound, connecting] of [
  ["Pull", "Pull"],
  ["Push", "Subscriber"],
  ["Reply", "Router"],
  ["Request", "Request"],
  ["Pair", "Dealer"],
  ["Publisher", "Pull"],
] as const) {
  scenario(
    `incompatible types of sockets: ${bound} and ${connecting}`,
    async ({ zmq, make, bind, happened, settled, eventTypes, events, observe }) => {
      const a = make(zmq[bound] as typeof zmq.Dealer)
      const b = make(zmq[connecting] as typeof zmq.Dealer, { reconnectInterval: NEVER_MS })
      b.connect(await bind(a))
      await happened(a, "disconnect")
      await happened(b, "disconnect")
      await settled()
      observe("bound", eventTypes(a))
      observe("connecting", eventTypes(b))
      observe(
        "errors",
        [...events(a), ...events(b)].filter(({ type }) => type.includes("error")),
      )
    },
    { bound: expect.arrayContaining(["accept", "disconnect"]) },
  )
}

scenario(
  "events.receive() returns one event at a time, and refuses wrong calls",
  async ({ zmq, plain, bind, attempted, observe }) => {
    const pull = plain(zmq.Pull)
    const { events } = pull
    observe("the same object", pull.events === events)
    observe("closed", events.closed)
    const first = events.receive()
    await attempted("busy", () => events.receive())
    // @ts-expect-error: none
    await attempted("arguments", () => events.receive(1))
    await bind(pull)
    observe("first", await first)
    pull.close()
    observe("second", await events.receive())
    observe("third", await events.receive())
    observe("closed then", events.closed)
    await attempted("after the end", () => events.receive())
    await attempted("close", () => events.close())
    await attempted("close again", () => events.close())
  },
  {
    busy: { throws: { code: "EBUSY" } },
    first: { type: "bind" },
    third: { type: "end" },
    "after the end": { throws: { code: "EBADF" } },
  },
)

scenario(
  "events can be iterated until the end",
  async ({ zmq, plain, bind, until, observe }) => {
    const pull = plain(zmq.Pull)
    const { events } = pull
    const types: string[] = []
    const iterating = (async () => {
      for await (const event of events) types.push(event.type)
    })()
    await bind(pull)
    await until(() => types.length)
    pull.close()
    await iterating
    observe("types", types)
  },
  { types: ["bind", "close", "end"] },
)

scenario(
  "events.on and events.off; receive() is refused after them",
  async ({ zmq, plain, bind, until, attempted, observe }) => {
    const pull = plain(zmq.Pull)
    const { events } = pull
    const heard: string[] = []
    const listener = (event: { type: string }) => heard.push(event.type)
    const off = (event: { type: string }) => heard.push(`off ${event.type}`)
    const returned = events.on("bind", listener)
    returned.on("close", listener)
    events.on("end", listener)
    events.on("bind", off)
    events.off("bind", off)
    await attempted("receive", () => events.receive())
    const endpoint = await bind(pull)
    await until(() => heard.includes("bind"))
    const push = plain(zmq.Push)
    push.connect(endpoint)
    await push.send("text")
    await pull.receive()
    pull.close()
    await until(() => heard.includes("end"))
    observe("heard", heard)
  },
  { heard: ["bind", "close", "end"] },
)

scenario(
  "an Observer created with its constructor",
  async ({ zmq, plain, bind, attempted, observe }) => {
    // @ts-expect-error: a socket is needed
    await attempted("of nothing", () => new zmq.Observer())
    // @ts-expect-error: a socket is needed
    await attempted("of an object", () => new zmq.Observer({}))
    const pull = plain(zmq.Pull)
    const observer: Observer = pull.events
    observe("class", observer instanceof zmq.Observer)
    await bind(pull)
    observe("event", await observer.receive())
    const other = plain(zmq.Pull)
    const created = new zmq.Observer(other)
    observe("another", [created instanceof zmq.Observer, created.constructor.name, created.closed])
    await bind(other)
    observe("its event", await created.receive())
    other.close()
    observe("its events then", [await created.receive(), await created.receive()])
  },
  { class: true, event: { type: "bind" }, "its event": { type: "bind" } },
)

scenario(
  "a new Observer takes the place of the previous one",
  async ({ zmq, plain, bind, observe }) => {
    const pull = plain(zmq.Pull)
    const first = pull.events
    const waiting = first.receive()
    const second = new zmq.Observer(pull)
    observe("first", await waiting)
    observe("closed", [first.closed, second.closed])
    await bind(pull)
    observe("second", await second.receive())
  },
  { first: { type: "end" }, second: { type: "bind" } },
)

scenario(
  "events of a closed socket",
  async ({ zmq, plain, bind, attempted }) => {
    const pull = plain(zmq.Pull)
    await bind(pull)
    pull.close()
    await attempted("events", () => typeof pull.events)
  },
  { events: { throws: expect.anything() } },
)

scenario(
  "events of a closed socket continue until its messages are delivered",
  async ({ zmq, make, unused, until, eventTypes, happened, attempted, observe }) => {
    const endpoint = await unused()
    const push = make(zmq.Push, { reconnectInterval: 20 })
    push.connect(endpoint)
    await push.send("text")
    await happened(push, "close")
    push.close()
    await attempted("connect", () => push.connect(endpoint))
    await attempted("bindSync", () => push.bindSync(endpoint))
    await attempted("bind", () => push.bind(endpoint))
    await happened(push, "close", 3)
    observe("ended while messages are queued", eventTypes(push).includes("end"))
    const pull = make(zmq.Pull)
    await pull.bind(endpoint)
    observe("delivered", await pull.receive())
    await until(() => eventTypes(push).includes("end"))
    const types = eventTypes(push)
    observe("events", types.slice(types.indexOf("connect")))
  },
  {
    "ended while messages are queued": false,
    delivered: ["text"],
    events: ["connect", "handshake", "end"],
  },
)

scenario(
  "a closed socket reports that a peer disconnected before its messages were delivered",
  async ({ zmq, make, until, rawListener, eventTypes, happened, observe }) => {
    const listener = await rawListener()
    const push = make(zmq.Push, { reconnectInterval: 20 })
    push.connect(listener.endpoint)
    await push.send("text")
    await happened(push, "connect")
    push.close()
    await until(() => listener.peers.length === 1)
    listener.peers[0]!.close()
    await until(() => listener.peers.length === 2)
    const peer = listener.peers[1]!
    peer.greet()
    peer.ready({ socketType: "PULL" })
    await until(() => peer.frames.includes("message text"))
    await until(() => eventTypes(push).includes("end"))
    observe("events", eventTypes(push))
  },
  {
    events: [
      "connect:delay",
      "connect",
      "handshake:error:other",
      "disconnect",
      "connect:retry",
      "connect:delay",
      "connect",
      "handshake",
      "end",
    ],
  },
)

scenario(
  "a closed socket ends when linger expires",
  async ({ zmq, plain, unused, observe }) => {
    const pushes: Push[] = []
    const ended: number[] = []
    const ends: Promise<void>[] = []
    for (const linger of [0, 1000]) {
      const push = plain(zmq.Push, { reconnectInterval: 20, linger })
      const end = async () => {
        for await (const { type } of push.events) if (type === "end") ended.push(linger)
      }
      ends.push(end())
      push.connect(await unused())
      await push.send("text")
      pushes.push(push)
    }
    for (const push of pushes) push.close()
    await Promise.all(ends)
    observe("ended", ended)
  },
  { ended: [0, 1000] },
)

for (const mark of [1, 2, 3])
  scenario(
    `a peer that leaves is noticed, although it has filled a queue of ${mark}`,
    async ({ zmq, make, bind, joined, happened, eventTypes, take, observe }) => {
      const pull = make(zmq.Pull, { receiveHighWaterMark: mark })
      const push = make(zmq.Push)
      push.connect(await bind(pull))
      await joined(pull)
      for (let i = 0; i < mark; i++) await push.send(`${i}`)
      push.close()
      await happened(pull, "disconnect")
      observe("events", eventTypes(pull))
      observe("received", (await take(pull, mark)).length)
    },
    { received: mark },
  )
