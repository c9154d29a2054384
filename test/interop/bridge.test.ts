/**
 * Plain pyzmq on one side of `zeromq-lz4 bridge`; pyomq, which shares no code with this package, or
 * a socket of ours on the other.
 */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import { anyEndpoint, bridgesTo, type Leg } from "../support/bridges.js"
import { vectorDictionary } from "../support/plaintexts.js"
import { type AnySocket, use } from "../support/sockets.js"
import { hex } from "./pairings.js"
import { PythonPeer } from "./python-peer.js"
import { askAll, echoAll, receiveAll, type Stream, sendAll, summarize } from "./stream.js"

const ways: Leg[][] = [
  ["tcp", "lz4+tcp"],
  ["lz4+tcp", "tcp"],
  ["ipc", "lz4+tcp"],
  ["lz4+tcp", "ipc"],
]

/** Starts a peer on each side of a bridge: the first connects, the last binds. */
async function peers(
  way: Leg[],
  plain: { type: string; subscribe?: string[] },
  lz4: { type: string; subscribe?: string[]; dictionary?: Uint8Array },
  ...options: string[]
) {
  const setups = way.map((leg) =>
    leg === "lz4+tcp" ? { module: "pyomq" as const, ...lz4 } : { module: "zmq" as const, ...plain },
  )
  const [connecting, binding] = setups as [(typeof setups)[number], (typeof setups)[number]]
  const any = anyEndpoint(way[1] as Leg)
  const bound = await PythonPeer.start({ ...binding, bind: any })
  const endpoint = await bridgesTo(any.startsWith("ipc") ? any : bound.endpoint, way, ...options)
  const connected = await PythonPeer.start({ ...connecting, connect: endpoint })
  const plainConnects = way[1] === "lz4+tcp"
  return {
    plain: plainConnects ? connected : bound,
    lz4: plainConnects ? bound : connected,
    async [Symbol.asyncDispose]() {
      await connected[Symbol.asyncDispose]()
      await bound[Symbol.asyncDispose]()
    },
  }
}

const pipeline: Stream = { name: "through a bridge", count: 2500, large: [2 << 20] }
const questions: Stream = { name: "asked through a bridge", count: 300, least: 1 }
const topics: Stream = {
  name: "published through a bridge",
  count: 300,
  topics: ["news/sport", "weather", "news", "new"],
}
const news: Stream = { ...topics, only: "news" }
const PROBE = "news?"

describe.each(ways.map((way) => ({ way, path: way.join(" → ") })))("$path", ({ way }) => {
  test.each([
    { sender: "pyzmq", plain: "PUSH", lz4: "PULL" },
    { sender: "pyomq", plain: "PULL", lz4: "PUSH" },
  ])("PUSH of $sender to PULL of the other", async ({ plain, lz4 }) => {
    await using pair = await peers(way, { type: plain }, { type: lz4 })
    const [sender, receiver] = plain === "PUSH" ? [pair.plain, pair.lz4] : [pair.lz4, pair.plain]
    const [sent, received] = await Promise.all([
      sender.do({ do: "send", stream: pipeline }),
      receiver.do({ do: "receive", stream: pipeline }),
    ])
    expect(received).toEqual(sent)
    expect(received.messages).toBe(pipeline.count)
  })

  test.each([
    { asking: "pyzmq", plain: "REQ", lz4: "REP" },
    { asking: "pyomq", plain: "REP", lz4: "REQ" },
  ])("REQ of $asking to REP of the other", async ({ plain, lz4 }) => {
    await using pair = await peers(way, { type: plain }, { type: lz4 })
    const [asking, answering] = plain === "REQ" ? [pair.plain, pair.lz4] : [pair.lz4, pair.plain]
    const [asked, { envelope: _, ...answered }] = await Promise.all([
      asking.do({ do: "ask", stream: questions }),
      answering.do({ do: "echo", stream: questions }),
    ])
    expect(answered).toEqual(asked)
    expect(asked.messages).toBe(questions.count)
  })

  test.each([
    { publishing: "pyzmq", plain: "PUB", lz4: "SUB" },
    { publishing: "pyomq", plain: "SUB", lz4: "PUB" },
  ])(
    "PUB of $publishing to SUB of the other, which receives its topics only",
    async ({ plain, lz4 }) => {
      const subscribe = ["news"]
      await using pair = await peers(
        way,
        { type: plain, ...(plain === "SUB" && { subscribe }) },
        { type: lz4, ...(lz4 === "SUB" && { subscribe }) },
      )
      const [publisher, subscriber] =
        plain === "PUB" ? [pair.plain, pair.lz4] : [pair.lz4, pair.plain]
      do await publisher.do({ do: "sendOne", parts: [hex(PROBE)] })
      while (!(await subscriber.do({ do: "receiveOne", timeoutMs: 50 })).parts)
      // One message at a time, because a publisher drops what it cannot send at once.
      for (const [i, topic] of Array(50).fill(topics.topics).flat().entries()) {
        const stream: Stream = { name: `${topic} ${i}`, count: 1, topics: [topic] }
        await publisher.do({ do: "send", stream })
        const received = { ...stream, only: "news" }
        expect(await subscriber.do({ do: "receive", stream: received, probe: hex(PROBE) })).toEqual(
          summarize(received),
        )
      }
    },
  )
})

