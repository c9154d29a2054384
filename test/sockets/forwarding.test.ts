/** What a Proxy sends: parts in the form in which they came, where the other side takes that. */
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"
import { keptProxy } from "../support/kept-proxy.js"
import { dial, rawZmtpPeer } from "../support/raw-peer.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { type AnySocket, use } from "../support/sockets.js"
import { concat } from "../support/wire.js"
import { frame, handshake, MORE, message, parseStream } from "../support/zmtp.js"

interface Format {
  scheme: "lz4+tcp" | "zstd+tcp"
  format: "lz4" | "zstd"
  /** A level that makes other bytes than the broker's. */
  thorough: 9 | 12
  usual: 0 | 1
}
const FORMATS: readonly Format[] = [
  { scheme: "lz4+tcp", format: "lz4", thorough: 12, usual: 0 },
  { scheme: "zstd+tcp", format: "zstd", thorough: 9, usual: 1 },
]
const KIB = 1024
const MIB = KIB * KIB
/** Around every size at which something changes: forms, batches, references, large parts. */
const SIZES = [
  ...[511, 512, 700, 8 * KIB, 16 * KIB, 40 * KIB, 64 * KIB, 96 * KIB + 1],
  ...[MIB - 1, MIB, MIB + 1, 5 * MIB],
]

type Ends = Pick<AnySocket, "lastEndpoint">

/** Runs a proxy between two bound sockets during `work`. */
async function through<F extends AnySocket, B extends AnySocket>(
  sockets: { front: F; back: B },
  endpoints: { front: string; back: string },
  options: { front?: zmq.EndpointOptions; back?: zmq.EndpointOptions },
  work: (front: string, back: string) => Promise<void>,
) {
  const { front, back } = sockets
  await front.bind(`${endpoints.front}://127.0.0.1:0`, options.front)
  await back.bind(`${endpoints.back}://127.0.0.1:0`, ...(options.back ? [options.back] : []))
  const at = ({ lastEndpoint }: Ends) => lastEndpoint as string
  const addresses = [at(front), at(back)] as const
  const proxy = keptProxy(new zmq.Proxy(front, back))
  const running = proxy.run()
  try {
    await work(...addresses)
  } finally {
    proxy.terminate()
    await running
  }
}

/** Made once: making megabytes takes longer than sending them. */
const made = new Map<number, Buffer>()

function json(size: number): Buffer {
  let bytes = made.get(size)
  if (!bytes) {
    bytes = Buffer.from(payload("json", size))
    made.set(size, bytes)
  }
  return bytes
}

/** Sends messages of all sizes, and checks that they arrive. */
async function exchange(
  send: (parts: Buffer[]) => Promise<void>,
  receive: () => Promise<Buffer[]>,
): Promise<void> {
  for (const [i, size] of SIZES.entries()) {
    const parts = [Buffer.from(`news ${i}`), json(size), Buffer.alloc(0), json(600)]
    const sent = send(parts)
    const received = await receive()
    await sent
    expect(received.length).toBe(parts.length)
    for (const [at, part] of parts.entries()) expectSameBytes(received[at] as Buffer, part)
  }
}

