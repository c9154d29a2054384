/** A dictionary is shipped once per connection and direction (RFC.md section 6). */
import { once } from "node:events"
import { beforeEach, describe, expect, test } from "vitest"
import { Dealer, Publisher, Pull, Push, Router, Subscriber } from "zeromq-lz4"

import { payload, sampleDictionary } from "../../bench/payloads.mjs"
import { dictionariesIn, messagesIn, Relay } from "../support/relay.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { eventually, subscribed, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"
import { formOf } from "../support/wire.js"

const address = `${lz4.scheme}127.0.0.1:*`
const json = sampleDictionary("json")
const lorem = sampleDictionary("lorem")
const other = payload("lorem", 8192, 7)
/** The connections of a relay that have messages; a reconnecting socket of another test may have reached its port. */
const used = (relay: Relay) =>
  relay.connections.filter(({ fromClient }) => messagesIn(fromClient).length > 0)

/** A message of a length that is only compressed with a dictionary. */
const event = payload("json", 400, 5)

const same = (actual: readonly Uint8Array[], expected: readonly Uint8Array[]) =>
  expect(actual.map((bytes) => Buffer.from(bytes).toString("hex"))).toEqual(
    expected.map((bytes) => Buffer.from(bytes).toString("hex")),
  )

describe("between two peers", () => {
  let [a, b, relay] = [] as unknown as [Dealer, Dealer, Relay]

  const start = async (ofBound?: Uint8Array, ofConnected?: Uint8Array) => {
    await a.bind(address, ofBound ? { dictionary: ofBound } : {})
    relay = use(await Relay.before(a.lastEndpoint as string))
    b.connect(relay.endpoint, ofConnected ? { dictionary: ofConnected } : {})
  }
  const exchange = async () => {
    await b.send(event)
    expectSameBytes((await a.receive())[0] as Uint8Array, event)
    await a.send(event)
    expectSameBytes((await b.receive())[0] as Uint8Array, event)
  }

  beforeEach(() => {
    a = use(new Dealer())
    b = use(new Dealer({ reconnectInterval: 10 }))
  })

  test("each direction ships its own dictionary, once and before its first message", async () => {
    await start(json, lorem)
    for (let i = 0; i < 3; i++) await exchange()
    const { fromClient, fromServer } = used(relay)[0] as Relay["connections"][0]
    same(dictionariesIn(fromClient), [lorem])
    same(dictionariesIn(fromServer), [json])
    for (const stream of [fromClient, fromServer]) {
      const messages = messagesIn(stream)
      expect(messages.map((parts) => parts.map(formOf))).toEqual([
        ["LZ4D"],
        ...Array(3).fill([stream === fromServer ? "LZ4B" : expect.any(String)]),
      ])
    }
    expect(a.lz4.connections[0]).toMatchObject({
      sent: { dictionary: true },
      received: { dictionary: true },
    })
  })

  test("one direction may have no dictionary", async () => {
    await start(undefined, json)
    await exchange()
    const { fromClient, fromServer } = used(relay)[0] as Relay["connections"][0]
    same(dictionariesIn(fromClient), [json])
    same(dictionariesIn(fromServer), [])
    expect(a.lz4.connections[0]).toMatchObject({
      sent: { dictionary: false },
      received: { dictionary: true },
    })
  })

  test("the dictionary is shipped again on each new connection", async () => {
    await start(json, lorem)
    for (let i = 0; i < 3; i++) {
      await exchange()
      const gone = once(a.lz4, "disconnect")
      relay.cut()
      await gone
      await eventually(() => a.lz4.connections.length === 1)
    }
    await exchange()
    expect(used(relay).length).toBe(4)
    for (const { fromClient, fromServer } of used(relay)) {
      same(dictionariesIn(fromClient), [lorem])
      same(dictionariesIn(fromServer), [json])
    }
  })

  test("the caller may change its array after the call", async () => {
    const mine = Uint8Array.from(json)
    await start(undefined, mine)
    mine.fill(0)
    await exchange()
    same(dictionariesIn(used(relay)[0]?.fromClient ?? []), [json])
  })

  test("a dictionary does not count against maxMessageSize", async () => {
    a.maxMessageSize = event.length
    await start(undefined, other)
    await exchange()
  })
})

test("each endpoint of a socket has its own dictionary", async () => {
  const push = use(new Push())
  for (const dictionary of [json, lorem]) {
    const pull = use(new Pull())
    await pull.bind(address)
    const relay = use(await Relay.before(pull.lastEndpoint as string))
    push.connect(relay.endpoint, { dictionary })
    await push.send(event)
    await pull.receive()
    same(dictionariesIn(used(relay)[0]?.fromClient ?? []), [dictionary])
    push.disconnect(relay.endpoint)
  }
})

const dictionaries = [json, lorem, other, undefined]
const ROUNDS = 50

test("peers with different dictionaries send to one PULL", async () => {
  const pull = use(new Pull())
  await pull.bind(address)
  const pushes = dictionaries.map((dictionary) => {
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, dictionary ? { dictionary } : {})
    return push
  })
  const send = async (push: Push, peer: number) => {
    for (let i = 0; i < ROUNDS; i++) await push.send([`${peer}`, `${i}`, event])
  }
  const sending = Promise.all(pushes.map(send))
  const next = pushes.map(() => 0)
  for (let i = 0; i < ROUNDS * pushes.length; i++) {
    const [peer, index, part] = await pull.receive()
    expect(Number(index)).toBe(next[Number(peer)]++)
    expectSameBytes(part as Uint8Array, event)
  }
  await sending
})

test("peers with different dictionaries exchange messages with one ROUTER that has another", async () => {
  const router = use(new Router())
  await router.bind(address, { dictionary: payload("json", 1000, 3) })
  const dealers = dictionaries.map((dictionary) => {
    const dealer = use(new Dealer())
    dealer.connect(router.lastEndpoint as string, dictionary ? { dictionary } : {})
    return dealer
  })
  for (let i = 0; i < ROUNDS; i++)
    for (const [peer, dealer] of dealers.entries()) await dealer.send([`${peer} ${i}`, event])
  for (let i = 0; i < ROUNDS * dealers.length; i++) await router.send(await router.receive())
  for (const [peer, dealer] of dealers.entries())
    for (let i = 0; i < ROUNDS; i++) {
      const [name, part] = await dealer.receive()
      expect(String(name)).toBe(`${peer} ${i}`)
      expectSameBytes(part as Uint8Array, event)
    }
})

test("a PUB ships its dictionary to each SUB", async () => {
  const pub = use(new Publisher())
  await pub.bind(address, { dictionary: json })
  const relay = use(await Relay.before(pub.lastEndpoint as string))
  const subs: Subscriber[] = []
  for (let i = 0; i < 10; i++) {
    const sub = use(new Subscriber())
    sub.connect(relay.endpoint)
    sub.subscribe()
    await subscribed(pub, sub)
    subs.push(sub)
  }
  await pub.send("the last")
  await pub.send(event)
  for (const sub of subs) {
    while (String(await sub.receive()) !== "the last");
    expectSameBytes((await sub.receive())[0] as Uint8Array, event)
  }
  // A reconnecting socket of another test may reach the relay's port; it gets no further than the handshake.
  const shipped = relay.connections
    .map(({ fromServer }) => dictionariesIn(fromServer))
    .filter((dictionaries) => dictionaries.length > 0)
  same(
    shipped.flat(),
    subs.map(() => json),
  )
  expect(shipped.length).toBe(subs.length)
})
