/** What is optional in the format, with pyomq: an older omq-tokio, which knows no arenas. */
import { once } from "node:events"
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import { vectorDictionary } from "../support/plaintexts.js"
import { use } from "../support/sockets.js"
import { Joined } from "./joined.js"
import type { Side } from "./matrix.js"
import { PythonPeer } from "./python-peer.js"
import { receiveAll, type Stream, sendAll } from "./stream.js"
import type { Form } from "./tap.js"

const dictionary = vectorDictionary()
const stream: Stream = {
  name: "small, and some large",
  count: 10_000,
  most: 250,
  large: [65_536, 2 << 20],
}

const formsOf = (parts: Record<Form, number>): string[] =>
  Object.entries(parts).flatMap(([form, count]) => (count ? [form] : []))

test.each<{ theirs: object; forms: Form[]; binds: Side }>([
  { theirs: {}, forms: ["plain", "LZ4B"], binds: "ours" },
  { theirs: { dictionary }, forms: ["plain", "LZ4B", "given LZ4D"], binds: "theirs" },
  {
    theirs: { options: { compression_auto_train: 1 } },
    forms: ["plain", "LZ4B", "trained LZ4D"],
    binds: "ours",
  },
])(
  "PULL gets messages from a PUSH with $theirs; $binds binds",
  async ({ theirs, forms, binds }) => {
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
    expect(formsOf(joined.understood("theirs").parts)).toEqual(forms)
  },
)

test.each<{ ours: zmq.EndpointOptions; forms: Form[]; binds: Side }>([
  { ours: {}, forms: ["plain", "LZ4B"], binds: "theirs" },
  { ours: { dictionary }, forms: ["plain", "LZ4B", "given LZ4D"], binds: "ours" },
  { ours: { autoDictionary: true }, forms: ["plain", "LZ4B", "trained LZ4D"], binds: "theirs" },
  { ours: { level: 9 }, forms: ["plain", "LZ4B"], binds: "ours" },
  {
    ours: { level: 9, autoDictionary: true },
    forms: ["plain", "LZ4B", "trained LZ4D"],
    binds: "ours",
  },
])(
  "their PULL gets messages from PUSH with $ours; $binds binds",
  async ({ ours, forms, binds }) => {
    const push = new zmq.Push()
    await using joined = await Joined.make(push, {
      with: "pyomq",
      binds,
      ours,
      theirs: { type: "PULL" },
    })
    const [sent, received] = await Promise.all([
      sendAll(stream, (parts) => push.send([...parts])),
      joined.peer.do({ do: "receive", stream }),
    ])
    expect(received).toEqual(sent)
    expect(formsOf(joined.understood("ours").parts)).toEqual(forms)
  },
)

test("a peer that knows no arenas closes on one: a disconnect, and the next connection works", async () => {
  await using peer = await PythonPeer.start({
    module: "pyomq",
    type: "PULL",
    bind: "lz4+tcp://127.0.0.1:0",
  })
  const errors: Error[] = []
  const refused = use(new zmq.Push())
  refused.lz4.on("protocolError", ({ error }) => errors.push(error))
  refused.connect(peer.endpoint, { arenas: true })
  const disconnected = once(refused.lz4, "disconnect")
  await Promise.all(Array.from({ length: 100 }, (_, i) => refused.send(`message ${i}`)))
  await disconnected
  refused.close()
  expect(errors).toEqual([])

  const push = use(new zmq.Push())
  push.connect(peer.endpoint)
  const few = { ...stream, count: 100 }
  const [sent, received] = await Promise.all([
    sendAll(few, (parts) => push.send([...parts])),
    peer.do({ do: "receive", stream: few }),
  ])
  expect(received).toEqual(sent)
})
