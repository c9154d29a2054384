/** Handover of a routing id to another peer, as over tcp://. */
import { describe, expect, test } from "vitest"
import { Dealer, Router } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { use } from "../support/sockets.js"
import { ANY, plain, threaded } from "../support/threads.js"

const COUNT = 30
const noise = payload("random", 1_000_000)

describe.each([
  { where: "tcp://", endpoint: "tcp://127.0.0.1:*", options: undefined },
  { where: "lz4+tcp://", endpoint: ANY, options: plain },
  { where: "lz4+tcp:// on a thread", endpoint: ANY, options: threaded },
])("over $where", ({ endpoint, options }) => {
  test("messages queued for the peer that had the routing id still reach it", async () => {
    const router = use(new Router({ handover: true, sendHighWaterMark: 0 }))
    await (options ? router.bind(endpoint, options) : router.bind(endpoint))
    const [old, next] = [1, 2].map(() =>
      use(new Dealer({ routingId: "me", receiveHighWaterMark: 1 })),
    ) as [Dealer, Dealer]
    old.connect(router.lastEndpoint as string)
    await old.send("hello")
    await router.receive()
    for (let i = 0; i < COUNT; i++) await router.send(["me", `${i}`, noise])
    next.connect(router.lastEndpoint as string)
    await next.send("hello")
    await router.receive()
    await router.send(["me", "for the new one"])
    expect(String(await next.receive())).toBe("for the new one")
    for (let i = 0; i < COUNT; i++) expect(String((await old.receive())[0])).toBe(`${i}`)
  })
})
