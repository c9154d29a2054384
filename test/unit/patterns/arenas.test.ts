/** Arenas are only sent to peers that announced revision 2 (RFC.md sections 3.9 and A.2). */
import { describe, expect, onTestFinished, test, vi } from "vitest"

import { payload } from "../../../bench/payloads.mjs"
import { Codec } from "../../../src/codec/codec.js"
import { checkLz4Options, type Lz4Options, type Settings } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import { Distribution } from "../../../src/patterns/distribution.js"
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
  uncaught,
} from "../../support/pipes.js"
import { concat, formOf } from "../../support/wire.js"
import { greeting, messagesOf, parseStream } from "../../support/zmtp.js"

const settingsOf = new WeakMap<Sender, Settings>()

function senderWith(options: Lz4Options): Sender {
  const settings = checkLz4Options(options, -1)
  const sender = new Sender(settings)
  settingsOf.set(sender, settings)
  onTestFinished(() => sender.close())
  return sender
}

/** A connection whose peer decodes written data, according to its revision. */
class Peer extends FakeConnection {
  readonly #codec: Codec
  override readonly encoding: ConnectionEncoding
  readonly forms: string[] = []
  readonly got: string[] = []

  constructor(sender: Sender, announced: number | undefined, reads: 1 | 2 = announced ? 2 : 1) {
    super()
    this.packing = sender.packingFor(announced)
    this.encoding = encodingOf(sender, settingsOf.get(sender) as Settings)
    this.#codec = Codec.createSync({ revision: reads })
    onTestFinished(() => this.#codec.close())
  }

  override write(chunk: Parameters<FakeConnection["write"]>[0]): void {
    this.room--
    const before = shippedBefore(chunk, this.encoding)
    const { frames } = parseStream(concat(greeting(), ...before, bytesOfChunk(chunk)))
    for (const wire of messagesOf(frames)) {
      this.forms.push(...wire.map((part) => String(formOf(part))))
      for (const message of this.#codec.decode(wire))
        this.got.push(message.map((part) => Buffer.from(part).toString("latin1")).join("|"))
    }
    chunk.release()
  }
}

const attach = (pipe: Pipe, peer: Peer) => {
  pipe.attach(peer)
  return peer
}

/** Returns small messages, several of which are shorter in an arena, by number. */
const message = (number: number): Buffer[] => [
  Buffer.from(`${number} `),
  Buffer.from(payload("json", 400, 1)),
]
const numbers = (received: readonly string[]) => received.map((text) => Number.parseInt(text, 10))
const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)

describe('with arenas: "auto"', () => {
  test.each([
    [undefined, 1, false],
    [1, 1, false],
    [2, 2, true],
    [3, 2, true],
    [999_999_999, 2, true],
  ] as const)(
    "a peer that announced %s can read all messages",
    async (announced, reads, arenas) => {
      const sender = senderWith({ arenas: "auto" })
      const pipe = new Pipe(silent, sender, noMarks)
      const peer = attach(pipe, new Peer(sender, announced, reads))
      for (const number of upTo(20)) pipe.out.write(message(number))
      await burst()
      expect(peer.forms.includes("LZ4A")).toBe(arenas)
      expect(numbers(peer.got)).toEqual(upTo(20))
    },
  )

  test("a single message is sent as parts", async () => {
    const sender = senderWith({ arenas: "auto" })
    const pipe = new Pipe(silent, sender, noMarks)
    const peer = attach(pipe, new Peer(sender, 2))
    pipe.out.write(message(1))
    await burst()
    expect(peer.forms).toEqual(["plain", "plain"])
  })

  test("messages encoded before there is a peer suit any peer", async () => {
    const sender = senderWith({ arenas: "auto" })
    const pipe = new Pipe(silent, sender, noMarks)
    for (const number of upTo(400)) pipe.out.write(message(number))
    const peer = attach(pipe, new Peer(sender, undefined))
    await burst()
    expect(numbers(peer.got)).toEqual(upTo(400))
  })
})

test.each([
  [true, "LZ4A"],
  [false, "plain"],
] as const)("with arenas: %s, a peer's announcement does not matter", async (arenas, form) => {
  const sender = senderWith({ arenas })
  for (const announced of [undefined, 2]) {
    const pipe = new Pipe(silent, sender, noMarks)
    const peer = attach(pipe, new Peer(sender, announced, 2))
    for (const number of upTo(20)) pipe.out.write(message(number))
    await burst()
    expect(new Set(peer.forms)).toEqual(new Set([form]))
  }
})

describe("a pipe that is connected to another peer", () => {
  const dictionary = payload("json", 1000, 5)
  const large = [Buffer.from("1000000 "), Buffer.from(payload("json", 30_000, 3))]

  /** Queues messages of all kinds, encoded for a peer that reads arenas. */
  async function waiting(options: Lz4Options) {
    const sender = senderWith({ arenas: "auto", ...options })
    const pipe = new Pipe(silent, sender, noMarks)
    const first = attach(pipe, new Peer(sender, 2))
    pipe.out.write(message(0))
    await burst()
    first.room = 0
    const sent = [0]
    const write = (number: number, parts = message(number)) => {
      pipe.out.write(parts)
      sent.push(number)
    }
    for (const number of upTo(300, 1)) write(number)
    write(1_000_000, large)
    for (const number of upTo(300, 400)) write(number)
    pipe.out.writeCommand("SUBSCRIBE", Buffer.from("topic"), true)
    for (const number of upTo(10, 800)) write(number)
    await burst()
    return { sender, pipe, first, sent }
  }

  test.each<[string, Lz4Options]>([
    ["without a dictionary", {}],
    ["with a dictionary", { dictionary }],
    ["with one that is trained", { autoDictionary: { trigger: 20 } }],
    ["at level 9", { level: 9 }],
    ["where all parts are tried", { minCompressSize: 0 }],
  ])("loses no messages queued in arenas: %s", async (_, options) => {
    const { sender, pipe, first, sent } = await waiting(options)
    pipe.detach([])
    const second = attach(pipe, new Peer(sender, undefined))
    expect(second.forms).not.toContain("LZ4A")
    expect(numbers([...first.got, ...second.got])).toEqual(sent)
    expect(second.written).toEqual(["SUBSCRIBE topic"])
  })

  test("does not send it messages encoded with the dictionary of the peer before it", async () => {
    const sender = senderWith({ autoDictionary: { trigger: 3 } })
    const pipe = new Pipe(silent, sender, noMarks)
    const first = attach(pipe, new Peer(sender, 1))
    let sent = 0
    while (!first.encoding.shipped) {
      pipe.out.write(message(sent++))
      await burst()
      await new Promise(setImmediate) // the training takes some turns
    }
    first.room = 0
    const waiting = sent
    for (; sent < waiting + 300; sent++) pipe.out.write(message(sent))
    pipe.detach([])
    const second = attach(pipe, new Peer(sender, 1))
    await burst()
    expect(second.encoding.shipped).toBeUndefined()
    expect(numbers([...first.got, ...second.got])).toEqual(upTo(sent))
  })

  test("sends arenas again after it is connected to a peer that reads them", async () => {
    const { sender, pipe, first, sent } = await waiting({})
    pipe.detach([])
    const second = attach(pipe, new Peer(sender, undefined))
    pipe.detach([])
    const third = attach(pipe, new Peer(sender, 2))
    for (const number of upTo(20, 900)) pipe.out.write(message(number))
    await burst()
    expect(third.forms).toContain("LZ4A")
    expect(numbers([...first.got, ...second.got, ...third.got])).toEqual([
      ...sent,
      ...upTo(20, 900),
    ])
  })

  test("does not re-encode messages that the next peer can read", async () => {
    const { sender, pipe } = await waiting({})
    pipe.detach([])
    const encode = vi.spyOn(sender, "encode")
    const second = attach(pipe, new Peer(sender, 3))
    expect(second.forms).toContain("LZ4A")
    expect(encode).toHaveBeenCalledTimes(1) // messages that had not been encoded before
  })

  test("sends no arena behind a part that it sends as it is", async () => {
    const sender = senderWith({ arenas: "auto" })
    const pipe = new Pipe(silent, sender, noMarks)
    const first = attach(pipe, new Peer(sender, 2))
    first.room = 0
    // Queued chunks of 32 KiB and more are kept separately.
    pipe.out.write([Buffer.from("0 "), Buffer.from(payload("random", 40_000))])
    for (const number of upTo(300, 1))
      pipe.out.write([
        Buffer.from(`${number} ${"again ".repeat(9)}`),
        Buffer.from(payload("random", 150, number)),
      ])
    pipe.out.writeCommand("SUBSCRIBE", Buffer.from("topic"), true)
    pipe.detach([])
    const second = attach(pipe, new Peer(sender, 1))
    expect(second.forms).not.toContain("LZ4A")
    expect(numbers(second.got)).toEqual(upTo(301))
  })

  test("keeps all messages while it is out of memory, and sends them later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => void vi.useRealTimers())
    const { sender, pipe, first, sent } = await waiting({})
    pipe.detach([])
    vi.spyOn(sender, "encode").mockImplementationOnce(() => {
      throw new RangeError("no memory")
    })
    const second = new Peer(sender, undefined)
    const errors = await uncaught(() => pipe.attach(second))
    expect(errors).toEqual(["no memory"])
    expect(second.got).toEqual([])
    vi.advanceTimersByTime(100)
    expect(second.forms).not.toContain("LZ4A")
    expect(numbers([...first.got, ...second.got])).toEqual(sent)
  })
})

