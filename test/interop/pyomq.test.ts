/** Against pyomq, an implementation that shares no code with this one. */
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

import { vectorDictionary } from "../support/plaintexts.js"
import { PyomqPeer, type Setup } from "./pyomq.js"
import * as streams from "./stream.js"
import {
  type Receive,
  receiveAll,
  type Send,
  type Stream,
  type Summary,
  sendAll,
} from "./stream.js"

const SIDES = ["ours", "theirs"] as const
type Side = (typeof SIDES)[number]

const DICTIONARIES: Record<Side, Uint8Array> = {
  ours: vectorDictionary(),
  theirs: vectorDictionary().reverse(),
}

interface Joining extends Omit<Setup, "bind" | "connect" | "dictionary"> {
  /** Which side binds. */
  binds: Side
  /** Which sides have a dictionary to send with. */
  dictionaries?: readonly Side[]
}

interface Joined extends AsyncDisposable {
  peer: PyomqPeer
}

/** Joins a socket of ours with one of pyomq's. A broken rule of the format fails the test. */
async function join(
  socket: zmq.Socket & zmq.Lz4Socket,
  { binds, dictionaries = [], ...setup }: Joining,
): Promise<Joined> {
  const dictionary = (side: Side) =>
    dictionaries.includes(side) ? { dictionary: DICTIONARIES[side] } : {}
  let peer: PyomqPeer
  if (binds === "ours") {
    await socket.bind("lz4+tcp://127.0.0.1:*", dictionary("ours"))
    const connect = socket.lastEndpoint as string
    peer = await PyomqPeer.start({ ...setup, ...dictionary("theirs"), connect })
  } else {
    const bind = "lz4+tcp://127.0.0.1:0"
    peer = await PyomqPeer.start({ ...setup, ...dictionary("theirs"), bind })
    socket.connect(peer.endpoint, dictionary("ours"))
  }
  socket.lz4.on("protocolError", ({ error }) => {
    throw error
  })
  return {
    peer,
    async [Symbol.asyncDispose]() {
      socket.close()
      await peer[Symbol.asyncDispose]()
    },
  }
}

/** Which of the connections' directions use a dictionary. */
const dictionariesOf = ({ lz4 }: zmq.Lz4Socket) =>
  lz4.connections.map(({ sent, received }) => ({
    ours: sent.dictionary,
    theirs: received.dictionary,
  }))

const eachSide = SIDES.map((binds) => ({ binds }))
const eachSideAndDictionary = eachSide.flatMap(({ binds }) =>
  [false, true].map((dictionary) => ({ binds, dictionary })),
)

test.each(eachSideAndDictionary)(
  "10000 messages to their PULL; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const push = new zmq.Push()
    const dictionaries: Side[] = dictionary ? ["ours"] : []
    await using joined = await join(push, { type: "PULL", binds, dictionaries })
    const stream = { name: "to PULL", count: 10_000 }
    const [sent, received] = await Promise.all([
      sendAll(stream, (parts) => push.send([...parts])),
      joined.peer.do({ do: "receive", stream }),
    ])
    expect(received).toEqual(sent)
    const { messages, plainBytes, wireBytes } = push.lz4.stats.sent
    expect({ messages, plainBytes }).toEqual({ messages: 10_000, plainBytes: sent.plainBytes })
    expect(wireBytes).toBeLessThan(0.6 * plainBytes)
    expect(dictionariesOf(push)).toEqual([{ ours: dictionary, theirs: false }])
  },
)

