/** Interoperability with pyomq, which shares no code with this package. */
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

import { vectorDictionary } from "../support/plaintexts.js"
import { type AnySocket, use } from "../support/sockets.js"
import { isOnceMore } from "../support/transports.js"
import { hex, type Pairing, pairings, receiving, speaking } from "./pairings.js"
import { PythonPeer, type Setup } from "./python-peer.js"
import * as streams from "./stream.js"
import { type Receive, receiveAll, type Send, type Stream, sendAll } from "./stream.js"

const SIDES = ["ours", "theirs"] as const
type Side = (typeof SIDES)[number]

const DICTIONARIES: Record<Side, Uint8Array> = {
  ours: vectorDictionary(),
  theirs: vectorDictionary().reverse(),
}

interface Joining extends Omit<Setup, "module" | "bind" | "connect" | "dictionary"> {
  /** The side that binds. */
  binds: Side
  /** The sides that send with a dictionary. */
  dictionaries?: readonly Side[]
}

/** Connects one of our sockets with pyomq's. Fails the test if a rule of the format is broken. */
async function join(
  socket: AnySocket,
  { binds, dictionaries = [], ...setup }: Joining,
): Promise<PythonPeer> {
  const dictionary = (side: Side) =>
    dictionaries.includes(side) ? { dictionary: DICTIONARIES[side] } : {}
  const theirs = { module: "pyomq", ...setup, ...dictionary("theirs") } as const
  use(socket).lz4.on("protocolError", ({ error }) => {
    throw error
  })
  if (binds === "ours") {
    await socket.bind("lz4+tcp://127.0.0.1:*", dictionary("ours"))
    return await PythonPeer.start({ ...theirs, connect: socket.lastEndpoint as string })
  }
  const peer = await PythonPeer.start({ ...theirs, bind: "lz4+tcp://127.0.0.1:0" })
  socket.connect(peer.endpoint, dictionary("ours"))
  return peer
}

/** The directions that use a dictionary. */
const dictionariesOf = ({ lz4 }: zmq.Lz4Socket) =>
  lz4.connections.map(({ sent, received }) => ({
    ours: sent.dictionary,
    theirs: received.dictionary,
  }))

/** Also the draft sockets that both have. */
const allPairings: Pairing[] = [
  ...pairings,
  {
    ours: "SCATTER",
    theirs: { type: "GATHER" },
    does: "receive",
    stream: { singlePart: true },
    open() {
      const socket = new draft.Scatter()
      return { socket, exchange: (all) => sendAll(all, ([part]) => socket.send(part as Buffer)) }
    },
  },
  {
    ours: "GATHER",
    theirs: { type: "SCATTER" },
    does: "send",
    stream: { singlePart: true },
    open: () => speaking(new draft.Gather(), receiving),
  },
  {
    ours: "CLIENT",
    theirs: { type: "SERVER" },
    does: "echoFrames",
    stream: { singlePart: true },
    open() {
      const socket = new draft.Client()
      const send: Send = ([part]) => socket.send(part as Buffer)
      const receive: Receive = async () => (await socket.receive()).slice(0, 1)
      return { socket, exchange: (stream) => streams.duplexAll(stream, send, receive) }
    },
  },
  {
    ours: "SERVER",
    theirs: { type: "CLIENT" },
    does: "ask",
    stream: { singlePart: true },
    open() {
      const socket = new draft.Server()
      let from = 0
      const send: Send = ([part]) => socket.send(part as Buffer, { routingId: from })
      const receive: Receive = async () => {
        const [part, { routingId }] = await socket.receive()
        from = routingId
        return [part]
      }
      return { socket, exchange: (stream) => streams.echoAll(stream, send, receive) }
    },
  },
]

const arrangements: { binds: Side; dictionaries: Side[] }[] = [
  { binds: "ours", dictionaries: [] },
  { binds: "ours", dictionaries: ["ours", "theirs"] },
  { binds: "theirs", dictionaries: ["ours"] },
  { binds: "theirs", dictionaries: ["theirs"] },
]

