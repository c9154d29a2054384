/** Sessions with other implementations are captured, and decoded to the messages that were sent. */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import * as zmq from "zeromq-lz4"
import {
  type CapturedConnection,
  decodeCapture,
  type PartKind,
  type Side,
} from "zeromq-lz4/capture"
import { createRandom } from "../../bench/random.mjs"
import { temporaryDirectory } from "../support/packed.js"
import { vectorDictionary } from "../support/plaintexts.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { eventually, use } from "../support/sockets.js"
import { Capture } from "./capture.js"
import { startPeer } from "./joined.js"
import { isOlderPyomq, LARGE_IN_PYOMQ } from "./python.js"
import { PythonPeer } from "./python-peer.js"
import {
  askAll,
  duplexAll,
  OVER_A_GIBIBYTE,
  receiveAll,
  type Stream,
  sendAll,
  summarize,
} from "./stream.js"

const CLI = new URL("../../dist/cli/main.js", import.meta.url).pathname

const dictionary = vectorDictionary()
const theirDictionary = vectorDictionary().reverse()
const stream: Stream = { name: "seen", count: 1000, most: 3000, large: [65_536, 300_000] }
const small: Stream = { name: "small, seen", count: 3000, most: 250 }

const portOf = (endpoint: string) => Number(new URL(endpoint.replace("lz4+", "")).port)

/** Waits until a capture's only connection has this number of messages from each side. */
async function seen(
  capture: Capture,
  counts: Partial<Record<Side, number>>,
): Promise<CapturedConnection> {
  return await eventually(() => {
    if (capture.file().length < 24) return false
    const { connections, errors } = decodeCapture(capture.file())
    const [connection] = connections
    // tcpdump may not have written the last packet completely.
    if (!connection || errors.length > 0) return false
    for (const side of ["client", "server"] as const)
      if (connection.traffic[side].messages < (counts[side] ?? 0)) return false
    return connection
  })
}

/** Expects that a side has sent a stream. Returns the forms of its parts, including dictionaries. */
async function expectSent(
  { messages, shipments }: CapturedConnection,
  from: Side,
  expected: Stream,
): Promise<Set<PartKind>> {
  const kinds = new Set<PartKind>()
  const sent: Uint8Array[][] = []
  for (const message of [...shipments, ...messages]) {
    if (message.from !== from) continue
    for (const { kind, error } of message.parts) {
      kinds.add(kind)
      expect(error).toBeUndefined()
    }
    if (message.parts[0]?.kind !== "LZ4D") sent.push(message.parts.map((part) => part.plain!))
  }
  expect(sent.length).toBe(expected.count)
  const all = sent.values()
  const received = await receiveAll(expected, async () => all.next().value as Uint8Array[])
  expect(received).toEqual(summarize(expected))
  return kinds
}

const { "omq-tokio": rust, pyomq } = startPeer

/** How pyomq and we, after its first arena, send small messages. */
const smallKind = isOlderPyomq ? "LZ4B" : "LZ4A"

