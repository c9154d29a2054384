/** Every compatible pair of socket types, over tcp:// and then over lz4+tcp://. */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

import { payload } from "../../bench/payloads.mjs"
import { expectSameBytes } from "../support/same-bytes.js"
import { type AnySocket, eventually, join, subscribed, use } from "../support/sockets.js"
import { encodings } from "../support/transports.js"

type Message = Uint8Array[]

/** A pair of types, with functions that create the sockets and send a message from left to right. */
interface Pair<L extends AnySocket = AnySocket, R extends AnySocket = AnySocket> {
  name: string
  left: () => L
  right: () => R
  /** Prepares the sockets, if they need it before they can exchange messages. */
  ready?: (left: L, right: R) => Promise<void>
  /** Sends a message, and back again if possible, and returns the messages received at both ends. */
  exchange: (left: L, right: R, message: Message) => Promise<Message[]>
  /** Whether its messages always have one part. */
  singlePart?: true
}

const pair = <L extends AnySocket, R extends AnySocket>(pair: Pair<L, R>) => pair as unknown as Pair

const SUBSCRIBE = Uint8Array.of(1)
const EMPTY = new Uint8Array()

interface Plain extends AnySocket {
  send(message: Message): Promise<void>
  receive(): Promise<Message>
}

const oneWay = async (
  left: Pick<Plain, "send">,
  right: Pick<Plain, "receive">,
  message: Message,
): Promise<Message[]> => {
  const [received] = await Promise.all([right.receive(), left.send(message)])
  return [received]
}

const bothWays = async (left: Plain, right: Plain, message: Message): Promise<Message[]> => [
  ...(await oneWay(left, right, message)),
  ...(await oneWay(right, left, message)),
]

/** The left socket prepends `before` to a message; the right one replies with the routing id and `between`. */
const routed =
  (before: Message, between: Message) =>
  async (left: Plain, router: Plain, message: Message): Promise<Message[]> => {
    const [[id, ...request]] = (await oneWay(left, router, [...before, ...message])) as [Message]
    const [reply] = await oneWay(router, left, [id as Uint8Array, ...between, ...message])
    return [request.slice(between.length), (reply as Message).slice(before.length)]
  }

/** A binding subscriber only notices a new peer, and subscribes, when it is used. */
async function subscriptionSeen(left: Plain, right: Pick<Plain, "receive">): Promise<void> {
  const probe = right.receive()
  expect(await left.receive()).toEqual([Buffer.from(SUBSCRIBE)])
  await left.send([EMPTY])
  await probe
}

