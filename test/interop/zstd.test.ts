/** zstd+tcp:// with pyomq and omq-tokio, which share no code with this package. The older pyomq has none. */
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import { trainDictionary } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { isOnceMore } from "../support/transports.js"
import { expectArenasBothWays } from "./arenas.js"
import { Joined, type Joining, startPeer } from "./joined.js"
import type { PeerName, Side } from "./matrix.js"
import { hex, pairings } from "./pairings.js"
import { isOlderPyomq, LARGE_IN_PYOMQ } from "./python.js"
import { receiveAll, type Stream, sendAll, summarize } from "./stream.js"
import type { Form } from "./tap.js"

const PEERS: readonly PeerName[] = isOlderPyomq ? ["omq-tokio"] : ["omq-tokio", "pyomq"]
/** With threads, our side binds. */
const SIDES: readonly Side[] = isOnceMore ? ["ours"] : ["ours", "theirs"]
const scheme = "zstd+tcp"

const trained = (from: number) =>
  trainDictionary(
    Array.from({ length: 300 }, (_, i) => payload("json", 200, from + i)),
    { format: "zstd" },
  )
const [dictionary, theirDictionary] = [await trained(1), await trained(1000)]

/**
 * Peers that read all frames with a dictionary. pyomq 0.27.3 has zrip-decode 0.8.11, which takes the tables of the
 * dictionary where a frame has the predefined ones; 0.8.13 does not.
 */
const readsDictionaries = (peer: PeerName) => peer !== "pyomq"

/** Makes a peer train. */
const AUTO_TRAIN: Record<PeerName, Record<string, number | boolean>> = {
  "omq-tokio": { autoTrain: true },
  pyomq: { compression_auto_train: 1 },
}
/** What a peer needs to receive parts beyond its default. */
const LARGE: Record<PeerName, object> = { "omq-tokio": {}, pyomq: LARGE_IN_PYOMQ }

const small: Stream = {
  name: "small, and some large",
  count: 5000,
  most: 250,
  large: [65_536, 2 << 20],
}
const mixed: Stream = { name: "of all sizes", count: 1000, large: [2 << 20] }

const join = (socket: Parameters<typeof Joined.make>[0], joining: Omit<Joining, "scheme">) =>
  Joined.make(socket, { scheme, ...joining })

interface Sending {
  how: string
  binds: Side
  ours: zmq.EndpointOptions
  forms: Form[]
}
const withDictionaries: Sending[] = [
  {
    how: "with a dictionary",
    binds: "ours",
    ours: { dictionary, level: 1 },
    forms: ["plain", "frame", "given ZDICT"],
  },
  {
    how: "in arenas with a dictionary",
    binds: "ours",
    ours: { arenas: true, dictionary, level: -1 },
    forms: ["plain", "frame", "given ZDICT", "ZSTA"],
  },
]

