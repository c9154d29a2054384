/** Many connections of one socket at once. */
import { describe, expect, test } from "vitest"
import { Context, Dealer, Pull, Push, Router } from "zeromq-lz4"

import { anyPort, use } from "../support/sockets.js"
import { transports } from "../support/transports.js"

const PEERS = 1000
// The system queues this many connections until they are accepted. It drops others, and retries in
// steps that may add up to more than `handshakeInterval`. The sockets of these tests do not reconnect
// after that, so a busy machine must not take as long.
const backlog = PEERS
const handshakeInterval = 300_000

describe.each(transports)("over $name", (transport) => {
  test("a thousand peers connect to one socket at once, and each gets a reply", async () => {
    const router = use(new Router({ backlog, handshakeInterval }))
    await router.bind(anyPort(transport))
    const endpoint = router.lastEndpoint as string
    // Sockets of the previous test may still be closing, and a context has at most 1023.
    const context = new Context()
    const dealers = Array.from({ length: PEERS }, () =>
      use(new Dealer({ context, handshakeInterval, reconnectInterval: -1 })),
    )
    for (const [i, dealer] of dealers.entries()) {
      dealer.connect(endpoint)
      await dealer.send(String(i))
    }
    const heard = new Set<string>()
    for (let i = 0; i < PEERS; i++) {
      const [id, text] = (await router.receive()) as [Buffer, Buffer]
      heard.add(String(text))
      await router.send([id, text])
    }
    expect(heard.size).toBe(PEERS)
    for (const [i, dealer] of dealers.entries())
      expect(String((await dealer.receive())[0])).toBe(String(i))
  })

  test("one socket connects a thousand times at once", async () => {
    const pull = use(new Pull({ backlog, handshakeInterval }))
    await pull.bind(anyPort(transport))
    const push = use(new Push({ handshakeInterval, reconnectInterval: -1, sendHighWaterMark: 1 }))
    for (let i = 0; i < PEERS; i++) push.connect(pull.lastEndpoint as string)
    // It sends over all its connections in turn.
    for (let i = 0; i < PEERS; i++) {
      await push.send(String(i))
    }
    const heard = new Set<string>()
    for (let i = 0; i < PEERS; i++) heard.add(String((await pull.receive())[0]))
    expect(heard.size).toBe(PEERS)
  })
})