test.each(eachSideAndDictionary)(
  "10000 messages from their PUSH; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const pull = new zmq.Pull()
    const dictionaries: Side[] = dictionary ? ["theirs"] : []
    await using joined = await join(pull, { type: "PUSH", binds, dictionaries })
    const stream = { name: "from PUSH", count: 10_000 }
    const [sent, received] = await Promise.all([
      joined.peer.do({ do: "send", stream }),
      receiveAll(stream, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    const { messages, plainBytes, wireBytes } = pull.lz4.stats.received
    expect({ messages, plainBytes }).toEqual({ messages: 10_000, plainBytes: sent.plainBytes })
    expect(wireBytes).toBeLessThan(0.6 * plainBytes)
    expect(dictionariesOf(pull)).toEqual([{ ours: false, theirs: dictionary }])
  },
)

/** A pair of sockets through which a stream goes both ways. */
interface Pairing {
  ours: string
  theirs: Omit<Joining, "binds">
  /** What the peer does with the stream. */
  does: "ask" | "echo" | "echoFrames"
  /** Parts that a ROUTER of theirs puts before a message, as hex. */
  envelope?: string[]
  limits?: Pick<Stream, "singlePart" | "least">
  open(): { socket: zmq.Socket & zmq.Lz4Socket; exchange(stream: Stream): Promise<Summary> }
}

type Exchange = (stream: Stream, send: Send, receive: Receive) => Promise<Summary>

/** A socket that is told where to send by what it sends. */
function speaking(
  socket: zmq.Socket & zmq.Lz4Socket & zmq.Readable & zmq.Writable<zmq.MessageLike[]>,
  exchange: Exchange,
) {
  const send: Send = (parts) => socket.send([...parts] as Buffer[])
  const receive: Receive = () => socket.receive()
  return { socket, exchange: (stream: Stream) => exchange(stream, send, receive) }
}

const hex = (text: string): string => Buffer.from(text).toString("hex")
const echoWith =
  (envelope: number): Exchange =>
  (stream, send, receive) =>
    streams.echoAll(stream, send, receive, envelope)

const pairings: Pairing[] = [
  {
    ours: "REQ",
    theirs: { type: "REP" },
    does: "echo",
    // Their REP takes an empty part for the end of the envelope, over tcp:// too.
    limits: { least: 1 },
    open: () => speaking(new zmq.Request(), streams.askAll),
  },
  {
    ours: "REP",
    theirs: { type: "REQ" },
    does: "ask",
    open: () => speaking(new zmq.Reply(), streams.echoAll),
  },
  {
    ours: "REQ",
    theirs: { type: "ROUTER" },
    does: "echo",
    envelope: [hex("ours"), ""],
    open: () => speaking(new zmq.Request({ routingId: "ours" }), streams.askAll),
  },
  {
    ours: "ROUTER",
    theirs: { type: "REQ", options: { identity: "theirs" } },
    does: "ask",
    open: () => speaking(new zmq.Router(), echoWith(2)),
  },
  {
    ours: "DEALER",
    theirs: { type: "ROUTER" },
    does: "echo",
    envelope: [hex("ours")],
    open: () => speaking(new zmq.Dealer({ routingId: "ours" }), streams.duplexAll),
  },
  {
    ours: "ROUTER",
    theirs: { type: "DEALER", options: { identity: "theirs" } },
    does: "ask",
    open: () => speaking(new zmq.Router(), echoWith(1)),
  },
  {
    ours: "DEALER",
    theirs: { type: "DEALER" },
    does: "echo",
    open: () => speaking(new zmq.Dealer(), streams.duplexAll),
  },
  {
    ours: "PAIR",
    theirs: { type: "PAIR" },
    does: "echo",
    open: () => speaking(new zmq.Pair(), streams.duplexAll),
  },
  {
    ours: "CLIENT",
    theirs: { type: "SERVER" },
    does: "echoFrames",
    limits: { singlePart: true },
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
    limits: { singlePart: true },
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

const bothWays = pairings.flatMap((pairing) =>
  arrangements.map(({ binds, dictionaries }) => {
    const name = `${pairing.ours} and their ${pairing.theirs.type}`
    const from = dictionaries.join(" and ") || "neither"
    return { name, binds, from, pairing, dictionaries }
  }),
)

test.each(bothWays)(
  "$name, 1000 messages both ways; $binds binds, dictionaries: $from",
  async ({ pairing, binds, dictionaries }) => {
    const { theirs, does, envelope = [], limits } = pairing
    const { socket, exchange } = pairing.open()
    await using joined = await join(socket, { ...theirs, binds, dictionaries })
    const stream = { name: "both ways", count: 1000, ...limits }
    const [here, { envelope: seen = [], ...there }] = await Promise.all([
      exchange(stream),
      joined.peer.do({ do: does, stream, envelope: envelope.length }),
    ])
    expect(here).toEqual(streams.summarize(stream))
    expect(there).toEqual(here)
    expect(seen).toEqual(envelope)
    expect(dictionariesOf(socket)).toEqual([
      { ours: dictionaries.includes("ours"), theirs: dictionaries.includes("theirs") },
    ])
  },
)

const TOPICS = ["news/sport", "weather", "news", "new"]
const byTopic: Stream = { name: "by topic", count: 2000, topics: TOPICS }
const news: Stream = { ...byTopic, only: "news" }
const PROBE = "news?"

/** Publishes until the subscriber has seen something, as its subscription takes a while. */
async function untilSubscribed(
  publish: () => Promise<unknown>,
  seen: () => Promise<unknown>,
): Promise<void> {
  do await publish()
  while (!(await seen()))
}

test.each(eachSideAndDictionary)(
  "their SUB gets what it subscribed to; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const publisher = new zmq.Publisher({ sendHighWaterMark: 0 })
    const dictionaries: Side[] = dictionary ? ["ours"] : []
    await using joined = await join(publisher, {
      type: "SUB",
      subscribe: ["news"],
      binds,
      dictionaries,
    })
    await untilSubscribed(
      () => publisher.send(PROBE),
      async () => (await joined.peer.do({ do: "receiveOne", timeoutMs: 50 })).parts,
    )
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      joined.peer.do({ do: "receive", stream: news, probe: hex(PROBE) }),
    ])
    expect(received).toEqual(streams.summarize(news))
    // What nobody subscribed to is not sent: libzmq compares topics, not sentinels.
    expect(publisher.lz4.stats.sent.messages).toBeLessThan(byTopic.count)
    expect(dictionariesOf(publisher)).toEqual([{ ours: dictionary, theirs: false }])
  },
)

/** Has the peer publish, a little at a time: its PUB drops what a subscriber is slow to take. */
async function publishedBy(peer: PyomqPeer, receive: Receive): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const stream = { ...byTopic, name: `by topic ${i}`, count: byTopic.count / 20 }
    const [, received] = await Promise.all([
      peer.do({ do: "send", stream }),
      receiveAll({ ...stream, only: news.only as string }, receive),
    ])
    expect(received.messages).toBe(stream.count / 2)
  }
}