const joinings = allPairings.flatMap((pairing) =>
  // With threads, each side binds once.
  (isOnceMore ? arrangements.slice(1, 3) : arrangements).map(({ binds, dictionaries }) => {
    const { ours, theirs } = pairing
    const count = ["PUSH", "PULL"].includes(ours) ? 2500 : 500
    const from = dictionaries.join(" and ") || "neither"
    return { count, ours, theirs: theirs.type, from, binds, dictionaries, pairing }
  }),
)

test.each(joinings)(
  "$count messages, our $ours and their $theirs; $binds binds, dictionaries: $from",
  async ({ count, binds, dictionaries, pairing }) => {
    const { theirs, does, envelope = [] } = pairing
    const { socket, exchange } = pairing.open()
    await using peer = await join(socket, { ...theirs, binds, dictionaries })
    const stream = { name: "exchanged", ...pairing.stream, count }
    const [here, { envelope: seen = [], ...there }] = await Promise.all([
      exchange(stream),
      peer.do({ do: does, stream, envelope: envelope.length }),
    ])
    expect(there).toEqual(here)
    expect(here.messages).toBe(count)
    expect(seen).toEqual(envelope)

    const [weSend, theySend] = [does !== "send", does !== "receive"]
    // With threads, a peer may have a message before the thread has counted it.
    await expect
      .poll(() => socket.lz4.stats)
      .toMatchObject({
        sent: { messages: weSend ? count : 0 },
        received: { messages: theySend ? count : 0 },
      })
    expect(dictionariesOf(socket)).toEqual([
      {
        ours: weSend && dictionaries.includes("ours"),
        theirs: theySend && dictionaries.includes("theirs"),
      },
    ])
  },
)

const eachSide = SIDES.map((binds) => ({ binds }))
const eachSideAndDictionary = eachSide.flatMap(({ binds }) =>
  [false, true].map((dictionary) => ({ binds, dictionary })),
)

const TOPICS = ["news/sport", "weather", "news", "new"]
const byTopic: Stream = { name: "by topic", count: 2000, topics: TOPICS }
const news: Stream = { ...byTopic, only: "news" }
const PROBE = "news?"

/** Publishes until the subscriber has received a message, because its subscription takes a while. */
async function untilSubscribed(
  publish: () => Promise<unknown>,
  seen: () => Promise<unknown>,
): Promise<void> {
  do await publish()
  while (!(await seen()))
}

test.each(eachSideAndDictionary)(
  "their SUB receives its topics; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const publisher = new zmq.Publisher({ sendHighWaterMark: 0 })
    const dictionaries: Side[] = dictionary ? ["ours"] : []
    await using peer = await join(publisher, {
      type: "SUB",
      subscribe: ["news"],
      binds,
      dictionaries,
    })
    await untilSubscribed(
      () => publisher.send(PROBE),
      async () => (await peer.do({ do: "receiveOne", timeoutMs: 50 })).parts,
    )
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      peer.do({ do: "receive", stream: news, probe: hex(PROBE) }),
    ])
    expect(received).toEqual(streams.summarize(news))
    // Other topics are not sent: the publisher compares topics, not sentinels.
    expect(publisher.lz4.stats.sent.messages).toBeLessThan(byTopic.count)
    expect(dictionariesOf(publisher)).toEqual([{ ours: dictionary, theirs: false }])
  },
)

/** Makes the peer publish one message at a time, because its PUB may drop the next one otherwise. */
async function publishedBy(peer: PythonPeer, receive: Receive): Promise<void> {
  for (let i = 0; i < 400; i++) {
    const topic = TOPICS[i % TOPICS.length] as string
    const stream: Stream = { name: `${topic} ${i}`, count: 1, topics: [topic] }
    await peer.do({ do: "send", stream })
    await receiveAll({ ...stream, only: "news" }, receive)
  }
}