for (const peer of PEERS) {
  const each = SIDES.flatMap((binds) => pairings.map((pairing) => ({ binds, pairing })))
  test.each(
    each.map((one) => ({ ours: one.pairing.ours, theirs: one.pairing.theirs.type, ...one })),
  )(`our $ours and the $theirs of ${peer}; $binds binds`, async ({ binds, pairing }) => {
    const { theirs, does, envelope = [] } = pairing
    const { socket, exchange } = pairing.open()
    await using joined = await join(socket as never, { with: peer, binds, theirs: pairing.theirs })
    void theirs
    const stream = { name: "exchanged", ...pairing.stream, count: 300 }
    const [here, { envelope: seen = [], ...there }] = await Promise.all([
      exchange(stream),
      joined.peer.do({ do: does, stream, envelope: envelope.length }),
    ])
    expect(there).toEqual(here)
    expect(seen).toEqual(envelope)
  })

  test.each<{ how: string; binds: Side; theirs: object; stream: Stream; forms: Form[] }>([
    {
      how: "with default options",
      binds: "ours",
      theirs: {},
      stream: small,
      forms: ["plain", "frame", "ZSTA"],
    },
    { how: "of all sizes", binds: "theirs", theirs: {}, stream: mixed, forms: ["plain", "frame"] },
    {
      how: "with a dictionary",
      binds: "theirs",
      theirs: { dictionary: theirDictionary },
      stream: small,
      forms: ["plain", "frame", "given ZDICT", "ZSTA"],
    },
    {
      how: "with a dictionary that it trains",
      binds: "ours",
      theirs: { options: AUTO_TRAIN[peer] },
      stream: small,
      forms: ["plain", "frame", "trained ZDICT", "ZSTA"],
    },
  ])(
    `PULL receives from the PUSH of ${peer} $how; $binds binds`,
    async ({ binds, theirs, stream, forms }) => {
      const pull = new zmq.Pull()
      await using joined = await join(pull, {
        with: peer,
        binds,
        theirs: { type: "PUSH", ...theirs },
      })
      const [sent, received] = await Promise.all([
        joined.peer.do({ do: "send", stream }),
        receiveAll(stream, () => pull.receive()),
      ])
      expect(received).toEqual(sent)
      const seen = joined.understood("theirs")
      expect(seen.messages).toBe(stream.count)
      expect(seen.forms).toEqual(expect.arrayContaining(forms.filter((form) => form !== "plain")))
    },
  )

  test.each<Sending>([
    { how: "with default options", binds: "theirs", ours: {}, forms: ["plain", "frame"] },
    ...([-7, -1, 1, 3, 9] as const).map((level, i) => ({
      how: `at level ${level}`,
      binds: SIDES[i % SIDES.length] as Side,
      ours: { level },
      forms: ["plain", "frame"] satisfies Form[],
    })),
    {
      how: "in arenas",
      binds: "theirs",
      ours: { arenas: true, level: 1 },
      forms: ["plain", "frame", "ZSTA"],
    },
    ...(readsDictionaries(peer) ? withDictionaries : []),
  ])(
    `the PULL of ${peer} receives from PUSH $how; $binds binds`,
    async ({ binds, ours, forms }) => {
      const push = new zmq.Push()
      await using joined = await join(push, {
        with: peer,
        binds,
        ours,
        theirs: { type: "PULL", options: LARGE[peer] as never },
      })
      const [sent, received] = await Promise.all([
        sendAll(small, (parts) => push.send([...parts])),
        joined.peer.do({ do: "receive", stream: small }),
      ])
      expect(received).toEqual(sent)
      expect(joined.understood("ours")).toEqual({ messages: small.count, forms })
    },
  )

  test.each(SIDES)(
    `DEALER sends arenas to the DEALER of ${peer} that sends them; %s binds`,
    async (binds) => {
      const dealer = new zmq.Dealer()
      // On a busy machine the adaptive level may compress nothing, and then there are no arenas.
      const ours = { level: 1 } as const
      await using joined = await join(dealer, {
        with: peer,
        binds,
        ours,
        theirs: { type: "DEALER" },
      })
      await expectArenasBothWays(dealer, joined, "ZSTA")
    },
  )

  const options: zmq.EndpointOptions = readsDictionaries(peer) ? { dictionary } : {}
  test(`the SUB of ${peer} receives its topics`, async () => {
    const publisher = new zmq.Publisher({ sendHighWaterMark: 0 })
    const TOPICS = ["news/sport", "weather", "news", "new"]
    const stream: Stream = { name: "by topic", count: 2000, topics: TOPICS }
    const news: Stream = { ...stream, only: "news" }
    await using joined = await join(publisher, {
      with: peer,
      binds: "ours",
      ours: { ...options, level: 1 },
      theirs: { type: "SUB", subscribe: ["news"] },
    })
    do await publisher.send("news?")
    while (!(await joined.peer.do({ do: "receiveOne", timeoutMs: 50 })).parts)
    const [, received] = await Promise.all([
      sendAll(stream, (parts) => publisher.send([...parts])),
      joined.peer.do({ do: "receive", stream: news, probe: hex("news?") }),
    ])
    expect(received).toEqual(summarize(news))
  })

  test.each<{ origin: string; ours: zmq.EndpointOptions; forms: Form[] }>([
    { origin: "given", ours: { dictionary }, forms: ["frame", "given ZDICT"] },
    { origin: "trained", ours: { autoDictionary: true }, forms: ["frame", "trained ZDICT"] },
  ])(`events with a $origin dictionary reach the PULL of ${peer}`, async ({ ours, forms }) => {
    const push = new zmq.Push()
    await using joined = await join(push, {
      with: peer,
      binds: "ours",
      ours: { level: 1, ...ours },
      theirs: { type: "PULL" },
    })
    // Until a dictionary was trained, which happens while the thread is idle, and for a while after that.
    let sent = 0
    for (let left = 50; left > 0; sent++) {
      const event = payload("json", 150 + (sent % 100), 5000 + (sent % 200))
      await push.send(event)
      const { parts } = await joined.peer.do({ do: "receiveOne", timeoutMs: 200_000 })
      expect(parts).toEqual([Buffer.from(event).toString("hex")])
      if (push.lz4.connections[0]?.sent.dictionary) left--
    }
    const seen = joined.understood("ours")
    expect(seen.messages).toBe(sent)
    expect(seen.forms).toEqual(expect.arrayContaining(forms))
  })

  test(`a PUSH goes on with the next PULL of ${peer}`, async () => {
    const push = new zmq.Push({ reconnectInterval: 10 })
    const few: Stream = { ...small, count: 200, large: [] }
    const first = await startPeer[peer]({ type: "PULL", bind: "zstd+tcp://127.0.0.1:0" })
    push.connect(first.endpoint, { ...options, level: 1 })
    const [sent, received] = await Promise.all([
      sendAll(few, (parts) => push.send([...parts])),
      first.do({ do: "receive", stream: few }),
    ])
    expect(received).toEqual(sent)
    await first[Symbol.asyncDispose]()
    await using next = await startPeer[peer]({ type: "PULL", bind: first.endpoint })
    const [again, receivedAgain] = await Promise.all([
      sendAll(few, (parts) => push.send([...parts])),
      next.do({ do: "receive", stream: few }),
    ])
    expect(receivedAgain).toEqual(again)
    expect(push.lz4.connections[0]?.sent.dictionary).toBe(readsDictionaries(peer))
    push.close()
  })
}