test("both sides send with dictionaries", async () => {
  const dictionary = vectorDictionary()
  await using pair = await peers(
    ["tcp", "lz4+tcp"],
    { type: "DEALER" },
    { type: "DEALER", dictionary },
    "--auto-dictionary",
  )
  const stream: Stream = { name: "with dictionaries", count: 2000, most: 2000 }
  const [there, { envelope: _, ...back }] = await Promise.all([
    pair.plain.do({ do: "ask", stream }),
    pair.lz4.do({ do: "echo", stream }),
  ])
  expect(back).toEqual(there)
})

describe.each([
  { way: ["tcp", "lz4+tcp"] as Leg[], connects: "pyzmq" },
  { way: ["lz4+tcp", "tcp"] as Leg[], connects: "ours" },
])("pyzmq and a socket of ours; $connects connects", ({ way, connects }) => {
  async function join(socket: AnySocket, type: string): Promise<PythonPeer> {
    use(socket)
    if (connects === "pyzmq") {
      await socket.bind(anyEndpoint("lz4+tcp"))
      const endpoint = await bridgesTo(socket.lastEndpoint as string, way)
      return await PythonPeer.start({ module: "zmq", type, connect: endpoint })
    }
    const peer = await PythonPeer.start({ module: "zmq", type, bind: anyEndpoint("tcp") })
    socket.connect(await bridgesTo(peer.endpoint, way))
    return peer
  }

  test("PUSH and PULL", async () => {
    const [push, pull] = [new zmq.Push(), new zmq.Pull()]
    await using receiver = await join(push, "PULL")
    await using sender = await join(pull, "PUSH")
    const [sent, received, theirs, ours] = await Promise.all([
      sendAll(pipeline, (parts) => push.send([...parts])),
      receiver.do({ do: "receive", stream: pipeline }),
      sender.do({ do: "send", stream: pipeline }),
      receiveAll(pipeline, () => pull.receive()),
    ])
    expect([received, theirs, ours]).toEqual([sent, sent, sent])
  })

  test("REQ and REP", async () => {
    const [request, reply] = [new zmq.Request(), new zmq.Reply()]
    await using answering = await join(request, "REP")
    await using asking = await join(reply, "REQ")
    await Promise.all([
      answering.do({ do: "echo", stream: questions }),
      askAll(
        questions,
        (parts) => request.send([...parts]),
        () => request.receive(),
      ),
    ])
    await Promise.all([
      asking.do({ do: "ask", stream: questions }),
      echoAll(
        questions,
        (parts) => reply.send([...parts]),
        () => reply.receive(),
      ),
    ])
  })

  test("PUB and SUB, which receives its topics only", async () => {
    const publisher = new zmq.Publisher({ sendHighWaterMark: 0 })
    await using subscriber = await join(publisher, "SUB")
    await subscriber.do({ do: "subscribe", topic: "news" })
    do await publisher.send(PROBE)
    while (!(await subscriber.do({ do: "receiveOne", timeoutMs: 50 })).parts)
    const [, received] = await Promise.all([
      sendAll(topics, (parts) => publisher.send([...parts])),
      subscriber.do({ do: "receive", stream: news, probe: hex(PROBE) }),
    ])
    expect(received).toEqual(summarize(news))
    expect(publisher.lz4.stats.sent.messages).toBeLessThan(topics.count)
  })
})
