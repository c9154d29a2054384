/** The maximum number of parts in a message (RFC.md section 7.2). */
import { once } from "node:events"
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
  Proxy as ZmqProxy,
} from "zeromq-lz4"

import { rawZmtpPeer } from "../support/raw-peer.js"
import { subscribed, use } from "../support/sockets.js"
import { ANY, joinWith, plain, text, threaded } from "../support/threads.js"
import { SENTINELS } from "../support/wire.js"
import { frame, MORE } from "../support/zmtp.js"

const MAX = 65_536
const parts = (count: number): Buffer[] => new Array(count).fill(Buffer.alloc(0))
const tooMany = {
  code: "ERR_OUT_OF_RANGE",
  message: `a message of ${MAX + 1} parts, with those that the socket type adds; at most ${MAX} are allowed`,
}

/** Returns the error of a call that throws or rejects. */
async function errorOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}

describe.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("%s", (_, options) => {
  test("a message of the maximum arrives; one part more fails in send(), and the socket stays usable", async () => {
    const [pull, push] = [use(new Pull()), use(new Push())]
    await joinWith(pull, push, options, options)
    await push.send(parts(MAX))
    expect(await pull.receive()).toHaveLength(MAX)
    expect(await errorOf(() => push.send(parts(MAX + 1)))).toMatchObject(tooMany)
    await push.send("next")
    expect(await text(pull)).toBe("next")
  })

  test("the parts that a socket type adds count, and the request and the reply can be sent again", async () => {
    const [reply, request] = [use(new Reply()), use(new Request())]
    await joinWith(reply, request, options, options)
    expect(await errorOf(() => request.send(parts(MAX)))).toMatchObject(tooMany)
    await request.send(parts(MAX - 1))
    expect(await reply.receive()).toHaveLength(MAX - 1)
    expect(await errorOf(() => reply.send(parts(MAX)))).toMatchObject(tooMany)
    await reply.send("short")
    expect(await text(request)).toBe("short")
  })

  test("a routing id is no part, and a PUB fails as well", async () => {
    const [router, dealer] = [use(new Router()), use(new Dealer({ routingId: "d" }))]
    await joinWith(router, dealer, options, options)
    await dealer.send("hello")
    await router.receive()
    expect(await errorOf(() => router.send(["d", ...parts(MAX + 1)]))).toMatchObject(tooMany)
    await router.send(["d", ...parts(MAX)])
    expect(await dealer.receive()).toHaveLength(MAX)

    const [publisher, subscriber] = [use(new Publisher()), use(new Subscriber())]
    subscriber.subscribe("")
    await joinWith(publisher, subscriber, options, options)
    await subscribed(publisher, subscriber)
    expect(await errorOf(() => publisher.send(parts(MAX + 1)))).toMatchObject(tooMany)
    await publisher.send("next")
    expect(await text(subscriber)).toBe("next")
  })

  test("a proxy drops a message that its routing id makes too long, and goes on", async () => {
    const [front, back] = [new Router(), new Dealer()]
    await front.bind(ANY, options)
    await back.bind(ANY, options)
    const proxy = new ZmqProxy(front, back)
    const running = proxy.run()
    const [dealer, worker] = [use(new Dealer()), use(new Dealer())]
    worker.connect(back.lastEndpoint as string, options)
    dealer.connect(front.lastEndpoint as string, options)
    await dealer.send(parts(MAX))
    await dealer.send("next")
    expect(String((await worker.receive())[1])).toBe("next")
    proxy.terminate()
    await running
  })

  test("the part that is one too many is refused at its header", async () => {
    const pull = use(new Pull())
    await pull.bind(ANY, options)
    const reported = once(pull.lz4, "protocolError")
    const part = Buffer.from(frame(SENTINELS.plain, MORE))
    const stream = Buffer.concat([Buffer.alloc(part.length * MAX, part), Buffer.of(0, 4)])
    const peer = use(await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", stream))
    expect((await reported)[0].error.code).toBe("ERR_ZMTP_PARTS")
    await peer.closed
  })
})
