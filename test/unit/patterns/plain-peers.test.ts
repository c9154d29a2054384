/** Messages of pipes to plain tcp:// peers, and to peers before and after them. */
import { describe, expect, onTestFinished, test } from "vitest"

import { payload } from "../../../bench/payloads.mjs"
import { Codec } from "../../../src/codec/codec.js"
import { checkLz4Options, type Lz4Options, type Settings } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import { Distribution } from "../../../src/patterns/distribution.js"
import { writeOut } from "../../../src/patterns/exit-writes.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import type { ConnectionEncoding } from "../../../src/transport/connection-encoding.js"
import { bytesOfChunk } from "../../support/chunks.js"
import {
  burst,
  encodingOf,
  FakeConnection,
  noMarks,
  shippedBefore,
  silent,
  textOf,
} from "../../support/pipes.js"
import { concat } from "../../support/wire.js"
import { greeting, messagesOf, parseStream } from "../../support/zmtp.js"

const settingsOf = new WeakMap<Sender, Settings>()

function senderWith(options: Lz4Options = {}): Sender {
  const settings = checkLz4Options({ arenas: "auto", ...options }, -1)
  const sender = new Sender(settings, true)
  settingsOf.set(sender, settings)
  onTestFinished(() => sender.close())
  return sender
}

/** A connection whose peer decodes written data, unless it announced nothing. */
class Peer extends FakeConnection {
  readonly #codec = Codec.createSync()
  override readonly encoding: ConnectionEncoding
  readonly got: string[] = []

