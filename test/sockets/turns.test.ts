/** A program that polls in a loop does not block the event loop. */
import { describe, expect, test } from "vitest"
import { Dealer, Pull, Push } from "zeromq-lz4"

import { join, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

/** Retries at once until it succeeds. */
async function persist<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if ((error as { code: string }).code !== "EAGAIN") throw error
    }
  }
}

describe.each(transports)("over $name", (transport) => {
  test("receive() with a timeout of 0, repeated at once, gets a message in transit", async () => {
    const pull = use(new Pull({ receiveTimeout: 0 }))
    const push = use(new Push())
    await join(pull, push, transport)
    await push.send("hello")
    expect(String(await persist(() => pull.receive()))).toBe("hello")
  })
})

test.each([-1, 0])(
  "what a program computes and sends leaves, sendTimeout %i",
  async (sendTimeout) => {
    const worker = use(new Dealer({ sendTimeout }))
    const client = use(new Dealer())
    await join(client, worker, lz4)
    await client.send("job")
    await worker.receive()
    let isAnswered = false
    const answer = client.receive().then(() => {
      isAnswered = true
    })
    let sent = 0
    for (; !isAnswered && sent < 100; sent++) {
      for (const end = performance.now() + 10; performance.now() < end; );
      await worker.send("result")
    }
    expect(sent).toBeLessThan(100)
    await answer
  },
)

// Over tcp:// a receiver in the same process is starved by such a sender.
test("send() with a timeout of 0, repeated at once, succeeds when there is room", async () => {
  const pull = use(new Pull({ receiveHighWaterMark: 1 }))
  const push = use(new Push({ sendTimeout: 0, sendHighWaterMark: 1 }))
  await join(pull, push, lz4)
  const count = 1000
  const received = (async () => {
    for (let i = 0; i < count; i++) await pull.receive()
  })()
  for (let i = 0; i < count; i++) await persist(() => push.send(Buffer.alloc(10_000)))
  await received
})
