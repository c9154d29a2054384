/** Optional forms with pyomq. Its older version has no arenas. */
import { once } from "node:events"
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import { vectorDictionary } from "../support/plaintexts.js"
import { use } from "../support/sockets.js"
import { expectArenasBothWays } from "./arenas.js"
import { Joined } from "./joined.js"
import type { Side } from "./matrix.js"
import { hex } from "./pairings.js"
import { isOlderPyomq, LARGE_IN_PYOMQ } from "./python.js"
import { PythonPeer } from "./python-peer.js"
import { alike, OVER_A_GIBIBYTE, receiveAll, type Stream, sendAll } from "./stream.js"
import type { Form } from "./tap.js"

const dictionary = vectorDictionary()
const small: Stream = {
  name: "small, and some large",
  count: 10_000,
  most: 250,
  large: [65_536, 2 << 20],
}

/** What it sends small messages in, besides the other forms. */
const inArenas: Form[] = isOlderPyomq ? [] : ["LZ4A"]

interface Case {
  how: string
  binds: Side
  /** The forms on the wire, in the order of FORMS. */
  forms: Form[]
  stream: Stream
}

test.each<Case & { theirs: object }>([
  {
    how: "with default options",
    binds: "ours",
    theirs: {},
    forms: ["plain", "LZ4B", ...inArenas],
    stream: small,
  },
  {
    how: "with OMQ_COMPRESSION_DICT",
    binds: "theirs",
    theirs: { dictionary },
    forms: ["plain", "LZ4B", "given LZ4D", ...inArenas],
    stream: small,
  },
  {
    how: "with OMQ_COMPRESSION_AUTO_TRAIN",
    binds: "ours",
    theirs: { options: { compression_auto_train: 1 } },
    forms: ["plain", "LZ4B", "trained LZ4D", ...inArenas],
    stream: small,
  },
  { how: "in several blocks", binds: "ours", theirs: {}, forms: ["LZ4M"], stream: OVER_A_GIBIBYTE },
])("PULL receives from their PUSH $how; $binds binds", async (session) => {
  const { binds, theirs, forms, stream } = session
  const pull = new zmq.Pull()
  await using joined = await Joined.make(pull, {
    with: "pyomq",
    binds,
    theirs: { type: "PUSH", ...theirs },
  })
  const [sent, received] = await Promise.all([
    joined.peer.do({ do: "send", stream }),
    receiveAll(stream, () => pull.receive()),
  ])
  expect(received).toEqual(sent)
  expect(joined.understood("theirs")).toEqual({ messages: stream.count, forms })
})

test.each<Case & { ours: zmq.EndpointOptions }>([
  {
    how: "with default options",
    binds: "theirs",
    ours: {},
    forms: ["plain", "LZ4B"],
    stream: small,
  },
  {
    how: "with a dictionary",
    binds: "ours",
    ours: { dictionary },
    forms: ["plain", "LZ4B", "given LZ4D"],
    stream: small,
  },
  {
    how: "with autoDictionary",
    binds: "theirs",
    ours: { autoDictionary: true },
    forms: ["plain", "LZ4B", "trained LZ4D"],
    stream: small,
  },
  {
    how: "with level 9",
    binds: "ours",
    ours: { level: 9 },
    forms: ["plain", "LZ4B"],
    stream: small,
  },
  {
    how: "with level 9 and autoDictionary",
    binds: "ours",
    ours: { level: 9, autoDictionary: true },
    forms: ["plain", "LZ4B", "trained LZ4D"],
    stream: small,
  },
  ...(isOlderPyomq
    ? []
    : [
        {
          how: "with arenas",
          binds: "theirs" as const,
          ours: { arenas: true, acceleration: 1 },
          forms: ["plain", "LZ4B", "LZ4A"] satisfies Form[],
          stream: small,
        },
      ]),
  { how: "in several blocks", binds: "theirs", ours: {}, forms: ["LZ4M"], stream: OVER_A_GIBIBYTE },
])("their PULL receives from PUSH $how; $binds binds", async (session) => {
  const { binds, ours, forms, stream } = session
  const push = new zmq.Push()
  await using joined = await Joined.make(push, {
    with: "pyomq",
    binds,
    ours,
    theirs: { type: "PULL", options: LARGE_IN_PYOMQ },
  })
  const [sent, received] = await Promise.all([
    sendAll(stream, (parts) => push.send([...parts])),
    joined.peer.do({ do: "receive", stream }),
  ])
  expect(received).toEqual(sent)
  expect(joined.understood("ours")).toEqual({ messages: stream.count, forms })
})

if (!isOlderPyomq)
  test.each([3, 6])(
    "equal messages of %i short parts are sent in arenas, both ways",
    async (parts) => {
      const stream = alike(parts)
      const pull = new zmq.Pull()
      await using theirs = await Joined.make(pull, {
        with: "pyomq",
        binds: "ours",
        theirs: { type: "PUSH" },
      })
      const [sent, received] = await Promise.all([
        theirs.peer.do({ do: "send", stream }),
        receiveAll(stream, () => pull.receive()),
      ])
      expect(received).toEqual(sent)
      expect(theirs.understood("theirs").forms).toContain("LZ4A")

      const push = new zmq.Push()
      await using ours = await Joined.make(push, {
        with: "pyomq",
        binds: "theirs",
        ours: { arenas: true, acceleration: 1 },
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

const REFUSED = "for an arena"

if (isOlderPyomq)
  test("a peer without arenas disconnects at one, and the next connection works", async () => {
    await using peer = await PythonPeer.start({
      module: "pyomq",
      type: "PULL",
      bind: "lz4+tcp://127.0.0.1:0",
    })
    const errors: Error[] = []
    const refused = use(new zmq.Push())
    refused.lz4.on("protocolError", ({ error }) => errors.push(error))
    // On a busy machine the adaptive level may compress nothing, and then there are no arenas.
    refused.connect(peer.endpoint, { arenas: true, acceleration: 1 })
    const disconnected = once(refused.lz4, "disconnect")
    // The first messages are sent alone, and arrive.
    await Promise.all(Array.from({ length: 100 }, () => refused.send(REFUSED)))
    await disconnected
    refused.close()
    expect(errors).toEqual([])

    const push = use(new zmq.Push())
    push.connect(peer.endpoint)
    const few = { ...small, count: 100 }
    const [sent, received] = await Promise.all([
      sendAll(few, (parts) => push.send([...parts])),
      peer.do({ do: "receive", stream: few, probe: hex(REFUSED) }),
    ])
    expect(received).toEqual(sent)
  })
else
  test.each<Side>(["ours", "theirs"])(
    "DEALER sends arenas to a DEALER that sends them; %s binds",
    async (binds) => {
      const dealer = new zmq.Dealer()
      // On a busy machine the adaptive level may compress nothing, and then there are no arenas.
      const ours = { acceleration: 1 }
      await using joined = await Joined.make(dealer, {
        with: "pyomq",
        binds,
        ours,
        theirs: { type: "DEALER" },
      })
      await expectArenasBothWays(dealer, joined, "LZ4A")
    },
  )
