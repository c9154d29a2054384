/** Sockets of zeromq.js with `zeromq-lz4 bridge` between them. */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import {
  askAll,
  echoAll,
  receiveAll,
  receivingAhead,
  type Stream,
  sendAll,
  summarize,
} from "../interop/stream.js"
import { anyEndpoint, bridgesTo, type Leg, ways } from "../support/bridges.js"
import { RunningBridge } from "../support/running-bridge.js"
import { type AnySocket, eventually, freePort, subscribed, use } from "../support/sockets.js"
import { isInFull, times } from "../support/transports.js"

type Role = "connecting" | "bound"

/** Connects two sockets through a chain of bridges. */
async function join(
  connecting: AnySocket,
  bound: AnySocket,
  way: readonly Leg[],
  ...options: string[]
): Promise<void> {
  await bound.bind(anyEndpoint(way.at(-1) as Leg))
  connecting.connect(await bridgesTo(bound.lastEndpoint as string, way, ...options))
}

/** Connects a pair of sockets, of which `left` has the given role. */
const joinPair = (left: AnySocket, right: AnySocket, role: Role, way: readonly Leg[]) =>
  role === "connecting" ? join(left, right, way) : join(right, left, way)

const roles: Role[] = ["connecting", "bound"]
const cases = ways
  .flatMap((way) => roles.map((role) => ({ way, role, path: way.join(" → ") })))
  // A chain is two bridges of the other ways, and ipc:// only differs from tcp:// in how a bridge listens or connects.
  .filter(
    ({ way, role }) =>
      isInFull || role === (way.length > 2 ? "connecting" : way.includes("ipc") ? "bound" : role),
  )

describe.each(cases)("$path, the first one $role", ({ way, role }) => {
  test("PUSH and PULL", async () => {
    const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
    await joinPair(push, pull, role, way)
    const stream: Stream = { name: "pushed", count: 1000 }
    const [sent, received] = await Promise.all([
      sendAll(stream, (parts) => push.send([...parts])),
      receiveAll(stream, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
  })

  test("REQ and REP", async () => {
    const [request, reply] = [use(new zmq.Request()), use(new zmq.Reply())]
    await joinPair(request, reply, role, way)
    const stream: Stream = { name: "asked", count: 200 }
    const [asked, answered] = await Promise.all([
      askAll(
        stream,
        (parts) => request.send([...parts]),
        () => request.receive(),
      ),
      echoAll(
        stream,
        (parts) => reply.send([...parts]),
        () => reply.receive(),
      ),
    ])
    expect(answered).toEqual(asked)
  })

  test("PUB and SUB, with topics", async () => {
    const publisher = use(new zmq.Publisher({ sendHighWaterMark: 0 }))
    const subscriber = use(new zmq.Subscriber({ receiveHighWaterMark: 0 }))
    subscriber.subscribe("news")
    await joinPair(publisher, subscriber, role, way)
    await subscribed(publisher, subscriber, "news")
    const stream: Stream = { name: "topics", count: 500, topics: ["news/a", "sport", "news", "n"] }
    const news = { ...stream, only: "news" }
    const [, received] = await Promise.all([
      sendAll(stream, (parts) => publisher.send([...parts])),
      receiveAll(news, receivingAhead(subscriber)),
    ])
    expect(received).toEqual(summarize(news))
  })

  test("DEALER and ROUTER, with identities", async () => {
    const dealer = use(new zmq.Dealer({ routingId: "who" }))
    const router = use(new zmq.Router())
    await joinPair(dealer, router, role, way)
    const stream: Stream = { name: "routed", count: 200 }
    await Promise.all([
      sendAll(stream, (parts) => dealer.send([...parts])),
      echoAll(
        stream,
        (parts) => router.send([...parts]),
        async () => {
          const parts = await router.receive()
          expect(String(parts[0])).toBe("who")
          return parts
        },
        1,
      ),
      receiveAll(stream, () => dealer.receive()),
    ])
  })
})

test.each([
  { way: ["tcp", "lz4+tcp"] as Leg[], options: [] },
  { way: ["lz4+tcp", "tcp"] as Leg[], options: ["--auto-dictionary"] },
  { way: ["tcp", "lz4+tcp", "tcp"] as Leg[], options: ["--arenas", "--auto-dictionary"] },
])("many messages over $way $options", async ({ way, options }) => {
  const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
  await join(push, pull, way, ...options)
  const count = times(100_000, 20_000)
  const stream: Stream = { name: "many", count, most: 600, large: [3 << 20] }
  const [sent, received] = await Promise.all([
    sendAll(stream, (parts) => push.send([...parts])),
    receiveAll(stream, () => pull.receive()),
  ])
  expect(received).toEqual(sent)
  expect(received.messages).toBe(count)
})

test("messages sent while there is no peer behind the bridge are delivered later", async () => {
  const port = await freePort()
  const { endpoint } = await RunningBridge.start("tcp://127.0.0.1:0", `lz4+tcp://127.0.0.1:${port}`)
  const push = use(new zmq.Push())
  push.connect(endpoint)
  for (let i = 0; i < 100; i++) await push.send(String(i))
  const pull = use(new zmq.Pull())
  await pull.bind(`lz4+tcp://127.0.0.1:${port}`)
  for (let i = 0; i < 100; i++) expect(String(await pull.receive())).toBe(String(i))
})

test("a bridge that is replaced by another loses no message that it had read", async () => {
  const replacements = 3
  const pull = use(new zmq.Pull())
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const start = (from: string) => RunningBridge.start(from, pull.lastEndpoint as string)
  let bridge = await start(`tcp://127.0.0.1:${await freePort()}`)
  const push = use(new zmq.Push({ sendHighWaterMark: 0 }))
  push.connect(bridge.endpoint)
  const seen: number[] = []
  let sent = 0
  let over = false
  const send = async (count: number) => {
    for (let i = 0; i < count; i++) await push.send(String(sent++))
  }
  const receiving = (async () => {
    do seen.push(Number((await pull.receive())[0]))
    while (seen.at(-1) !== sent - 1 || !over)
  })()
  for (let i = 0; i < replacements; i++) {
    await send(5000)
    bridge.signal("SIGTERM")
    await send(5000)
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
    await send(1000)
    // All that it passed on is received before what another one does.
    await eventually(() => pull.lz4.connections.length === 0 && !pull.readable)
    bridge = await start(bridge.endpoint)
  }
  await send(100)
  over = true
  await send(1)
  await receiving
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  // libzmq drops the message that it was writing when a connection ends.
  expect(sent - seen.length).toBeLessThanOrEqual(replacements)
})
