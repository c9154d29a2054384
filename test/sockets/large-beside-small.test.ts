/** Large parts and other work in the same event loop. */
import { expect, test } from "vitest"
import { Dealer, Pull, Push, Router } from "zeromq-lz4"

import { anyPort, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

test("other sockets of a process are served while one sends a large part", async () => {
  const pull = use(new Pull())
  await pull.bind(anyPort(lz4))
  const router = use(new Router())
  await router.bind(anyPort(lz4))
  const push = use(new Push())
  push.connect(pull.lastEndpoint as string)
  const dealer = use(new Dealer())
  dealer.connect(router.lastEndpoint as string)
  const large = Buffer.alloc(64 << 20, "some text to compress, ")
  const sent = push.send(large)
  for (let i = 0; i < 100; i++) {
    await dealer.send(String(i))
    const [id, text] = (await router.receive()) as [Buffer, Buffer]
    await router.send([id, text])
    expect(String((await dealer.receive())[0])).toBe(String(i))
  }
  await sent
  expect((await pull.receive())[0]?.equals(large)).toBe(true)
})
