/** Interoperability with omq-tokio, which shares no code with this package, and sends arenas by default. */
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import { vectorDictionary } from "../support/plaintexts.js"
import type { AnySocket } from "../support/sockets.js"
import { isOnceMore } from "../support/transports.js"
import { Joined, type Joining } from "./joined.js"
import type { Side } from "./matrix.js"
import { hex, pairings } from "./pairings.js"
import {
  alike,
  OVER_A_GIBIBYTE,
  receiveAll,
  receivingAhead,
  type Stream,
  sendAll,
  summarize,
} from "./stream.js"
import type { Form } from "./tap.js"

const SIDES: readonly Side[] = ["ours", "theirs"]
const dictionary = vectorDictionary()
const theirDictionary = vectorDictionary().reverse()

const join = (socket: AnySocket, joining: Omit<Joining, "with">): Promise<Joined> =>
  Joined.make(socket, { with: "omq-tokio", ...joining })

/** The variations of a pair of sockets: which side binds, and how both sides send. */
const arrangements = [
  { binds: "ours", how: "with default options", options: { ours: {}, theirs: {} } },
  {
    binds: "theirs",
    how: "with dictionaries and arenas",
    options: { ours: { dictionary, arenas: true }, theirs: { dictionary: theirDictionary } },
  },
] as const

const joinings = pairings.flatMap((pairing) =>
  arrangements.map((arrangement) => {
    const { ours, theirs } = pairing
    return { ours, theirs: theirs.type, ...arrangement, pairing }
  }),
)

test.each(joinings)(
  "our $ours and their $theirs, $how; $binds binds",
  async ({ pairing, binds, options }) => {
    const { does, envelope = [] } = pairing
    const { socket, exchange } = pairing.open()
    await using joined = await join(socket, {
      binds,
      ours: options.ours,
      theirs: { ...pairing.theirs, ...options.theirs },
    })
    const stream = { name: "exchanged", count: 500, ...pairing.stream }
    const [here, { envelope: seen = [], ...there }] = await Promise.all([
      exchange(stream),
      joined.peer.do({ do: does, stream, envelope: envelope.length }),
    ])
    expect(there).toEqual(here)
    expect(seen).toEqual(envelope)
    expect(joined.understood("ours").messages).toBe(does === "send" ? 0 : stream.count)
    expect(joined.understood("theirs").messages).toBe(does === "receive" ? 0 : stream.count)
  },
)

const small: Stream = {
  name: "small, and some large",
  count: 30_000,
  most: 250,
  large: [65_536, 2 << 20],
}

/** For high levels, which take long to encode. */
const few: Stream = { ...small, name: "small, and some large, but few", count: 10_000 }

interface Case {
  how: string
  binds: Side
  /** The forms on the wire, in the order of FORMS. */
  forms: Form[]
}

