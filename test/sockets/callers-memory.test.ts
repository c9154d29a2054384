/** Large parts are sent from the caller's memory, as over tcp://, whatever the program does to it meanwhile. */
import { once } from "node:events"
import { expect, test } from "vitest"
import {
  Dealer,
  type EndpointOptions,
  Pull,
  Push,
  Router,
  Subscriber,
  XPublisher,
} from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { type Child, inChild } from "../support/child.js"
import { anyPort, join, use } from "../support/sockets.js"
import { stalledPeer } from "../support/stalled-peer.js"
import { lz4, transports } from "../support/transports.js"
import { handshake } from "../support/zmtp.js"

const MIB = 2 ** 20
/** With a thread, parts are copied when the network has room. */
const options = { ...lz4.options, level: "none", thread: false } as const
/** More than the system takes from a peer that does not read. */
const large = payload("random", 16 * MIB)

const detach = (part: Uint8Array) => structuredClone(part.buffer, { transfer: [part.buffer] })
const ownMemory = (part: Uint8Array) => new Uint8Array(part)

/** Ways in which memory goes away. */
const gone = [
  { what: "detached", make: ownMemory, lose: detach },
  {
    what: "shrunk",
    make(part: Uint8Array) {
      // TypeScript's library does not have it yet.
      const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer
      const memory = new Uint8Array(new Resizable(part.length, { maxByteLength: part.length }))
      memory.set(part)
      return memory
    },
    lose: ({ buffer }: Uint8Array) =>
      (buffer as ArrayBuffer & { resize(n: number): void }).resize(10),
  },
]

test.each(gone)(
  "a part whose memory is $what while it is written ends its connection only, and never arrives",
  async ({ make, lose }) => {
    const { endpoint, read } = await stalledPeer()
    const push = use(new Push())
    const part = make(large)
    push.connect(endpoint, options)
    await once(push.lz4, "connect")
    await push.send(part)
    // The system has taken some of it when the next message has to wait.
    await new Promise(setImmediate)
    const other = use(new Push())
    const pull = use(new Pull())
    await join(pull, other, { ...lz4, options })
    await other.send(part)
    await other.lz4.flush()
    const kept = lose(part)

    const disconnected = once(push.lz4, "disconnect")
    read()
    const [{ error }] = await disconnected
    expect(error.code).toBe("ERR_LZ4_PART_DETACHED")
    expect(error.message).toContain(`${large.length} bytes`)
    expect((await pull.receive())[0]?.equals(large)).toBe(true)
    await other.send("afterwards")
    expect(String((await pull.receive())[0])).toBe("afterwards")
    void kept
  },
)

/** Ways in which a buffer gets another owner, who is collected. */
const transfers = ["structuredClone", "transfer"] as const

test.each(transfers.filter((way) => way !== "transfer" || way in ArrayBuffer.prototype))(
  "a slow peer never gets the memory that takes the place of a part after %s()",
  async (way) => {
    const result = await inChild(theirs, { way, options, greeting: handshake("PULL") })
    expect(result.code).toBe("ERR_LZ4_PART_DETACHED")
    expect(result.ofPart).toBeGreaterThan(0)
    // The handshake has some zeros.
    expect(result.zeros).toBeLessThan(200)
  },
)

/** Returns how many bytes of a part a slow peer gets, and how many zeros: others' memory has nothing else. */
async function theirs(
  child: Child,
  given: { way: string; options: EndpointOptions; greeting: Uint8Array },
): Promise<{ code: string; ofPart: number; zeros: number }> {
  const { createServer } = process.getBuiltinModule("node:net")
  const { once } = process.getBuiltinModule("node:events")
  const { Push } = await child.sockets()
  const bytes = 40 << 20
  const fill = 0xaa
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const push = new Push()
  const { port } = server.address() as { port: number }
  push.connect(`lz4+tcp://127.0.0.1:${port}`, given.options)
  const [peer] = await once(server, "connection")
  peer.pause().write(given.greeting)
  await once(push.lz4, "connect")

  const sendAndTransfer = async () => {
    const { buffer } = new Uint8Array(bytes).fill(fill)
    await push.send(Buffer.from(buffer))
    await child.until(() => push.lz4.stats.sent.messages === 1)
    if (given.way === "structuredClone") structuredClone(buffer, { transfer: [buffer] })
    else (buffer as unknown as { transfer(): object }).transfer()
  }
  await sendAndTransfer()
  await child.memory()
  // Nobody writes to them, so that they take addresses only.
  const inItsPlace = Array.from({ length: 16 }, () => new Uint8Array(bytes))

  const counts: number[] = new Array(256).fill(0)
  peer.on("data", (arrived: Buffer) => {
    for (const byte of arrived) (counts[byte] as number)++
  })
  peer.resume()
  const [{ error }] = await once(push.lz4, "disconnect")
  peer.destroy()
  server.close()
  push.close()
  return (
    inItsPlace && { code: error.code, ofPart: counts[fill] as number, zeros: counts[0] as number }
  )
}