describe.each(FORMATS)(
  "over $scheme a part is sent as it came",
  ({ scheme, format, thorough, usual }) => {
    const both = { front: scheme, back: scheme }
    const options = { front: { level: usual }, back: { level: usual } }

    test("byte for byte, alone and in a message of several parts", async () => {
      const codec = await Codec.create({ format, level: thorough })
      const wire = SIZES.filter((size) => size >= 512).map((size) => codec.encodePart(json(size)))
      const plain = codec.encodePart(Buffer.from("plain"))
      const sockets = { front: use(new zmq.Pull()), back: use(new zmq.Push()) }
      await through(sockets, both, options, async (front, back) => {
        const receiver = dial(back)
        receiver.write(handshake("PULL"))
        const chunks: Buffer[] = []
        receiver.on("data", (chunk) => chunks.push(chunk))
        const messages = wire.flatMap((part) => [message(part), message(plain, part, plain, part)])
        const sender = await rawZmtpPeer(front, "PUSH", ...messages)
        const wanted = concat(...messages)
        const bodies = () =>
          parseStream(concat(...chunks)).frames.filter(({ flags }) => (flags & 4) === 0)
        const count = parseStream(concat(handshake("PUSH"), wanted)).frames.filter(
          ({ flags }) => (flags & 4) === 0,
        )
        while (bodies().length < count.length) await once(receiver, "data")
        for (const [i, { flags, body }] of count.entries()) {
          expect(bodies()[i]?.flags).toBe(flags)
          expectSameBytes(bodies()[i]?.body as Uint8Array, body)
        }
        sender.close()
        receiver.destroy()
      })
      codec.close()
    })

    test("by PULL and PUSH", async () => {
      const sockets = { front: use(new zmq.Pull()), back: use(new zmq.Push()) }
      await through(sockets, both, options, async (front, back) => {
        const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
        push.connect(front, { level: thorough, arenas: false })
        pull.connect(back)
        await exchange(
          (parts) => push.send(parts),
          () => pull.receive(),
        )
        const { sent } = push.lz4.stats
        expect(sent.wireBytes).toBeLessThan(sent.plainBytes / 2)
        expect(sockets.back.lz4.stats.sent).toEqual(sent)
        expect(pull.lz4.stats.received).toEqual(sent)
      })
    })

    test("by ROUTER and DEALER, in both directions", async () => {
      const sockets = { front: use(new zmq.Router()), back: use(new zmq.Dealer()) }
      await through(sockets, both, options, async (front, back) => {
        const dealer = use(new zmq.Dealer())
        const router = use(new zmq.Router())
        dealer.connect(front, { level: thorough, arenas: false })
        router.connect(back, { level: thorough, arenas: false })
        const ids: Buffer[] = []
        await exchange(
          (parts) => dealer.send(parts),
          async () => {
            const [id, client, ...parts] = (await router.receive()) as Buffer[]
            ids.push(id as Buffer, client as Buffer)
            return parts
          },
        )
        await exchange(
          (parts) => router.send([...ids.slice(0, 2), ...parts]),
          () => dealer.receive() as Promise<Buffer[]>,
        )
        expect(sockets.back.lz4.stats.sent.wireBytes).toBeLessThan(
          dealer.lz4.stats.sent.wireBytes + 1000,
        )
        expect(sockets.front.lz4.stats.sent.wireBytes).toBeLessThan(
          router.lz4.stats.sent.wireBytes + 1000,
        )
      })
    })

    test("by XSUB and XPUB, to subscribers of what is compressed", async () => {
      const sockets = { front: use(new zmq.XSubscriber()), back: use(new zmq.XPublisher()) }
      await through(sockets, both, options, async (front, back) => {
        const publisher = use(new zmq.XPublisher())
        publisher.connect(front, { level: thorough, arenas: false })
        const subscribers = [use(new zmq.Subscriber()), use(new zmq.Subscriber())]
        const topic = json(20).toString()
        for (const subscriber of subscribers) {
          subscriber.connect(back)
          subscriber.subscribe(topic)
        }
        await publisher.receive()
        // Subscriptions of the second one are known to the broker only.
        const [first, second] = subscribers as [zmq.Subscriber, zmq.Subscriber]
        for (const size of SIZES) {
          const part = json(size)
          await publisher.send(Buffer.alloc(size, "x"))
          await publisher.send(part)
          expectSameBytes((await first.receive())[0] as Buffer, part)
          expectSameBytes((await second.receive())[0] as Buffer, part)
        }
        expect(first.lz4.stats.received.wireBytes).toBe(second.lz4.stats.received.wireBytes)
        expect(sockets.back.lz4.stats.sent.wireBytes).toBe(2 * first.lz4.stats.received.wireBytes)
      })
    })

    test("but not by an endpoint that compresses nothing", async () => {
      const sockets = { front: use(new zmq.Pull()), back: use(new zmq.Push()) }
      await through(sockets, both, { ...options, back: { level: "none" } }, async (front, back) => {
        const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
        push.connect(front, { level: thorough })
        pull.connect(back)
        await exchange(
          (parts) => push.send(parts),
          () => pull.receive(),
        )
        const { plainBytes, wireBytes } = pull.lz4.stats.received
        expect(wireBytes).toBeGreaterThan(plainBytes)
      })
    })

    test("and one that is corrupt ends the connection of its sender, and no other", async () => {
      const codec = await Codec.create({ format, level: usual })
      const good = codec.encodePart(json(3 * MIB))
      const corrupt = Uint8Array.from(good)
      corrupt.fill(0xff, good.length / 2, good.length / 2 + 100)
      const sockets = { front: use(new zmq.Pull()), back: use(new zmq.Push()) }
      await through(sockets, both, options, async (front, back) => {
        const pull = use(new zmq.Pull())
        pull.connect(back)
        const errors: string[] = []
        sockets.front.lz4.on("protocolError", ({ error }) => errors.push((error as Error).message))
        const hostile = await rawZmtpPeer(front, "PUSH", message(good), frame(corrupt, MORE))
        expectSameBytes((await pull.receive())[0] as Buffer, json(3 * MIB))
        await hostile.closed
        expect(errors).toHaveLength(1)
        const honest = await rawZmtpPeer(front, "PUSH", message(good))
        expectSameBytes((await pull.receive())[0] as Buffer, json(3 * MIB))
        honest.close()
        expect(pull.lz4.stats.reconnects).toBe(0)
        expect(sockets.back.lz4.stats.protocolErrors).toBe(0)
      })
      codec.close()
    })
  },
)