  constructor(sender: Sender, announced: number | undefined) {
    super()
    this.packing = sender.packingFor(announced)
    this.encoding = encodingOf(sender, settingsOf.get(sender) as Settings)
    onTestFinished(() => this.#codec.close())
  }

  override write(chunk: Parameters<FakeConnection["write"]>[0]): void {
    this.room--
    const before = shippedBefore(chunk, this.encoding)
    const { frames } = parseStream(concat(greeting(), ...before, bytesOfChunk(chunk)))
    for (const wire of messagesOf(frames)) {
      if (this.packing === "frames") this.got.push(textOf(wire))
      else for (const message of this.#codec.decode(wire)) this.got.push(textOf(message))
    }
    chunk.release()
  }
}

const attach = (pipe: Pipe, peer: Peer) => {
  pipe.attach(peer)
  return peer
}
const large = payload("json", 40_000)
const message = (number: number) => [
  Buffer.from(`${number} ${"text ".repeat(number % 30)}`),
  Buffer.alloc(number % 3),
  ...(number % 50 === 7 ? [Buffer.from(large)] : []),
]
const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => textOf(message(from + i)))

const OPTIONS: [string, Lz4Options][] = [
  ["by default", {}],
  ["with a dictionary", { dictionary: payload("json", 900), minCompressSize: 0 }],
  ["with one that is trained", { autoDictionary: { trigger: 20 } }],
  ["with nothing compressed", { level: "none" }],
  ["without arenas", { arenas: false }],
]

describe.each(OPTIONS)("%s", (_, options) => {
  test.each([undefined, 1, 2])(
    "messages queued before there is a peer suit one that announces %s",
    async (announced) => {
      const sender = senderWith(options)
      const pipe = new Pipe(silent, sender, noMarks)
      for (let i = 0; i < 300; i++) pipe.out.write(message(i))
      const peer = attach(pipe, new Peer(sender, announced))
      await burst()
      for (let i = 300; i < 400; i++) pipe.out.write(message(i))
      await burst()
      expect(peer.got).toEqual(texts(400))
    },
  )

  test.each([
    [undefined, 2],
    [2, undefined],
    [1, undefined],
  ])(
    "messages queued for a peer that announced %s suit the next, which announces %s",
    async (first, second) => {
      const sender = senderWith(options)
      const pipe = new Pipe(silent, sender, noMarks)
      const got: string[] = []
      let sent = 0
      const write = (count: number) => {
        for (let i = 0; i < count; i++) pipe.out.write(message(sent++))
      }
      for (const announced of [first, second, first, second]) {
        const peer = attach(pipe, new Peer(sender, announced))
        write(40)
        await burst()
        peer.room = 1
        write(120)
        await burst()
        // In an open batch.
        write(3)
        pipe.detach([])
        got.push(...peer.got)
        write(50)
      }
      const last = attach(pipe, new Peer(sender, second))
      await burst()
      expect([...got, ...last.got]).toEqual(texts(sent))
    },
  )

  test("a distribution sends each peer its own form, even if its kind changes meanwhile", async () => {
    const sender = senderWith(options)
    const distribution = new Distribution()
    const pipes = [undefined, 2, undefined, 1].map((announced) => {
      const pipe = new Pipe(silent, sender, noMarks)
      const peer = attach(pipe, new Peer(sender, announced))
      distribution.attach(pipe)
      return { pipe, peer }
    })
    const sendAll = (count: number, from: number) => {
      for (let i = 0; i < count; i++) distribution.sendToAll(message(from + i))
    }
    sendAll(100, 0)
    await burst()
    sendAll(20, 100)
    const changed = pipes[1]?.pipe as Pipe
    changed.detach([])
    const plain = attach(changed, new Peer(sender, undefined))
    sendAll(20, 120)
    await burst()
    for (const { pipe, peer } of pipes)
      expect(pipe === changed ? [...peer.got, ...plain.got] : peer.got).toEqual(texts(140))
  })
})

describe.each([
  [undefined, 1],
  [undefined, 2],
  [2, undefined],
  [2, 1],
] as const)("with messages queued for a peer that announced %s", (first, second) => {
  /** Returns a pipe with chunks for that peer, connected to one that announced `second`, with room for one. */
  function reconnected(options: Lz4Options) {
    const sender = senderWith(options)
    const pipe = new Pipe(silent, sender, noMarks)
    attach(pipe, new Peer(sender, first)).room = 0
    let sent = 0
    const writeUntil = (count: number) => {
      while (sent < count) pipe.out.write(message(sent++))
    }
    writeUntil(60)
    pipe.detach([])
    const peer = new Peer(sender, second)
    peer.room = 1
    attach(pipe, peer)
    return { pipe, peer, writeUntil }
  }

  test.each(OPTIONS)(
    `messages written as the process ends suit one of ${second}, %s`,
    (_, options) => {
      const { pipe, peer, writeUntil } = reconnected(options)
      writeUntil(120)
      writeOut(pipe.out)
      expect(peer.got).toEqual(texts(120))
    },
  )

  test.each([30, 90])(
    `a dictionary after %i messages is shipped once to one of ${second}, although earlier chunks are encoded after it`,
    (trigger) => {
      const { peer, writeUntil } = reconnected({ autoDictionary: { trigger } })
      writeUntil(120)
      peer.drain()
      expect(peer.got).toEqual(texts(120))
    },
  )
})

test("a plain peer of ZMTP 3.0 receives subscriptions as messages", async () => {
  const sender = senderWith()
  const pipe = new Pipe(silent, sender, noMarks)
  const peer = new Peer(sender, undefined)
  peer.peerTakesCommands = false
  pipe.attach(peer)
  pipe.out.writeCommand("SUBSCRIBE", Buffer.from("topic"), true)
  await burst()
  expect(peer.got).toEqual(["\x01topic"])
})

test("written bytes are counted unencoded", () => {
  const sender = senderWith({ minCompressSize: 0 })
  const parts = [Buffer.alloc(1000), Buffer.alloc(0), Buffer.alloc(300)]
  const chunk = sender.encode(new Uint8Array(), parts, { packing: "frames" })
  const { messages, plainBytes, wireBytes, packing } = chunk
  expect({ messages, plainBytes, wireBytes, packing }).toEqual({
    messages: 1,
    plainBytes: 1300,
    wireBytes: 1300,
    packing: "frames",
  })
  expect(chunk.bytes.length).toBe(1300 + 9 + 2 + 9)
  chunk.release()
})