test.each<Case & { theirs: object }>([
  { how: "with default options", binds: "ours", theirs: {}, forms: ["plain", "LZ4B", "LZ4A"] },
  { how: "with default options", binds: "theirs", theirs: {}, forms: ["plain", "LZ4B", "LZ4A"] },
  {
    how: "with a dictionary",
    binds: "ours",
    theirs: { dictionary: theirDictionary },
    forms: ["plain", "LZ4B", "given LZ4D", "LZ4A"],
  },
  {
    how: "with a dictionary that it trains",
    binds: "theirs",
    theirs: { options: { autoTrain: true } },
    forms: ["plain", "LZ4B", "trained LZ4D", "LZ4A"],
  },
])(
  "PULL receives 30,000 messages from a PUSH that sends $how; $binds binds",
  async ({ binds, theirs, forms }) => {
    const pull = new zmq.Pull()
    await using joined = await join(pull, { binds, theirs: { type: "PUSH", ...theirs } })
    const [sent, received] = await Promise.all([
      joined.peer.do({ do: "send", stream: small }),
      receiveAll(small, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    expect(joined.understood("theirs")).toEqual({ messages: small.count, forms })
  },
)

test.each<Case & { ours: zmq.EndpointOptions; stream?: Stream }>([
  { how: "nothing", binds: "ours", ours: {}, forms: ["plain", "LZ4B"] },
  { how: "arenas", binds: "ours", ours: { arenas: true }, forms: ["plain", "LZ4B", "LZ4A"] },
  {
    how: "arenas and dictionary",
    binds: "theirs",
    ours: { arenas: true, dictionary },
    forms: ["plain", "LZ4B", "given LZ4D", "LZ4A"],
  },
  {
    how: "arenas and autoDictionary",
    binds: "theirs",
    ours: { arenas: true, autoDictionary: true },
    forms: ["plain", "LZ4B", "trained LZ4D", "LZ4A"],
  },
  {
    how: "autoDictionary",
    binds: "ours",
    ours: { autoDictionary: true },
    forms: ["plain", "LZ4B", "trained LZ4D"],
  },
  { how: "level 9", binds: "theirs", ours: { level: 9 }, forms: ["plain", "LZ4B"], stream: few },
  {
    how: "level 12 and dictionary",
    binds: "ours",
    ours: { level: 12, dictionary },
    forms: ["plain", "LZ4B", "given LZ4D"],
    stream: few,
  },
])(
  "their PULL receives all messages from a PUSH with $how; $binds binds",
  async ({ binds, ours, forms, stream = small }) => {
    const push = new zmq.Push()
    await using joined = await join(push, { binds, ours, theirs: { type: "PULL" } })
    const [sent, received] = await Promise.all([
      sendAll(stream, (parts) => push.send([...parts])),
      joined.peer.do({ do: "receive", stream }),
    ])
    expect(received).toEqual(sent)
    expect(joined.understood("ours")).toEqual({ messages: stream.count, forms })
  },
)

test.each([3, 6])(
  "equal messages of %i short parts are sent in arenas, both ways",
  async (parts) => {
    const stream = alike(parts)
    const pull = new zmq.Pull()
    await using theirs = await join(pull, { binds: "ours", theirs: { type: "PUSH" } })
    const [sent, received] = await Promise.all([
      theirs.peer.do({ do: "send", stream }),
      receiveAll(stream, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    expect(theirs.understood("theirs").forms).toContain("LZ4A")

    const push = new zmq.Push()
    const options = { arenas: true, acceleration: 1 }
    await using ours = await join(push, {
      binds: "theirs",
      ours: options,
      theirs: { type: "PULL" },
    })
    const [sentToThem, receivedByThem] = await Promise.all([
      sendAll(stream, (parts) => push.send([...parts])),
      ours.peer.do({ do: "receive", stream }),
    ])
    expect(receivedByThem).toEqual(sentToThem)
    expect(ours.understood("ours").forms).toContain("LZ4A")
  },
)

// In the other direction it closes the connection at parts of 1 GiB and more. With threads, test/sockets has one.
if (!isOnceMore)
  test("PULL receives a part of over 1 GiB from their PUSH; theirs binds", async () => {
    const pull = new zmq.Pull()
    await using joined = await join(pull, { binds: "theirs", theirs: { type: "PUSH" } })
    const [sent, received] = await Promise.all([
      joined.peer.do({ do: "send", stream: OVER_A_GIBIBYTE }),
      receiveAll(OVER_A_GIBIBYTE, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    expect(joined.understood("theirs")).toEqual({ messages: 1, forms: ["LZ4M"] })
  })

const TOPICS = ["news/sport", "weather", "news", "new"]
const byTopic: Stream = { name: "by topic", count: 2000, topics: TOPICS }
const news: Stream = { ...byTopic, only: "news" }
const PROBE = "news?"

const eitherWay = SIDES.flatMap((binds) => [false, true].map((trains) => ({ binds, trains })))

test.each(eitherWay)(
  "their SUB receives its topics, arenas and autoDictionary: $trains; $binds binds",
  async ({ binds, trains }) => {
    const publisher = new zmq.Publisher({ sendHighWaterMark: 0 })
    await using joined = await join(publisher, {
      binds,
      ours: { arenas: trains, autoDictionary: trains },
      theirs: { type: "SUB", subscribe: ["news"] },
    })
    const { peer } = joined
    do await publisher.send(PROBE)
    while (!(await peer.do({ do: "receiveOne", timeoutMs: 50 })).parts)
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      peer.do({ do: "receive", stream: news, probe: hex(PROBE) }),
    ])
    expect(received).toEqual(summarize(news))
    joined.understood("ours")
  },
)

test.each(eitherWay)(
  "SUB receives its topics from their PUB, which trains: $trains; $binds binds",
  async ({ binds, trains }) => {
    const subscriber = new zmq.Subscriber({ receiveTimeout: 50 })
    subscriber.subscribe("news")
    await using joined = await join(subscriber, {
      binds,
      theirs: { type: "PUB", options: { autoTrain: trains } },
    })
    do await joined.peer.do({ do: "sendOne", parts: [hex(PROBE)] })
    while (!(await subscriber.receive().catch(() => undefined)))
    subscriber.receiveTimeout = -1
    const receive = async () => {
      for (;;) {
        const parts = await subscriber.receive()
        if (parts.length > 1 || String(parts[0]) !== PROBE) return parts
      }
    }
    const [, received] = await Promise.all([
      joined.peer.do({ do: "send", stream: byTopic }),
      receiveAll(news, receive),
    ])
    expect(received).toEqual(summarize(news))
    joined.understood("theirs")
  },
)

test.each(SIDES)(
  "XPUB receives their XSUB's subscriptions and cancels; %s binds",
  async (binds) => {
    const publisher = new zmq.XPublisher({ sendHighWaterMark: 0 })
    await using joined = await join(publisher, { binds, theirs: { type: "XSUB" } })
    const { peer } = joined
    await peer.do({ do: "subscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0001news")
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      peer.do({ do: "receive", stream: news }),
    ])
    expect(received).toEqual(summarize(news))
    await peer.do({ do: "unsubscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0000news")
    joined.understood("ours")
  },
)

test.each(SIDES)(
  "their XPUB receives XSUB's subscriptions and cancels; %s binds",
  async (binds) => {
    const subscriber = new zmq.XSubscriber()
    await using joined = await join(subscriber, { binds, theirs: { type: "XPUB" } })
    const { peer } = joined
    const receive = receivingAhead(subscriber)
    const seen = async () => (await peer.do({ do: "receiveOne", timeoutMs: 200_000 })).parts
    await subscriber.send("\u0001news")
    expect(await seen()).toEqual([hex("\u0001news")])
    const [, received] = await Promise.all([
      peer.do({ do: "send", stream: byTopic }),
      receiveAll(news, receive),
    ])
    expect(received).toEqual(summarize(news))
    await subscriber.send("\u0000news")
    expect(await seen()).toEqual([hex("\u0000news")])
    joined.understood("theirs")
  },
)
