/** zmq.Proxy with sockets of either transport. */
import { describe, expect, test } from "vitest"
import {
  Dealer,
  Publisher,
  Pull,
  Push,
  Reply,
  Request,
  Router,
  Subscriber,
  XPublisher,
  XSubscriber,
  Proxy as ZmqProxy,
} from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { keptProxy } from "../support/kept-proxy.js"
import { expectSameBytes } from "../support/same-bytes.js"
import { type AnySocket, anyPort, use } from "../support/sockets.js"
import { lz4, tcp, transports } from "../support/transports.js"

const json = payload("json", 10_000)

/** Runs a proxy between two sockets during `work`. */
const through = async <F extends AnySocket, B extends AnySocket>(
  front: F,
  back: B,
  [frontTransport, backTransport]: readonly (typeof tcp)[],
  work: (front: string, back: string) => Promise<void>,
) => {
  await front.bind(anyPort(frontTransport ?? tcp))
  await back.bind(anyPort(backTransport ?? tcp))
  const endpoints = [front.lastEndpoint as string, back.lastEndpoint as string] as const
  const proxy = keptProxy(new ZmqProxy(front, back))
  const running = proxy.run()
  await work(...endpoints)
  proxy.terminate()
  await running
  expect(() => proxy.terminate()).toThrow(expect.objectContaining({ code: "EBADF" }))
}

describe.each([
  ["tcp:// and tcp://", [tcp, tcp]],
  ["lz4+tcp:// and lz4+tcp://", [lz4, lz4]],
  ["tcp:// and lz4+tcp://", [tcp, lz4]],
  ["lz4+tcp:// and tcp://", [lz4, tcp]],
] as const)("between %s a proxy", (_, sides) => {
  test("forwards requests to repliers, and replies back", () =>
    through(use(new Router()), use(new Dealer()), sides, async (front, back) => {
      const replies = [use(new Reply()), use(new Reply())]
      for (const reply of replies) {
        reply.connect(back)
        void (async () => {
          for await (const [name, part] of reply) await reply.send([`re: ${name}`, part as Buffer])
        })()
      }
      const requests = Array.from({ length: 4 }, () => use(new Request()))
      await Promise.all(
        requests.map(async (request, i) => {
          request.connect(front)
          for (let turn = 0; turn < 20; turn++) {
            await request.send([`${i}/${turn}`, json])
            const [name, part] = await request.receive()
            expect(String(name)).toBe(`re: ${i}/${turn}`)
            expectSameBytes(part as Uint8Array, json)
          }
        }),
      )
    }))

  test("forwards pushed messages, in order", () =>
    through(use(new Pull()), use(new Push()), sides, async (front, back) => {
      const [push, pull] = [use(new Push()), use(new Pull())]
      push.connect(front)
      pull.connect(back)
      for (let i = 0; i < 100; i++) await push.send([`${i}`, json])
      for (let i = 0; i < 100; i++) expect(String((await pull.receive())[0])).toBe(`${i}`)
    }))

  test("forwards subscriptions in one direction and messages in the other", () =>
    through(use(new XSubscriber()), use(new XPublisher()), sides, async (front, back) => {
      const [pub, sub] = [use(new Publisher()), use(new Subscriber())]
      pub.connect(front)
      sub.connect(back)
      sub.subscribe("news")
      const received = sub.receive()
      let arrived = false
      void received.finally(() => {
        arrived = true
      })
      while (!arrived) {
        await pub.send("other")
        await pub.send(["news", json])
      }
      const [topic, part] = await received
      expect(String(topic)).toBe("news")
      expectSameBytes(part as Uint8Array, json)
    }))
})

test.each(transports)(
  "a proxy of sockets without endpoints is refused over $name",
  async (transport) => {
    const [front, back] = [use(new Router()), use(new Dealer())]
    const proxy = keptProxy(new ZmqProxy(front, back))
    await expect(async () => proxy.run()).rejects.toMatchObject({ code: "EINVAL" })
    await front.bind(anyPort(transport))
    await expect(async () => proxy.run()).rejects.toMatchObject({
      code: "EINVAL",
      message: "Back-end socket must be bound or connected",
    })
  },
)

// libzmq would use the socket on two threads.
test("over lz4+tcp://, a call that is pending when the proxy starts is rejected", async () => {
  const [front, back] = [use(new Dealer()), use(new Dealer())]
  for (const socket of [front, back]) await socket.bind("lz4+tcp://127.0.0.1:*")
  const pending = [front.receive(), back.send("nobody there")]
  const proxy = keptProxy(new ZmqProxy(front, back))
  const running = proxy.run()
  for (const call of pending) await expect(call).rejects.toMatchObject({ code: "EAGAIN" })
  proxy.terminate()
  await running
})

// libzmq would abort.
test("over lz4+tcp://, a proxy that runs does not run again, and its sockets in no other", async () => {
  const [front, back] = [use(new Router()), use(new Dealer())]
  for (const socket of [front, back]) await socket.bind("lz4+tcp://127.0.0.1:*")
  const proxy = keptProxy(new ZmqProxy(front, back))
  const running = proxy.run()
  const busy = expect.objectContaining({ code: "EBUSY" })
  expect(() => proxy.run()).toThrow(busy)
  expect(() => new ZmqProxy(back, front).run()).toThrow(busy)
  proxy.terminate()
  await running
})

// libzmq would abort.
test("over lz4+tcp://, a proxy may have the same socket at both ends", async () => {
  const both = use(new Dealer())
  await both.bind("lz4+tcp://127.0.0.1:*")
  const dealer = use(new Dealer())
  dealer.connect(both.lastEndpoint as string)
  const proxy = keptProxy(new ZmqProxy(both, both))
  const running = proxy.run()
  await dealer.send(["there", "and back"])
  expect((await dealer.receive()).map(String)).toEqual(["there", "and back"])
  proxy.terminate()
  await running
})
