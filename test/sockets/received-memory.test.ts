/** The memory of received parts, and that of sent ones, when the program transfers it to a thread. */
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

import { payload } from "../../bench/payloads.mjs"
import { type AnySocket, join, subscribed, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

type Message = Uint8Array[]
type Receive = () => Promise<unknown[]>

/** A type that receives, and how it gets `messages` from its peer. */
interface Case {
  name: string
  sender: () => AnySocket
  receiver: () => AnySocket
  singlePart?: true
  /** Sends the messages, and returns a function that receives the next one. */
  exchange: (sender: never, receiver: never, messages: Message[]) => Promise<Receive>
}

interface Plain extends AnySocket {
  send(message: Message | string): Promise<void>
  receive(): Promise<Buffer[]>
}

const COUNT = 60
const EMPTY = new Uint8Array()
const json = payload("json", 2 ** 17)

/** Messages of small parts, most of them alike; the last one has a large part, too. */
const messages = (singlePart = false): Message[] => {
  const small = Array.from({ length: COUNT }, (_, i): Message => {
    const parts = [20, 20 + (i % 9), i % 3 === 0 ? 0 : 200].map((n) => json.subarray(i, i + n))
    return singlePart ? parts.slice(0, 1) : parts
  })
  return [...small, [json]]
}

const sendAll = async (sender: Plain, all: Message[], before: Message = []): Promise<void> => {
  for (const message of all) await sender.send([...before, ...message])
}

const oneWay = async (sender: Plain, receiver: Plain, all: Message[]): Promise<Receive> => {
  await sendAll(sender, all)
  return () => receiver.receive()
}

const cases: readonly Case[] = [
  {
    name: "PULL",
    sender: () => new zmq.Push(),
    receiver: () => new zmq.Pull(),
    exchange: oneWay,
  },
  { name: "PAIR", sender: () => new zmq.Pair(), receiver: () => new zmq.Pair(), exchange: oneWay },
  {
    name: "DEALER",
    sender: () => new zmq.Dealer(),
    receiver: () => new zmq.Dealer(),
    exchange: oneWay,
  },
  {
    name: "ROUTER",
    sender: () => new zmq.Dealer(),
    receiver: () => new zmq.Router(),
    exchange: oneWay,
  },
  {
    name: "SUB",
    sender: () => new zmq.Publisher(),
    receiver: () => new zmq.Subscriber(),
    exchange: async (pub: zmq.Publisher & Plain, sub: zmq.Subscriber & Plain, all) => {
      sub.subscribe()
      await subscribed(pub, sub)
      return oneWay(pub, sub, all)
    },
  },
  {
    name: "XSUB",
    sender: () => new zmq.Publisher(),
    receiver: () => new zmq.XSubscriber(),
    exchange: async (pub: Plain, xsub: Plain, all) => {
      await xsub.send([Uint8Array.of(1)])
      await subscribed(pub, xsub)
      return oneWay(pub, xsub, all)
    },
  },
  {
    name: "XPUB",
    sender: () => new zmq.XSubscriber(),
    receiver: () => new zmq.XPublisher(),
    exchange: async (xsub: Plain, xpub: Plain, all) => {
      for (let i = 0; i < COUNT; i++) await xsub.send([Buffer.from(`\x01topic ${i}`)])
      await sendAll(xsub, all, [Uint8Array.of(2)])
      return () => xpub.receive()
    },
  },
  {
    name: "REP",
    sender: () => new zmq.Dealer(),
    receiver: () => new zmq.Reply(),
    exchange: async (dealer: Plain, reply: Plain, all) => {
      await sendAll(dealer, all, [EMPTY])
      return async () => {
        const request = await reply.receive()
        await reply.send("done")
        return request
      }
    },
  },
  {
    name: "REQ",
    sender: () => new zmq.Reply(),
    receiver: () => new zmq.Request(),
    exchange: async (reply: Plain, request: Plain, all) => {
      const left = [...all]
      return async () => {
        await request.send("next")
        await reply.receive()
        await reply.send(left.shift() as Message)
        return request.receive()
      }
    },
  },
  {
    name: "SERVER",
    sender: () => new draft.Client(),
    receiver: () => new draft.Server(),
    singlePart: true,
    exchange: async (client: draft.Client, server: Plain, all) => {
      for (const [part] of all) await client.send(part as Uint8Array)
      return () => server.receive()
    },
  },
  {
    name: "CLIENT",
    sender: () => new draft.Server(),
    receiver: () => new draft.Client(),
    singlePart: true,
    exchange: async (server: draft.Server, client: draft.Client, all) => {
      await client.send("hello")
      const [, { routingId }] = await server.receive()
      for (const [part] of all) await server.send(part as Uint8Array, { routingId })
      return () => client.receive()
    },
  },
  {
    name: "DISH",
    sender: () => new draft.Radio(),
    receiver: () => new draft.Dish(),
    singlePart: true,
    exchange: async (radio: draft.Radio, dish: draft.Dish, all) => {
      dish.join("news")
      await subscribed({ send: (text) => radio.send(text, { group: "news" }) }, dish)
      for (const [part] of all) await radio.send(part as Uint8Array, { group: "news" })
      return () => dish.receive()
    },
  },
  {
    name: "GATHER",
    sender: () => new draft.Scatter(),
    receiver: () => new draft.Gather(),
    singlePart: true,
    exchange: async (scatter: draft.Scatter, gather: draft.Gather, all) => {
      for (const [part] of all) await scatter.send(part as Uint8Array)
      return () => gather.receive()
    },
  },
]

const text = (part: Uint8Array): string => Buffer.from(part).toString("latin1")

/** Transfers the memory of a part, if the runtime lets it. Returns whether the part is empty now. */
function transfer(part: Buffer): boolean {
  try {
    structuredClone(part, { transfer: [part.buffer as ArrayBuffer] })
  } catch (error) {
    expect(error).toHaveProperty("name", "DataCloneError")
  }
  return part.length === 0
}

describe.each(transports)("over $name", (transport) => {
  test.each(cases)("$name: transferring a part's memory empties no other part", async (one) => {
    const [sender, receiver] = [use(one.sender()), use(one.receiver())]
    await join(receiver, sender, transport)
    const sent = messages(one.singlePart)
    const receive = await one.exchange(sender as never, receiver as never, sent)
    const kept: [part: Buffer, content: string][] = []
    const last = text(json)
    let received: Message = []
    while (text(received.at(-1) ?? EMPTY) !== last) {
      const message = await receive()
      received = message.filter((part) => Buffer.isBuffer(part)).map((part) => Buffer.from(part))
      for (const part of message) {
        if (!Buffer.isBuffer(part)) continue
        if (transport === lz4) expect(part.byteOffset % 8).toBe(0)
        const content = text(part)
        const isMoved = transfer(part)
        // zeromq.js does not let its own large parts be transferred.
        if (transport === lz4 && content === last) expect(isMoved).toBe(true)
        if (!isMoved) kept.push([part, content])
      }
      const expected = one.name === "XPUB" && received.length === 1 ? undefined : sent.shift()
      if (expected) expect(received.slice(-expected.length).map(text)).toEqual(expected.map(text))
    }
    expect(sent).toEqual([])
    for (const [part, content] of kept) expect(text(part)).toBe(content)
  })
})

describe("over lz4+tcp://", () => {
  test("a kept part of 100 bytes keeps at most 32 times as much", async () => {
    const [push, pull] = [use(new zmq.Push()), use(new zmq.Pull())]
    await join(pull, push, lz4)
    const kept: Buffer[] = []
    const sending = (async () => {
      for (let i = 0; i < 20_000; i++) await push.send(Buffer.alloc(100, String(i)))
    })()
    for (let i = 0; i < 20_000; i++) {
      const [part] = await pull.receive()
      if (i % 100 === 0) kept.push(part)
    }
    await sending
    let bytes = 0
    for (const { byteLength } of new Set(kept.map(({ buffer }) => buffer))) bytes += byteLength
    // Each has a head of 2 bytes on its way.
    expect(bytes).toBeLessThanOrEqual(kept.length * 32 * 102)
  })

  test.each([20, 1000, 30_000])(
    "memory of %i bytes may be transferred once send() has returned",
    async (length) => {
      const [push, pull] = [use(new zmq.Push({ sendHighWaterMark: 1 })), use(new zmq.Pull())]
      await join(pull, push, lz4)
      for (let i = 0; i < 4; i++) {
        const memory = new Uint8Array(length).fill(i + 1)
        const sent = push.send(memory)
        structuredClone(memory.buffer, { transfer: [memory.buffer] })
        const [part] = await pull.receive()
        await sent
        expect(part).toHaveLength(length)
        expect(part.every((byte) => byte === i + 1)).toBe(true)
      }
    },
  )
})