test.each<{
  how: string
  peer: typeof rust
  stream: Stream
  ours: zmq.EndpointOptions
  theirs: object
  kinds: PartKind[]
  theirKinds: PartKind[]
}>([
  {
    how: "pyomq, default options",
    peer: pyomq,
    stream,
    ours: {},
    theirs: {},
    kinds: ["LZ4B", "plain"],
    theirKinds: ["LZ4B", "plain"],
  },
  {
    how: "pyomq, with dictionaries",
    peer: pyomq,
    stream,
    ours: { dictionary, level: 9 },
    theirs: { dictionary: theirDictionary },
    kinds: ["LZ4B", "LZ4D", "plain"],
    theirKinds: ["LZ4B", "LZ4D", "plain"],
  },
  {
    how: "pyomq, with trained dictionaries",
    peer: pyomq,
    stream: small,
    ours: { autoDictionary: true },
    theirs: { options: { compression_auto_train: 1 } },
    kinds: [smallKind, "LZ4D", "plain"],
    theirKinds: [smallKind, "LZ4D", "plain"],
  },
  {
    how: "omq-tokio, with arenas and a dictionary",
    peer: rust,
    stream: small,
    ours: { arenas: true, dictionary },
    theirs: {},
    kinds: ["LZ4A", "LZ4D"],
    theirKinds: ["LZ4A"],
  },
])(
  "decodes a session between DEALER and $how",
  async ({ peer: start, stream, ours, theirs, kinds, theirKinds }) => {
    const dealer = use(new zmq.Dealer())
    await dealer.bind("lz4+tcp://127.0.0.1:*", ours)
    const endpoint = dealer.lastEndpoint as string
    await using capture = await Capture.start(portOf(endpoint))
    await using peer = await start({ type: "DEALER", connect: endpoint, ...theirs })
    await Promise.all([
      duplexAll(
        stream,
        (parts) => dealer.send([...parts] as Buffer[]),
        () => dealer.receive(),
      ),
      peer.do({ do: "echo", stream }),
    ])
    const connection = await seen(capture, { client: stream.count, server: stream.count })
    expect(connection).toMatchObject({ server: `127.0.0.1:${portOf(endpoint)}`, begun: true })
    expect(connection.transport).toBe("lz4+tcp")
    expect(connection.handshakes.client).toMatchObject({ mechanism: "NULL", socketType: "DEALER" })
    expect(connection.handshakes.server).toMatchObject({ version: "3.1", socketType: "DEALER" })
    expect(connection.errors).toEqual([])

    // Whether a message is alone in an arena depends on timing.
    expect([...(await expectSent(connection, "server", stream))]).toEqual(
      expect.arrayContaining(kinds),
    )
    expect([...(await expectSent(connection, "client", stream))]).toEqual(
      expect.arrayContaining(theirKinds),
    )
    if (ours.dictionary) expectSameBytes(connection.dictionaries.server!, ours.dictionary)
    if (ours.autoDictionary) expect(connection.dictionaries.server).toBeDefined()

    // The sockets have the same counts.
    const { messages, plainBytes, wireBytes } = dealer.lz4.stats.sent
    expect(connection.traffic.server).toEqual({ messages, plainBytes, wireBytes })
    const received = dealer.lz4.stats.received
    expect(connection.traffic.client).toEqual({
      messages: received.messages,
      plainBytes: received.plainBytes,
      wireBytes: received.wireBytes,
    })

    const damaged = decodeCapture(duplicatedAndSwapped(capture.file()))
    expect(damaged.connections[0]?.errors).toEqual([])
    await expectSent(damaged.connections[0]!, "server", stream)
    await expectSent(damaged.connections[0]!, "client", stream)

    expectInspected(capture.file(), connection)
  },
)

test("decodes a part of over 1 GiB that pyomq accepts", async () => {
  await using peer = await pyomq({
    type: "PULL",
    bind: "lz4+tcp://127.0.0.1:0",
    options: LARGE_IN_PYOMQ,
  })
  await using capture = await Capture.start(portOf(peer.endpoint))
  const push = use(new zmq.Push())
  push.connect(peer.endpoint)
  const [sent, received] = await Promise.all([
    sendAll(OVER_A_GIBIBYTE, (parts) => push.send([...parts])),
    peer.do({ do: "receive", stream: OVER_A_GIBIBYTE }),
  ])
  expect(received).toEqual(sent)
  const connection = await seen(capture, { client: 1 })
  expect([...(await expectSent(connection, "client", OVER_A_GIBIBYTE))]).toEqual(["LZ4M"])
})

