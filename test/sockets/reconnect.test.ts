/**
 * Reconnecting to an absent peer: how often, and when it stops. Attempts are counted, because times
 * depend on the machine; tcp:// is the reference for the counts.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import { Context, Pull, Push } from "zeromq-lz4"

import { deaf, dialling } from "../support/deaf-port.js"
import { ended } from "../support/ended.js"
import { sendLate } from "../support/late-sender.js"
import { portOf } from "../support/raw-peer.js"
import { sleep } from "../support/sleep.js"
import { anyPort, eventually, freePort, use } from "../support/sockets.js"
import { lz4, type Transport, transports } from "../support/transports.js"

interface Counter {
  port: number
  attempts: number
}

const close = (socket: Socket) => socket.destroy()

/** Counts connections, and calls a function with each. */
async function counter(answer: (socket: Socket) => void): Promise<Counter> {
  const sockets = new Set<Socket>()
  const counter = { port: 0, attempts: 0 }
  const server = createServer((socket) => {
    counter.attempts++
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
    answer(socket)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  counter.port = (server.address() as { port: number }).port
  return counter
}

const endpoint = ({ scheme }: Transport, port: number | "*") => `${scheme}127.0.0.1:${port}`

/** Waits until another socket has made a number of attempts. */
async function othersTry(
  transport: Transport,
  attempts: number,
  reconnectInterval: number,
): Promise<void> {
  const peer = await counter(close)
  const push = use(new Push({ reconnectInterval }))
  push.connect(endpoint(transport, peer.port))
  await eventually(() => peer.attempts >= attempts)
  push.close()
}

/** Resolves when a socket has failed to connect a number of times. */
const failures = (push: Push, count: number): Promise<void> =>
  new Promise((resolve) => {
    let failed = 0
    push.events.on("connect:retry", () => {
      if (++failed === count) resolve()
    })
  })

async function expectPeace(
  transport: Transport,
  context: Context,
  end: (push: Push, address: string) => Promise<unknown>,
): Promise<void> {
  const peer = await counter(close)
  const push = use(new Push({ context, reconnectInterval: 10 }))
  push.connect(endpoint(transport, peer.port))
  await eventually(() => peer.attempts >= 3)
  await end(push, endpoint(transport, peer.port))
  await othersTry(transport, 5, 10) // pending attempts have arrived
  const { attempts } = peer
  await othersTry(transport, 30, 10)
  expect(peer.attempts).toBe(attempts)
}

describe.each(transports)("over $name", (transport) => {
  test("pauses last at least reconnectInterval, so a peer that closes is not flooded", async () => {
    const peer = await counter(close)
    const push = use(new Push({ reconnectInterval: 100 }))
    const start = performance.now()
    push.connect(endpoint(transport, peer.port))
    await eventually(() => peer.attempts >= 7)
    // Each pause is 100 to 200 ms; on a slow machine there are fewer attempts, never more.
    expect(peer.attempts).toBeLessThanOrEqual(2 + (performance.now() - start) / 100)
  })

  test("close() ends the attempts", async () => {
    const context = new Context({ maxSockets: 1 })
    await expectPeace(transport, context, (push) => {
      push.close()
      return ended(context)
    })
  })

  test.each([-1, 0])(
    "with reconnectInterval %i, a socket does not reconnect to a peer that closes",
    async (reconnectInterval) => {
      const peer = await counter(close)
      const push = use(new Push({ reconnectInterval }))
      push.connect(endpoint(transport, peer.port))
      await eventually(() => peer.attempts > 0)
      await othersTry(transport, 4, 100)
      expect(peer.attempts).toBe(1)
    },
  )

  test.each([-1, 0])(
    "with reconnectInterval %i, a socket tries an absent peer once",
    async (reconnectInterval) => {
      const port = await freePort()
      const push = use(new Push({ reconnectInterval }))
      const refused = new Promise((resolve) => push.events.on("close", resolve))
      push.connect(endpoint(transport, port))
      await refused
      await push.send("1")
      await sendLate(endpoint(transport, port), "of another")
      const pull = use(new Pull())
      await pull.bind(endpoint(transport, port))
      expect(String(await pull.receive())).toBe("of another")
    },
  )

  test("messages queued before the peer exists arrive in order", async () => {
    const port = await freePort()
    const push = use(new Push({ reconnectInterval: 10 }))
    const failed = failures(push, 5)
    push.connect(endpoint(transport, port))
    for (let i = 0; i < 500; i++) await push.send(String(i))
    await failed
    const pull = use(new Pull())
    await pull.bind(endpoint(transport, port))
    for (let i = 0; i < 500; i++) expect(String((await pull.receive())[0])).toBe(String(i))
  })

  test("messages stay queued if a handshake times out", async () => {
    const pull = use(new Pull())
    await pull.bind(endpoint(transport, "*"))
    const port = portOf(pull.lastEndpoint as string)
    // The first connection gets no answer, and later ones that of the socket.
    const peer = await counter((socket) => {
      if (peer.attempts === 1) return
      const onward = connect(port, "127.0.0.1").on("error", () => {})
      onward.on("close", () => socket.destroy())
      socket.on("close", () => onward.destroy())
      socket.pipe(onward).pipe(socket)
    })
    // On a busy machine, further handshakes may take as long, so that several are necessary.
    const push = use(new Push({ reconnectInterval: 10, handshakeInterval: 1000 }))
    push.connect(endpoint(transport, peer.port))
    for (let i = 0; i < 500; i++) await push.send(String(i))
    for (let i = 0; i < 500; i++) expect(String((await pull.receive())[0])).toBe(String(i))
    expect(peer.attempts).toBeGreaterThan(1)
  })

  test("a peer that returns receives the messages sent from then on", async () => {
    const port = await freePort()
    const push = use(new Push({ reconnectInterval: 10, immediate: true }))
    push.connect(endpoint(transport, port))
    for (let round = 0; round < 5; round++) {
      const pull = use(new Pull())
      await eventually(() => pull.bind(endpoint(transport, port)))
      let done = false
      const received = pull.receive().finally(() => {
        done = true
      })
      // Messages written to a breaking connection are lost.
      while (!done) {
        await push.send(`round ${round}`)
        await sleep(5)
      }
      expect(String((await received)[0])).toMatch(/^round /)
      pull.close()
    }
  })

  test("an attempt without an answer ends after connectTimeout, and another follows", async () => {
    const port = await deaf()
    const push = use(new Push({ connectTimeout: 50, reconnectInterval: 10 }))
    push.connect(endpoint(transport, port))
    // Every attempt has its own local port.
    const from = new Set<string>()
    await eventually(() => {
      for (const local of dialling(port)) from.add(local)
      return from.size >= 5
    })
  })
})

// Over tcp:// libzmq continues if the peer was just closing.
test("disconnect() ends the attempts", async () => {
  const context = new Context()
  await expectPeace(lz4, context, (push, address) => {
    push.disconnect(address)
    // A thread does one thing after another.
    return use(new Pull({ context })).bind(anyPort(lz4))
  })
})

test("only one connection is made", async () => {
  const pull = use(new Pull())
  await pull.bind(anyPort(lz4))
  let connects = 0
  pull.lz4.on("connect", () => connects++)
  const push = use(new Push({ reconnectInterval: 10 }))
  push.connect(pull.lastEndpoint as string)
  await push.send("1")
  await pull.receive()
  const OTHERS = 30
  for (let i = 0; i < OTHERS; i++) {
    const other = use(new Push())
    other.connect(pull.lastEndpoint as string)
    await other.send("2")
    await pull.receive()
  }
  await eventually(() => connects > OTHERS)
  expect(connects).toBe(OTHERS + 1)
})
