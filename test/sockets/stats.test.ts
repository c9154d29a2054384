/** Information about connections in `lz4`: the list, the totals, the events. */
import { once } from "node:events"
import { inspect } from "node:util"
import { expect, test } from "vitest"
import { type Lz4Events, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { RawServer } from "../support/raw-ends.js"
import { portOf, type RawPeer, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { messagesIn, Relay } from "../support/relay.js"
import { eventually, freePort, use } from "../support/sockets.js"
import { dictionary, lz4 } from "../support/transports.js"
import { concat } from "../support/wire.js"
import { COMMAND, frame, handshake, message } from "../support/zmtp.js"

const address = `${lz4.scheme}127.0.0.1:*`
const NOTHING = { messages: 0, plainBytes: 0, wireBytes: 0 }
const NONE = { messages: 0, bytes: 0 }
const NO_INCIDENTS = { protocolErrors: 0, reconnects: 0, dropped: 0, waiting: NONE }
const json = payload("json", 10_000)

const subscription = (topic: string): Uint8Array =>
  frame(Buffer.from(`\x09SUBSCRIBE${topic}`), COMMAND)

const connected = async (options = {}) => {
  const [pull, push] = [use(new Pull()), use(new Push())]
  await pull.bind(address)
  const relay = use(await Relay.before(pull.lastEndpoint as string))
  push.connect(relay.endpoint, options)
  await push.send("first")
  await pull.receive()
  // Messages may arrive before the event of the connection.
  await eventually(() => [pull, push].every(({ lz4 }) => lz4.connections.length === 1))
  return { pull, push, relay }
}

test("a socket without connections has counts of 0", () => {
  const { lz4 } = use(new Push())
  expect(lz4.connections).toEqual([])
  expect(lz4.stats).toEqual({ sent: NOTHING, received: NOTHING, ...NO_INCIDENTS })
})

test.each([
  ["without a dictionary", { level: 0 }],
  ["with a dictionary", { dictionary, level: 0 }],
])("messages and bytes are those on the wire %s", async (_, options) => {
  const { pull, push, relay } = await connected(options)
  const messages = [["text"], ["", "a", json], [json.subarray(0, 400)], [payload("random", 2000)]]
  for (const message of messages) {
    await push.send(message)
    await pull.receive()
  }
  const bytes = (of: Iterable<{ length: number }>) =>
    [...of].reduce((sum, { length }) => sum + length, 0)
  const wire = messagesIn(relay.connections[0]?.fromClient ?? []).flat()
  const expected = {
    messages: messages.length + 1,
    plainBytes: bytes(messages.flat()) + "first".length,
    wireBytes: bytes(wire),
  }
  // A thread may report a write after its message has arrived.
  await eventually(() =>
    expect(push.lz4.stats).toEqual({ sent: expected, received: NOTHING, ...NO_INCIDENTS }),
  )
  expect(pull.lz4.stats).toEqual({ sent: NOTHING, received: expected, ...NO_INCIDENTS })
  expect(expected.wireBytes).toBeLessThan(expected.plainBytes)
  const [of] = push.lz4.connections
  expect(of?.sent).toEqual({ ...expected, dictionary: "dictionary" in options, level: 0 })
})

test.each([0, 3, 12, "adaptive"] as const)("shows the current level for %s", async (level) => {
  const { pull, push } = await connected({ level })
  await push.send(json)
  await pull.receive()
  expect(push.lz4.connections[0]?.sent.level).toBe(level === "adaptive" ? 0 : level)
  expect(pull.lz4.connections[0]?.sent.level).toBe(0)
})

test("commands and subscriptions are not counted", async () => {
  const pub = use(new Publisher({ heartbeatInterval: 10, heartbeatTimeout: 300_000 }))
  const sub = use(new Subscriber())
  await pub.bind(address)
  const relay = use(await Relay.before(pub.lastEndpoint as string))
  sub.connect(relay.endpoint)
  sub.subscribe("a")
  const said = (stream: Uint8Array[] = []) => Buffer.concat(stream).toString("latin1")
  await eventually(() => {
    const [connection] = relay.connections
    const [ofPub, ofSub] = [said(connection?.fromServer), said(connection?.fromClient)]
    return (
      ofPub.split("\x04PING").length > 3 && ofSub.includes("PONG") && ofSub.includes("SUBSCRIBEa")
    )
  })
  for (const { lz4 } of [pub, sub])
    expect(lz4.stats).toEqual({ sent: NOTHING, received: NOTHING, ...NO_INCIDENTS })
})

test("connections have their endpoint, as it was bound or connected", async () => {
  const pull = use(new Pull())
  await pull.bind(address)
  const first = pull.lastEndpoint as string
  await pull.bind(address)
  const push = use(new Push())
  const second = (pull.lastEndpoint as string).replace("127.0.0.1", "localhost")
  push.connect(first)
  push.connect(second)
  await eventually(() => [pull, push].every(({ lz4 }) => lz4.connections.length === 2))
  const named = ({ lz4 }: Pull | Push) => lz4.connections.map(({ endpoint }) => endpoint).sort()
  expect(named(push)).toEqual([first, second].sort())
  expect(named(pull)).toEqual([first, pull.lastEndpoint].sort())
})

test("connections of an endpoint on all addresses have 0.0.0.0, and no scheme before their handshake", async () => {
  const pull = use(new Pull())
  await pull.bind(`${lz4.scheme}*:*`)
  const endpoint = `${lz4.scheme}0.0.0.0:${portOf(pull.lastEndpoint as string)}`
  expect(pull.lastEndpoint).toBe(endpoint)
  const peer = use(await rawPeer(endpoint, Buffer.alloc(0)))
  const only = () => pull.lz4.connections[0]
  await eventually(() => pull.lz4.connections.length === 1)
  expect(only()).toMatchObject({ endpoint, scheme: undefined })
  peer.socket.write(handshake("PUSH", 2))
  await eventually(() => only()?.scheme === "lz4+tcp")
})

test("connections have their peer's address, as both sides see it", async () => {
  const pull = use(new Pull())
  await pull.bind(address)
  const pushes = [use(new Push()), use(new Push()), use(new Push())]
  for (const push of pushes) push.connect(pull.lastEndpoint as string)
  await eventually(() => pull.lz4.connections.length === pushes.length)
  await eventually(() => pushes.every(({ lz4 }) => lz4.connections.length === 1))
  const port = portOf(pull.lastEndpoint as string)
  for (const { lz4 } of pushes)
    expect(lz4.connections[0]).toMatchObject({ remoteAddress: "127.0.0.1", remotePort: port })
  expect(new Set(pull.lz4.connections.map(({ remotePort }) => remotePort)).size).toBe(3)

  pushes[1]?.close()
  await eventually(() => pull.lz4.connections.length === 2)
})

test("totals include closed connections", async () => {
  const { pull, push, relay } = await connected()
  const before = pull.lz4.stats
  expect(before.received.messages).toBe(1)
  const gone = once(pull.lz4, "disconnect")
  relay.cut()
  await gone
  expect(pull.lz4.stats).toEqual(before)
  await eventually(() => [pull, push].every(({ lz4 }) => lz4.connections.length === 1))
  await push.send("first")
  await pull.receive()
  expect(pull.lz4.stats.received).toEqual({
    messages: 2,
    plainBytes: 2 * before.received.plainBytes,
    wireBytes: 2 * before.received.wireBytes,
  })
  await eventually(() => expect(push.lz4.stats.sent).toEqual(pull.lz4.stats.received))
})

test("values that were read do not change later", async () => {
  const { pull, push } = await connected()
  const { connections, stats } = pull.lz4
  const copy = structuredClone({ connections, stats })
  await push.send("second")
  await pull.receive()
  expect({ connections, stats }).toEqual(copy)
})

test("connect and disconnect are emitted once for each connection, with its address", async () => {
  const pull = use(new Pull())
  const events: [keyof Lz4Events, unknown][] = []
  for (const name of ["connect", "disconnect", "protocolError"] as const)
    pull.lz4.on(name, (event: object) => events.push([name, event]))
  await pull.bind(address)
  const push = use(new Push())
  push.connect(pull.lastEndpoint as string)
  await push.send("text")
  await pull.receive() // the end of a handshake could be reported as a network error
  await eventually(() => events.length === 1)
  // Closing a socket with unread bytes resets the connection.
  await eventually(() => push.lz4.connections.length === 1)
  const { remoteAddress, remotePort } = pull.lz4.connections[0] ?? {}
  push.close()
  await eventually(() => events.length === 2)
  expect(events).toEqual([
    ["connect", { remoteAddress, remotePort }],
    ["disconnect", { remoteAddress, remotePort, error: undefined }],
  ])
})

test("disconnect has the network error", async () => {
  const { pull, relay } = await connected()
  const gone = once(pull.lz4, "disconnect")
  relay.reset()
  expect((await gone)[0].error).toMatchObject({ code: "ECONNRESET" })
})

test("lz4 is always the same object, also for a closed socket", async () => {
  const { pull } = await connected()
  const { lz4 } = pull
  expect(pull.lz4).toBe(lz4)
  pull.close()
  expect(pull.lz4).toBe(lz4)
  expect(pull.lz4.stats.received.messages).toBe(1)
  await eventually(() => pull.lz4.connections.length === 0)
})

test("totals include messages queued for a pending connection", async () => {
  const push = use(new Push())
  const endpoint = `${lz4.scheme}127.0.0.1:${await freePort()}`
  push.connect(endpoint)
  for (const message of [["a"], ["b", "c"], [json]]) await push.send(message)
  const { waiting, sent } = push.lz4.stats
  expect(waiting.messages).toBe(3)
  expect(waiting.bytes).toBeGreaterThan(0)
  expect(sent).toEqual(NOTHING)
  push.disconnect(endpoint)
  await eventually(() => push.lz4.stats.waiting.messages === 0)
})

test("totals include the unsent messages of a closed socket until linger is over", async () => {
  const push = use(new Push())
  push.connect(`${lz4.scheme}127.0.0.1:${await freePort()}`)
  await push.send("text")
  push.linger = 100
  push.close()
  expect(push.lz4.stats.waiting.messages).toBe(1)
  await eventually(() => push.lz4.stats.waiting.messages === 0)
})

test("queued messages are counted until they are sent", async () => {
  const pushes = use(new Push({ sendTimeout: 0 }))
  await pushes.bind(address, { level: "none" })
  const peer = use(await rawZmtpPeer(pushes.lastEndpoint as string, "PULL"))
  peer.socket.pause()
  await eventually(() => pushes.lz4.connections.length === 1)
  const part = payload("random", 1 << 20)
  const full = async () => {
    await pushes.send(part)
    return pushes.lz4.stats.waiting.messages > 40 // the system accepts some before they are read again
  }
  await eventually(full)
  const [connection] = pushes.lz4.connections
  // They change while the system accepts some.
  await eventually(() => {
    const { waiting } = pushes.lz4.stats
    expect(pushes.lz4.connections[0]?.waiting).toEqual(waiting)
    expect(waiting.bytes).toBeGreaterThanOrEqual((waiting.messages - 1) * part.length)
  })
  expect(connection?.waiting.messages).toBeGreaterThan(20)
  peer.socket.resume()
  await eventually(() => {
    expect(pushes.lz4.stats.waiting).toEqual(NONE)
    expect(pushes.lz4.connections[0]?.waiting).toEqual(NONE)
  })
})

test("a publisher counts dropped messages, for each peer and in total", async () => {
  const pub = use(new Publisher({ sendHighWaterMark: 10 }))
  await pub.bind(address, { level: "none" })
  const endpoint = pub.lastEndpoint as string
  const slow = use(await rawZmtpPeer(endpoint, "SUB", subscription("")))
  slow.socket.pause()
  const other = use(await rawZmtpPeer(endpoint, "SUB", subscription("another topic")))
  await eventually(() => pub.lz4.connections.length === 2)
  const dropped = () => {
    const of = ({ address: { remotePort } }: RawPeer) =>
      pub.lz4.connections.find((one) => one.remotePort === remotePort)?.dropped
    return [of(slow), of(other), pub.lz4.stats.dropped]
  }
  const part = payload("random", 1 << 20)
  await eventually(async () => {
    await pub.send(part)
    return pub.lz4.stats.dropped > 0
  })
  // A thread may be late, and make room once more.
  let before = 0
  await eventually(async () => {
    before = pub.lz4.stats.dropped
    expect(dropped()).toEqual([before, 0, before])
    for (let i = 0; i < 5; i++) await pub.send(part)
    expect(dropped()).toEqual([before + 5, 0, before + 5])
  })
  slow.close()
  await eventually(() => pub.lz4.connections.length === 1)
  expect(dropped()).toEqual([undefined, 0, before + 5])
  expect(pub.lz4.stats.waiting).toEqual(NONE)
})

test("reconnections are counted, by endpoint", async () => {
  const { pull, push, relay } = await connected({ arenas: false })
  for (const reconnects of [1, 2]) {
    relay.cut()
    await eventually(() => push.lz4.connections[0]?.reconnects === reconnects)
    expect(push.lz4.stats.reconnects).toBe(reconnects)
  }
  await eventually(() => pull.lz4.connections[0]?.reconnects === 0)
  expect(pull.lz4.stats.reconnects).toBe(0)
  push.close()
  await eventually(() => push.lz4.connections.length === 0)
  expect(push.lz4.stats.reconnects).toBe(2)
})

test("violations are counted, also after the connection has ended", async () => {
  const pull = use(new Pull())
  await pull.bind(address)
  for (const count of [1, 2]) {
    const failed = once(pull.lz4, "protocolError")
    use(await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", message(Buffer.from("no sentinel"))))
    await failed
    expect(pull.lz4.stats.protocolErrors).toBe(count)
    await eventually(() => pull.lz4.connections.length === 0)
  }
  expect(pull.lz4.stats.protocolErrors).toBe(2)
})

test("an endpoint that reconnects shows how often its peer broke a rule", async () => {
  const server = await RawServer.start()
  const pull = use(new Pull({ reconnectInterval: 1 }))
  pull.connect(`${lz4.scheme}127.0.0.1:${server.port}`)
  const [first] = await Promise.all([server.accept(), once(pull.lz4, "connect")])
  first.socket.write(concat(handshake("PUSH"), message(Buffer.from("no sentinel"))))
  const [second] = await Promise.all([server.accept(), once(pull.lz4, "connect")])
  second.socket.write(handshake("PUSH"))
  expect(pull.lz4.connections).toMatchObject([{ protocolErrors: 1, reconnects: 1 }])
  expect(pull.lz4.stats).toMatchObject({ protocolErrors: 1, reconnects: 1 })
})

test("console.log shows the totals and the connections", async () => {
  const { push } = await connected()
  const shown = inspect(push.lz4)
  const { stats, connections } = push.lz4
  expect(shown).toMatch(/^Lz4 \{/)
  const { messages, plainBytes, wireBytes } = stats.sent
  expect(shown).toContain(
    `sent: { messages: ${messages}, plainBytes: ${plainBytes}, wireBytes: ${wireBytes} }`,
  )
  for (const name of ["dropped", "protocolErrors", "reconnects"])
    expect(shown.match(new RegExp(`${name}: 0`, "g"))).toHaveLength(2)
  expect(shown).toContain(`endpoint: '${connections[0]?.endpoint}'`)
  expect(shown).not.toContain("[Object]")
  expect(inspect([[[[push.lz4]]]], { depth: 3 })).toContain("[Lz4]")
})

test("console.log shows a JavaScript Proxy of it by name only", async () => {
  const { push } = await connected()
  expect(inspect(new Proxy(push.lz4, {}))).toBe("[Lz4]")
  expect(inspect({ lz4: Object.create(push.lz4) })).toBe("{ lz4: [Lz4] }")
})