test.each(eachSideAndDictionary)(
  "SUB receives its topics from their PUB; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const subscriber = new zmq.Subscriber({ receiveTimeout: 50 })
    subscriber.subscribe("news")
    const dictionaries: Side[] = dictionary ? ["theirs"] : []
    await using peer = await join(subscriber, { type: "PUB", binds, dictionaries })
    await untilSubscribed(
      () => peer.do({ do: "sendOne", parts: [hex(PROBE)] }),
      () => subscriber.receive().catch(() => undefined),
    )
    subscriber.receiveTimeout = -1
    await publishedBy(peer, async () => {
      for (;;) {
        const parts = await subscriber.receive()
        if (parts.length > 1 || parts[0]?.toString() !== PROBE) return parts
      }
    })
    expect(subscriber.lz4.stats.received.messages).toBeLessThan(byTopic.count)
    expect(dictionariesOf(subscriber)).toEqual([{ ours: false, theirs: dictionary }])
  },
)

test.each(eachSide)(
  "XPUB receives their XSUB's subscriptions and cancels; $binds binds",
  async ({ binds }) => {
    const publisher = new zmq.XPublisher({ sendHighWaterMark: 0 })
    await using peer = await join(publisher, { type: "XSUB", binds })
    await peer.do({ do: "subscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0001news")
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      peer.do({ do: "receive", stream: news }),
    ])
    expect(received).toEqual(streams.summarize(news))
    await peer.do({ do: "unsubscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0000news")
  },
)

test.each(eachSide)(
  "their XPUB receives XSUB's subscriptions and cancels; $binds binds",
  async ({ binds }) => {
    const subscriber = new zmq.XSubscriber()
    await using peer = await join(subscriber, { type: "XPUB", binds })
    const receive = streams.receivingAhead(subscriber)
    const seen = async () => (await peer.do({ do: "receiveOne", timeoutMs: 200_000 })).parts
    await subscriber.send("\u0001news")
    expect(await seen()).toEqual([hex("\u0001news")])
    await publishedBy(peer, receive)
    await subscriber.send("\u0000news")
    expect(await seen()).toEqual([hex("\u0000news")])
  },
)

test.each(eachSide)(
  "a dictionary trained by pyomq is accepted; $binds binds",
  async ({ binds }) => {
    const pull = new zmq.Pull()
    const options = { compression_auto_train: 1 }
    await using peer = await join(pull, { type: "PUSH", options, binds })
    const stream = { name: "to be trained on", count: 2000, least: 100 }
    const [sent, received] = await Promise.all([
      peer.do({ do: "send", stream }),
      receiveAll(stream, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    expect(dictionariesOf(pull)).toEqual([{ ours: false, theirs: true }])
  },
)

/** Accepts one client: a ZAP handler for a PLAIN server of libzmq. */
async function admitOne(): Promise<void> {
  const handler = use(new zmq.Reply())
  await handler.bind("inproc://zeromq.zap.01")
  const [version = "", request = ""] = await handler.receive()
  await handler.send([version, request, "200", "", "", ""])
}

const logins: { binds: Side; ours: zmq.SocketOptions<zmq.Push>; theirs: Partial<Setup> }[] = [
  {
    binds: "ours",
    ours: { plainServer: true },
    theirs: { options: { plain_username: "name", plain_password: "secret" } },
  },
  {
    binds: "theirs",
    ours: { plainUsername: "name", plainPassword: "secret" },
    theirs: { plainAuth: ["name", "secret"] },
  },
]

test.each(logins)("PLAIN works with pyomq; $binds binds", async ({ binds, ours, theirs }) => {
  if (binds === "ours") void admitOne()
  const push = new zmq.Push(ours)
  await using peer = await join(push, { type: "PULL", binds, ...theirs })
  const stream = { name: "behind a password", count: 100 }
  const [sent, received] = await Promise.all([
    sendAll(stream, (parts) => push.send([...parts])),
    peer.do({ do: "receive", stream }),
  ])
  expect(received).toEqual(sent)
})