test.each(eachSideAndDictionary)(
  "SUB gets what it subscribed to from their PUB; $binds binds, dictionary: $dictionary",
  async ({ binds, dictionary }) => {
    const subscriber = new zmq.Subscriber({ receiveTimeout: 50 })
    subscriber.subscribe("news")
    const dictionaries: Side[] = dictionary ? ["theirs"] : []
    await using joined = await join(subscriber, { type: "PUB", binds, dictionaries })
    await untilSubscribed(
      () => joined.peer.do({ do: "sendOne", parts: [hex(PROBE)] }),
      () => subscriber.receive().catch(() => undefined),
    )
    subscriber.receiveTimeout = -1
    await publishedBy(joined.peer, async () => {
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
  "XPUB sees their XSUB subscribe and unsubscribe; $binds binds",
  async ({ binds }) => {
    const publisher = new zmq.XPublisher({ sendHighWaterMark: 0 })
    await using joined = await join(publisher, { type: "XSUB", binds })
    await joined.peer.do({ do: "subscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0001news")
    const [, received] = await Promise.all([
      sendAll(byTopic, (parts) => publisher.send([...parts])),
      joined.peer.do({ do: "receive", stream: news }),
    ])
    expect(received).toEqual(streams.summarize(news))
    await joined.peer.do({ do: "unsubscribe", topic: "news" })
    expect(String(await publisher.receive())).toBe("\u0000news")
  },
)

test.each(eachSide)(
  "their XPUB sees XSUB subscribe and unsubscribe; $binds binds",
  async ({ binds }) => {
    const subscriber = new zmq.XSubscriber()
    await using joined = await join(subscriber, { type: "XPUB", binds })
    const seen = async () => (await joined.peer.do({ do: "receiveOne", timeoutMs: 10_000 })).parts
    await subscriber.send("\u0001news")
    expect(await seen()).toEqual([hex("\u0001news")])
    await publishedBy(joined.peer, () => subscriber.receive())
    await subscriber.send("\u0000news")
    expect(await seen()).toEqual([hex("\u0000news")])
  },
)

const oneWay = [
  { ours: "SCATTER", theirs: "GATHER", open: () => new draft.Scatter() },
  { ours: "GATHER", theirs: "SCATTER", open: () => new draft.Gather() },
].flatMap((pair) => eachSide.map((side) => ({ ...pair, ...side })))

test.each(oneWay)("$ours and their $theirs; $binds binds", async ({ theirs, open, binds }) => {
  const socket = open()
  await using joined = await join(socket, { type: theirs, binds })
  const stream = { name: "one way", count: 1000, singlePart: true }
  const here =
    socket instanceof draft.Scatter
      ? sendAll(stream, ([part]) => socket.send(part as Buffer))
      : receiveAll(stream, () => socket.receive())
  const does = socket instanceof draft.Scatter ? "receive" : "send"
  expect(await joined.peer.do({ do: does, stream })).toEqual(await here)
})

test.each(eachSide)(
  "a dictionary that pyomq trains itself is taken; $binds binds",
  async ({ binds }) => {
    const pull = new zmq.Pull()
    const options = { compression_auto_train: 1 }
    await using joined = await join(pull, { type: "PUSH", options, binds })
    const stream = { name: "to be trained on", count: 2000, least: 100 }
    const [sent, received] = await Promise.all([
      joined.peer.do({ do: "send", stream }),
      receiveAll(stream, () => pull.receive()),
    ])
    expect(received).toEqual(sent)
    expect(dictionariesOf(pull)).toEqual([{ ours: false, theirs: true }])
  },
)

test.each(eachSide)("PLAIN is spoken with pyomq; $binds binds", async ({ binds }) => {
  const login = { plainUsername: "name", plainPassword: "secret" }
  const push = new zmq.Push(binds === "ours" ? { plainServer: true } : login)
  await using joined = await join(push, {
    type: "PULL",
    binds,
    ...(binds === "ours"
      ? { options: { plain_username: "name", plain_password: "secret" } }
      : { plainAuth: ["name", "secret"] as const }),
  })
  const stream = { name: "behind a password", count: 100 }
  const [sent, received] = await Promise.all([
    sendAll(stream, (parts) => push.send([...parts])),
    joined.peer.do({ do: "receive", stream }),
  ])
  expect(received).toEqual(sent)
})