const dictionaryOf = { lz4: json(2000) }
const MIXED: readonly [name: string, back: string, peer: string, options: object][] = [
  ["the other format", "zstd+tcp", "zstd+tcp", { back: { level: 1 } }],
  ["plain tcp://", "lz4+tcp", "tcp", { back: { level: 0, acceptPlain: true } }],
  ["libzmq's own endpoint", "tcp", "tcp", {}],
  ["a dictionary", "lz4+tcp", "lz4+tcp", { back: { dictionary: dictionaryOf.lz4 } }],
  ["a trained dictionary", "lz4+tcp", "lz4+tcp", { back: { autoDictionary: true, level: 0 } }],
  ["arenas", "lz4+tcp", "lz4+tcp", { back: { arenas: true, level: 0 } }],
  ["a dictionary before it", "lz4+tcp", "lz4+tcp", { sender: { dictionary: dictionaryOf.lz4 } }],
  ["a thread behind it", "lz4+tcp", "lz4+tcp", { back: { thread: true, level: 0 } }],
  ["a thread before it", "lz4+tcp", "lz4+tcp", { front: { thread: true, level: 0 } }],
]

test.each(MIXED)("what came compressed is read behind %s", async (_, back, peer, all) => {
  const given = all as Record<string, zmq.EndpointOptions | undefined>
  const { front: atFront, back: atBack, sender = { level: 0 as const } } = given
  const options = { ...(atFront && { front: atFront }), ...(atBack && { back: atBack }) }
  const sockets = { front: use(new zmq.Pull()), back: use(new zmq.Push()) }
  await through(sockets, { front: "lz4+tcp", back }, options, async (front, address) => {
    const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
    push.connect(front, sender)
    pull.connect(address.replace(/^.*:\/\//, `${peer}://`))
    for (let times = 0; times < 3; times++)
      await exchange(
        (parts) => push.send(parts),
        () => pull.receive(),
      )
  })
})