describe("a distribution to peers of both kinds", () => {
  test("encodes once for each kind of peer, and all of a kind get the same bytes", async () => {
    const sender = senderWith({ arenas: "auto" })
    const encode = vi.spyOn(sender, "encode")
    const distribution = new Distribution()
    const peers = [2, undefined, 2, 1, undefined, 3].map((announced) => {
      const peer = new Peer(sender, announced, announced && announced > 1 ? 2 : 1)
      const pipe = new Pipe(silent, sender, noMarks)
      attach(pipe, peer)
      distribution.attach(pipe)
      return peer
    })
    for (const number of upTo(20)) distribution.sendToAll(message(number))
    await burst()
    expect(encode).toHaveBeenCalledTimes(2)
    for (const peer of peers) {
      expect(numbers(peer.got)).toEqual(upTo(20))
      expect(peer.forms.includes("LZ4A")).toBe(peer.packing === "arenas")
    }
  })

  test("measures the networks of both kinds for their common effort", async () => {
    const senders = [
      senderWith({ minCompressSize: 0 }),
      senderWith({ minCompressSize: 0 }),
    ] as const
    const groups: number[] = []
    const encoded = vi.fn()
    const distribution = new Distribution()
    for (const [announced, sender] of [
      [undefined, senders[0]],
      [2, senders[0]],
      [2, senders[0]],
      [2, senders[1]],
    ] as const) {
      const pipe = new Pipe(silent, sender, noMarks)
      const peer = attach(pipe, new Peer(sender, announced))
      peer.encoding.nextEffort = (group) => {
        groups.push(group?.length ?? 1)
        return 1
      }
      peer.encoding.encoded = encoded
      distribution.attach(pipe)
    }
    for (const number of upTo(20)) distribution.sendToAll(message(number))
    groups.length = 0 // of the pipes that opened the batch
    await burst()
    expect(groups).toEqual([3, 1])
    expect(encoded).toHaveBeenCalledTimes(2)
  })

  test("encodes once for all if it sends arenas to none, or to all", async () => {
    for (const arenas of [false, true]) {
      const sender = senderWith({ arenas, minCompressSize: 0 })
      const encode = vi.spyOn(sender, "encode")
      const distribution = new Distribution()
      for (const announced of [2, undefined, 1]) {
        const pipe = new Pipe(silent, sender, noMarks)
        attach(pipe, new Peer(sender, announced, 2))
        distribution.attach(pipe)
      }
      for (const number of upTo(20)) distribution.sendToAll(message(number))
      await burst()
      expect(encode).toHaveBeenCalledTimes(1)
    }
  })
})
