/** Replays recorded bytes of Ruby's omq-lz4 0.3.4 to our sockets (test/recorded/README.md). */
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { expect, test } from "vitest"
import { Pull, Push, Request, XPublisher } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { streams, texts } from "../support/omq-lz4.js"
import { type RawPeer, rawPeer } from "../support/raw-peer.js"
import { eventually, use } from "../support/sockets.js"
import { concat } from "../support/wire.js"
import { COMMAND, MORE, messagesOf, parseStream } from "../support/zmtp.js"

const ENDPOINT = "lz4+tcp://127.0.0.1:*"
const [reqRep, pubSub, pushPull, plain] = streams() as [Stream, Stream, Stream, Stream]
type Stream = ReturnType<typeof streams>[number]

/** Decodes the messages of a stream. */
function decode(bytes: Uint8Array): Buffer[][] {
  using codec = Codec.createSync()
  return messagesOf(parseStream(bytes).frames)
    .flatMap((wire) => codec.decode(wire))
    .map((message) => message.map((part) => Buffer.from(part)))
}

/** Splits a stream into the bytes before the first message, and each message with preceding commands. */
function steps(bytes: Uint8Array): Uint8Array[] {
  const { frames } = parseStream(bytes)
  const first = frames.findIndex(({ flags }) => !(flags & COMMAND))
  const cuts = [0]
  for (const [i, { flags, body, offset }] of frames.entries()) {
    const isDictionary = Buffer.from(body.subarray(0, 4)).equals(Buffer.from("LZ4D"))
    if (i === first) cuts.push(offset)
    if (i < first || flags & MORE || isDictionary) continue
    cuts.push(frames[i + 1]?.offset ?? bytes.length)
  }
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
}

/** Collects the bytes sent to a peer. */
function collect(socket: Socket): () => Uint8Array {
  const chunks: Uint8Array[] = []
  socket.on("data", (chunk) => chunks.push(chunk))
  return () => concat(...chunks)
}

test("PULL receives the 1000 messages of Ruby's PUSH, which trained a dictionary", async () => {
  const pull = use(new Pull())
  await pull.bind(ENDPOINT)
  use(await rawPeer(pull.lastEndpoint as string, pushPull.client))
  const expected = decode(pushPull.client)
  expect(expected).toHaveLength(1000)
  const received: Buffer[][] = []
  while (received.length < expected.length) received.push(await pull.receive())
  expect(texts(received)).toEqual(texts(expected))
})

test("REQ receives the 100 replies of Ruby's REP", async () => {
  const request = use(new Request())
  await request.bind(ENDPOINT)
  const [handshake, ...replies] = steps(reqRep.client)
  const peer: RawPeer = use(await rawPeer(request.lastEndpoint as string, handshake!))
  const [asked, answered] = [decode(reqRep.server), decode(reqRep.client)]
  expect(replies).toHaveLength(100)
  for (const [i, reply] of replies.entries()) {
    await request.send(asked[i]!.slice(1)) // REQ adds the empty delimiter
    peer.socket.write(reply)
    expect(texts([await request.receive()])).toEqual(texts([answered[i]!.slice(1)]))
  }
})

test("XPUB accepts the subscription of Ruby's XSUB, and sends matching messages", async () => {
  const publisher = use(new XPublisher())
  await publisher.bind(ENDPOINT)
  const peer = use(await rawPeer(publisher.lastEndpoint as string, pubSub.client))
  const received = collect(peer.socket)
  expect(await publisher.receive()).toEqual([Buffer.from("\x01B")])
  const messages = decode(pubSub.server)
  await publisher.send(["A", "not asked for"])
  for (const message of messages) await publisher.send(message)
  await eventually(() => decode(received()).length === messages.length)
  expect(texts(decode(received()))).toEqual(texts(messages))
})

test("PUSH authenticates to Ruby's PULL, a PLAIN server, and sends", async () => {
  const server = createServer((socket) => {
    use({ close: () => socket.destroy() })
    socket.on("error", () => {})
    socket.write(plain.server)
    server.emit("peer", collect(socket))
  }).listen(0, "127.0.0.1")
  use({ close: () => server.close() })
  await once(server, "listening")
  const joined = once(server, "peer")

  const push = use(new Push({ plainUsername: "ruby", plainPassword: "secret" }))
  push.connect(`lz4+tcp://127.0.0.1:${(server.address() as { port: number }).port}`)
  const messages = decode(plain.client)
  expect(messages).toHaveLength(50)
  for (const message of messages) await push.send(message)
  const [received] = (await joined) as [() => Uint8Array]
  await eventually(() => decode(received()).length === messages.length)
  expect(texts(decode(received()))).toEqual(texts(messages))
})
