/** What `lz4` tells of connections: the list, the totals, the events. */
import { once } from "node:events"
import { expect, test } from "vitest"
import { type Lz4Events, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { portOf } from "../support/raw-peer.js"
import { messagesIn, Relay } from "../support/relay.js"
import { eventually, use } from "../support/sockets.js"
import { dictionary, lz4 } from "../support/transports.js"

const address = `${lz4.scheme}127.0.0.1:*`
const NOTHING = { messages: 0, plainBytes: 0, wireBytes: 0 }
const json = payload("json", 10_000)

const connected = async (options = {}) => {
  const [pull, push] = [use(new Pull()), use(new Push())]
  await pull.bind(address)
  const relay = use(await Relay.before(pull.lastEndpoint as string))
  push.connect(relay.endpoint, options)
  await push.send("first")
  await pull.receive()
  // Messages may be there before the news of the connection.
  await eventually(() => [pull, push].every(({ lz4 }) => lz4.connections.length === 1))
  return { pull, push, relay }
}

test("a socket without connections has counted nothing", () => {
  const { lz4 } = use(new Push())
  expect(lz4.connections).toEqual([])
  expect(lz4.stats).toEqual({ sent: NOTHING, received: NOTHING })
})

test.each([
  ["without a dictionary", {}],
  ["with a dictionary", { dictionary }],
])("messages and bytes are those of the wire %s", async (_, options) => {
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
  expect(push.lz4.stats).toEqual({ sent: expected, received: NOTHING })
  expect(pull.lz4.stats).toEqual({ sent: NOTHING, received: expected })
  expect(expected.wireBytes).toBeLessThan(expected.plainBytes)
  const [of] = push.lz4.connections
  expect(of?.sent).toEqual({ ...expected, dictionary: "dictionary" in options, level: 0 })
})

test.each([0, 3, 12, "adaptive"] as const)("says what level %s is in use", async (level) => {
  const { pull, push } = await connected({ level })
  await push.send(json)
  await pull.receive()
  expect(push.lz4.connections[0]?.sent.level).toBe(level === "adaptive" ? 0 : level)
  expect(pull.lz4.connections[0]?.sent.level).toBe(0)
})

test("commands and subscriptions are not counted", async () => {
  const [pub, sub] = [use(new Publisher({ heartbeatInterval: 10 })), use(new Subscriber())]
  await pub.bind(address)
  sub.connect(pub.lastEndpoint as string)
  sub.subscribe("a")
  await once(sub.lz4, "connect")
  expect(sub.lz4.stats).toEqual({ sent: NOTHING, received: NOTHING })
})

test("connections names each peer, as both sides see it", async () => {
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

test("totals keep what connections of the past have counted", async () => {
  const { pull, push, relay } = await connected()
  const before = pull.lz4.stats
  expect(before.received.messages).toBe(1)
  relay.cut()
  await eventually(() => pull.lz4.connections.length === 0)
  expect(pull.lz4.stats).toEqual(before)
  await eventually(() => [pull, push].every(({ lz4 }) => lz4.connections.length === 1))
  await push.send("first")
  await pull.receive()
  expect(pull.lz4.stats.received).toEqual({
    messages: 2,
    plainBytes: 2 * before.received.plainBytes,
    wireBytes: 2 * before.received.wireBytes,
  })
  expect(push.lz4.stats.sent).toEqual(pull.lz4.stats.received)
})

test("what was read does not change", async () => {
  const { pull, push } = await connected()
  const { connections, stats } = pull.lz4
  const copy = structuredClone({ connections, stats })
  await push.send("second")
  await pull.receive()
  expect({ connections, stats }).toEqual(copy)
})

test("connect and disconnect come once for each connection, with its address", async () => {
  const pull = use(new Pull())
  const events: [keyof Lz4Events, unknown][] = []
  for (const name of ["connect", "disconnect", "protocolError"] as const)
    pull.lz4.on(name, (event: object) => events.push([name, event]))
  await pull.bind(address)
  const push = use(new Push())
  push.connect(pull.lastEndpoint as string)
  await eventually(() => events.length === 1)
  // A socket that closes before it has read everything resets the connection.
  await eventually(() => push.lz4.connections.length === 1)
  const { remoteAddress, remotePort } = pull.lz4.connections[0] ?? {}
  push.close()
  await eventually(() => events.length === 2)
  expect(events).toEqual([
    ["connect", { remoteAddress, remotePort }],
    ["disconnect", { remoteAddress, remotePort, error: undefined }],
  ])
})

test("disconnect says what the network did", async () => {
  const { pull, relay } = await connected()
  const gone = once(pull.lz4, "disconnect")
  relay.reset()
  expect((await gone)[0].error).toMatchObject({ code: "ECONNRESET" })
})

test("lz4 is the same object each time, and can be read of a closed socket", async () => {
  const { pull } = await connected()
  const { lz4 } = pull
  expect(pull.lz4).toBe(lz4)
  pull.close()
  expect(pull.lz4).toBe(lz4)
  expect(pull.lz4.stats.received.messages).toBe(1)
  await eventually(() => pull.lz4.connections.length === 0)
})