const pairs: readonly Pair[] = [
  pair({
    name: "PAIR/PAIR",
    left: () => new zmq.Pair(),
    right: () => new zmq.Pair(),
    exchange: bothWays,
  }),
  pair({
    name: "PUB/SUB",
    left: () => new zmq.Publisher(),
    right: () => new zmq.Subscriber(),
    ready: (left, right) => {
      right.subscribe()
      return subscribed(left, right)
    },
    exchange: oneWay,
  }),
  pair({
    name: "PUB/XSUB",
    left: () => new zmq.Publisher(),
    right: () => new zmq.XSubscriber(),
    ready: async (left, right) => {
      await right.send(SUBSCRIBE)
      await subscribed(left, right)
    },
    exchange: oneWay,
  }),
  pair({
    name: "XPUB/SUB",
    left: () => new zmq.XPublisher(),
    right: () => new zmq.Subscriber(),
    ready: (left, right) => {
      right.subscribe()
      return subscriptionSeen(left, right)
    },
    exchange: oneWay,
  }),
  pair({
    name: "XPUB/XSUB",
    left: () => new zmq.XPublisher(),
    right: () => new zmq.XSubscriber(),
    ready: async (left, right) => {
      await right.send(SUBSCRIBE)
      await subscriptionSeen(left, right)
    },
    // A message of an XSUB is a subscription if its first byte is 0 or 1; 2 means nothing.
    exchange: async (left, right, message) => {
      const there = await oneWay(left, right, message)
      const [[mark, ...back]] = (await oneWay(right, left, [Uint8Array.of(2), ...message])) as [
        Message,
      ]
      expect(mark).toEqual(Buffer.of(2))
      return [...there, back]
    },
  }),
  pair({
    name: "PUSH/PULL",
    left: () => new zmq.Push(),
    right: () => new zmq.Pull(),
    exchange: oneWay,
  }),
  pair({
    name: "REQ/REP",
    left: () => new zmq.Request(),
    right: () => new zmq.Reply(),
    exchange: bothWays,
  }),
  pair({
    name: "REQ/ROUTER",
    left: () => new zmq.Request(),
    right: () => new zmq.Router(),
    exchange: routed([], [EMPTY]),
  }),
  pair({
    name: "DEALER/REP",
    left: () => new zmq.Dealer(),
    right: () => new zmq.Reply(),
    exchange: async (left, right, message) => {
      const [request] = await oneWay(left, right, [EMPTY, ...message])
      const [[delimiter, ...reply]] = (await oneWay(right, left, message)) as [Message]
      expect(delimiter).toEqual(Buffer.alloc(0))
      return [request as Message, reply]
    },
  }),
  pair({
    name: "DEALER/ROUTER",
    left: () => new zmq.Dealer(),
    right: () => new zmq.Router(),
    exchange: routed([], []),
  }),
  pair({
    name: "DEALER/DEALER",
    left: () => new zmq.Dealer(),
    right: () => new zmq.Dealer(),
    exchange: bothWays,
  }),
  pair({
    name: "ROUTER/ROUTER",
    left: () => new zmq.Router({ routingId: "left", mandatory: true }),
    right: () => new zmq.Router({ routingId: "right", mandatory: true }),
    // Neither knows the other before the handshake is complete.
    ready: async (left, right) => {
      await eventually(() => left.send(["right", "hello"]))
      await right.receive()
    },
    exchange: routed([Buffer.from("right")], []),
  }),
  pair({
    name: "CLIENT/SERVER",
    left: () => new draft.Client(),
    right: () => new draft.Server(),
    exchange: async (client, server, [part]) => {
      await client.send(part as Uint8Array)
      const [request, { routingId }] = await server.receive()
      await server.send(part as Uint8Array, { routingId })
      return [[request], await client.receive()]
    },
    singlePart: true,
  }),
  pair({
    name: "RADIO/DISH",
    left: () => new draft.Radio(),
    right: () => new draft.Dish(),
    ready: (radio, dish) => {
      dish.join("news")
      return subscribed({ send: (text) => radio.send(text, { group: "news" }) }, dish)
    },
    exchange: async (radio, dish, [part]) => {
      await radio.send(part as Uint8Array, { group: "other" })
      await radio.send(part as Uint8Array, { group: "news" })
      const [received, { group }] = await dish.receive()
      expect(String(group)).toBe("news")
      return [[received]]
    },
    singlePart: true,
  }),
  pair({
    name: "SCATTER/GATHER",
    left: () => new draft.Scatter(),
    right: () => new draft.Gather(),
    exchange: async (scatter, gather, [part]) => {
      await scatter.send(part as Uint8Array)
      return [await gather.receive()]
    },
    singlePart: true,
  }),
]

const MIB = 2 ** 20
const json = payload("json", MIB)
const noise = payload("random", MIB)

// Sizes around the limits of frame headers, thresholds and buffers.
const sizes = [1, 4, 127, 128, 251, 252, 255, 256, 511, 512, 4096, 65_535, 65_536, MIB]

const messages: readonly Message[] = [
  [EMPTY],
  ...sizes.map((size) => [json.subarray(0, size)]),
  ...[1, 256, 600, MIB].map((size) => [noise.subarray(0, size)]),
  [EMPTY, EMPTY],
  [EMPTY, json.subarray(0, 600), EMPTY, noise.subarray(0, 600), EMPTY],
  sizes.map((size) => json.subarray(0, size)),
  Array.from({ length: 500 }, (_, i) => json.subarray(i, 3 * i)),
]

const WAYS = ["left", "right"] as const

const expectSameParts = (actual: Message, expected: Message) => {
  expect(actual.map(({ length }) => length)).toEqual(expected.map(({ length }) => length))
  for (const [i, part] of expected.entries()) expectSameBytes(actual[i] as Uint8Array, part)
}

describe.each(encodings)("over $name", (transport) => {
  describe.each(pairs)("$name", ({ left, right, ready, exchange, singlePart }) => {
    test.each(WAYS)("exchanges messages when the %s one binds", async (binds) => {
      const [a, b] = [use(left()), use(right())]
      await (binds === "left" ? join(a, b, transport) : join(b, a, transport))
      await ready?.(a, b)
      for (const message of messages) {
        if (message.length > 1 && singlePart) continue
        for (const received of await exchange(a, b, message)) expectSameParts(received, message)
      }
    })
  })

  test("a part of 16 MiB between small ones arrives unchanged", async () => {
    const large = Buffer.concat(Array.from({ length: 8 }, () => [json, noise]).flat())
    const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
    await join(pull, push, transport)
    const message = [json.subarray(0, 600), large, EMPTY]
    const [received] = await oneWay(push, pull, message)
    expectSameParts(received as Message, message)
  })
})