const waiting = gone.flatMap((one) => [false, true].map((thread) => ({ ...one, thread })))
test.each(waiting)(
  "a part whose memory is $what while it waits in the queue ends the connection that it would go to (thread: $thread)",
  async ({ make, lose, thread }) => {
    const push = use(new Push({ reconnectInterval: 1 }))
    const pull = use(new Pull())
    const endpoint = await join(pull, use(new Push()), { ...lz4, options })
    const part = make(large)
    push.connect(endpoint, { ...options, thread }) // not connected before the next turn of the event loop
    await push.send(part)
    await push.send("afterwards")
    lose(part)

    const [{ error }] = await once(push.lz4, "disconnect")
    expect(error.code).toBe("ERR_LZ4_PART_DETACHED")
    expect(String((await pull.receive())[0])).toBe("afterwards")
  },
)

test("of subscribers that get the same part, those that have it keep their connections", async () => {
  const publisher = use(new XPublisher({ verbosity: "allSubs" }))
  const [fast, slow] = [use(new Subscriber()), use(new Subscriber({ receiveHighWaterMark: 1 }))]
  await publisher.bind(anyPort(lz4), options)
  for (const subscriber of [fast, slow]) {
    subscriber.subscribe()
    subscriber.connect(publisher.lastEndpoint as string)
    await publisher.receive() // the subscription
  }
  const parts = Array.from({ length: 5 }, () => ownMemory(large))
  const disconnected = once(publisher.lz4, "disconnect")
  for (const part of parts) {
    await publisher.send(part)
    expect((await fast.receive())[0]?.equals(large)).toBe(true)
  }
  for (const part of parts) detach(part)
  while (await Promise.race([slow.receive().then(() => true), disconnected.then(() => false)]));
  const [{ error }] = await disconnected
  expect(error.code).toBe("ERR_LZ4_PART_DETACHED")
  await publisher.send(large)
  expect((await fast.receive())[0]?.equals(large)).toBe(true)
})

test.each(transports)(
  "over $name, memory that is overwritten never changes where parts end",
  async (transport) => {
    const push = use(new Push())
    const pull = use(new Pull())
    await join(pull, push, transport)
    const sizes = [65_535, 65_536, 200_000, 3 * MIB]
    for (let round = 0; round < 3; round++)
      for (const size of sizes) {
        const parts = [
          Buffer.from("id"),
          Buffer.alloc(size, 1),
          Buffer.from("between"),
          Buffer.alloc(size, 2),
        ]
        const sending = push.send([...parts])
        for (const part of parts) if (part.length > 100) part.fill(3)
        await sending
      }
    for (let round = 0; round < 3; round++)
      for (const size of sizes) {
        const lengths = (await pull.receive()).map(({ length }) => length)
        expect(lengths).toEqual([2, size, 7, size])
      }
  },
)

test.each(transports)(
  "over $name, small parts may be overwritten once send() has returned",
  async (transport) => {
    const push = use(new Push())
    const pull = use(new Pull())
    await join(pull, push, transport)
    // zeromq.js copies up to 128 bytes.
    const size = transport === lz4 ? 65_535 : 128
    for (let i = 0; i < 20; i++) {
      const part = Buffer.alloc(size, i)
      const sending = push.send(part)
      part.fill(0xee)
      await sending
    }
    for (let i = 0; i < 20; i++)
      expect((await pull.receive())[0]?.equals(Buffer.alloc(size, i))).toBe(true)
  },
)

test("parts in shared memory, and views of a part of some memory, arrive unchanged", async () => {
  const router = use(new Router())
  const dealer = use(new Dealer())
  await join(router, dealer, lz4)
  const shared = Buffer.from(new SharedArrayBuffer(MIB))
  shared.set(large.subarray(0, MIB))
  const words = new Uint16Array(large.buffer, 2 * Math.ceil(large.byteOffset / 2), MIB)
  for (const part of [shared, large.subarray(5, MIB), words]) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    await dealer.send([part, "last"] as never)
    const [, received] = await router.receive()
    expect(received?.equals(bytes)).toBe(true)
  }
})

test("bodies that arrive in turns from many peers are read into the right messages", async () => {
  const pull = use(new Pull({ receiveHighWaterMark: 2 }))
  await pull.bind(anyPort(lz4), lz4.options)
  const senders = 8
  const count = 12
  const contents = (sender: number, i: number) =>
    large.subarray(sender * 100 + i, sender * 100 + i + 20_000 * (1 + ((sender * 5 + i * 3) % 23)))
  for (let sender = 0; sender < senders; sender++) {
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, lz4.options)
    void (async () => {
      for (let i = 0; i < count; i++)
        await push.send([String(sender), "small", contents(sender, i), contents(sender, i + 1)])
    })()
  }
  const next = new Array(senders).fill(0)
  for (let left = senders * count; left > 0; left--) {
    const [id, small, first, second] = await pull.receive()
    const sender = Number(id)
    const i = next[sender]++
    expect(String(small)).toBe("small")
    expect(first?.equals(contents(sender, i))).toBe(true)
    expect(second?.equals(contents(sender, i + 1))).toBe(true)
  }
})