test("decodes SUBSCRIBE and CANCEL of pyomq's SUB", async () => {
  const publisher = use(new zmq.XPublisher())
  await publisher.bind("lz4+tcp://127.0.0.1:*")
  const endpoint = publisher.lastEndpoint as string
  await using capture = await Capture.start(portOf(endpoint))
  await using peer = await pyomq({ type: "SUB", connect: endpoint, subscribe: ["news"] })
  expect(String(await publisher.receive())).toBe("\x01news")
  await publisher.send(["news/sport", "1 : 0"])
  expect((await peer.do({ do: "receiveOne", timeoutMs: 200_000 })).parts).toHaveLength(2)
  await peer.do({ do: "unsubscribe", topic: "news" })
  expect(String(await publisher.receive())).toBe("\x00news")

  const connection = await eventually(async () => {
    const connection = await seen(capture, { server: 1 })
    return connection.commands.some(({ name }) => name === "CANCEL") && connection
  })
  const { commands, messages } = connection
  const said = commands.filter(({ name }) => name === "SUBSCRIBE" || name === "CANCEL")
  expect(said.map(({ from, name, body }) => [from, name, String.fromCharCode(...body)])).toEqual([
    ["client", "SUBSCRIBE", "news"],
    ["client", "CANCEL", "news"],
  ])
  expect(messages.map(({ from, parts }) => [from, ...parts.map(textOf)])).toEqual([
    ["server", "news/sport", "1 : 0"],
  ])
})

test("decodes plain tcp:// between pyzmq and zeromq.js", async () => {
  await using peer = await PythonPeer.start({
    module: "zmq",
    type: "REP",
    bind: "tcp://127.0.0.1:0",
  })
  await using capture = await Capture.start(portOf(peer.endpoint))
  const request = use(new zmq.Request())
  request.connect(peer.endpoint)
  const asked: Stream = { name: "asked", count: 50 }
  await Promise.all([
    askAll(
      asked,
      (parts) => request.send([...parts]),
      () => request.receive(),
    ),
    peer.do({ do: "echo", stream: asked }),
  ])
  const connection = await seen(capture, { client: asked.count, server: asked.count })
  expect(connection.transport).toBe("tcp")
  const [question] = connection.messages
  // REQ's empty delimiter comes first.
  expect(question?.parts.map(({ kind }) => kind)).toContain("none")
  expect(question?.parts[0]?.plain).toHaveLength(0)
  expect(connection.errors).toEqual([])
})

const textOf = ({ plain }: { plain: Uint8Array | undefined }) => String.fromCharCode(...plain!)

/** Repeats and reorders packets of a .pcap file in this machine's byte order. */
function duplicatedAndSwapped(file: Buffer): Uint8Array {
  const HEADER = 24
  const records: Buffer[] = []
  for (let at = HEADER; at < file.length; ) {
    const end = at + 16 + file.readUInt32LE(at + 8)
    records.push(file.subarray(at, end))
    at = end
  }
  const random = createRandom("damage")
  // The handshake shows which side is the client.
  for (let i = 8; i < records.length - 1; i++) {
    const dice = random.below(10)
    if (dice === 0) records.splice(i, 0, records[i - random.below(5)] as Buffer)
    if (dice === 1) [records[i], records[i + 1]] = [records[i + 1]!, records[i]!]
  }
  return Buffer.concat([file.subarray(0, HEADER), ...records])
}

/** Expects that `zeromq-lz4 inspect` prints these messages. */
function expectInspected(file: Uint8Array, { messages, shipments }: CapturedConnection): void {
  const directory = temporaryDirectory()
  onTestFinished(() => directory[Symbol.dispose]())
  const path = join(directory.path, "capture.pcap")
  writeFileSync(path, file)
  const lines = execFileSync(process.execPath, [CLI, "inspect", "--json", path], {
    encoding: "utf8",
    maxBuffer: 1 << 29,
  })
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  const inspected = ["dictionary", "message"].flatMap((wanted) =>
    lines.filter(({ type }) => type === wanted),
  )
  const expected = [...shipments, ...messages]
  expect(inspected.length).toBe(expected.length)
  for (const [i, { type, from, ...row }] of inspected.entries()) {
    const message = expected[i]!
    expect(from).toBe(message.from)
    // A dictionary has a row of another type.
    const parts = type === "dictionary" ? [{ kind: "LZ4D", ...row }] : row.parts
    expect(parts.length).toBe(message.parts.length)
    for (const [j, part] of parts.entries()) {
      const { kind, plain, wire } = message.parts[j]!
      expect(part.kind).toBe(kind)
      const content = kind === "LZ4D" ? wire.subarray(4) : plain!
      expectSameBytes(
        Buffer.from(part.text ?? part.base64, part.base64 ? "base64" : "utf8"),
        content,
      )
    }
  }
}
