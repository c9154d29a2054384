/** Overlapping calls, and operations that are pending when a socket is closed. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { describe, expect, test } from "vitest"
import { Dealer, Pull, Push } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { anyPort, eventually, freePort, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"
import { concat, plainPart } from "../support/wire.js"
import { handshake, message } from "../support/zmtp.js"

const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1")
  const accepted = await once(socket, "connect").then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}

describe.each(transports)("over $name", (transport) => {
  // Each number of turns of the event loop finds bind() in another state.
  test.each([0, 1, 2, 3, 5, 10])(
    "close() %i turns into a bind() leaves nothing bound",
    async (turns) => {
      const port = await freePort()
      const socket = use(new Pull())
      const bound = socket.bind(`${transport.scheme}127.0.0.1:${port}`)
      for (let i = 0; i < turns; i++) await new Promise(setImmediate)
      socket.close()
      await bound
      expect(socket.closed).toBe(true)
      await eventually(async () => !(await accepts(port)))
    },
  )

  test("an endpoint can be bound, unbound and bound again", async () => {
    const port = await freePort()
    const endpoint = `${transport.scheme}127.0.0.1:${port}`
    const pull = use(new Pull())
    for (let i = 0; i < 10; i++) {
      await eventually(() => pull.bind(endpoint)) // unbind() of tcp:// completes a little later
      const push = use(new Push())
      push.connect(endpoint)
      await push.send(String(i))
      expect(String((await pull.receive())[0])).toBe(String(i))
      await pull.unbind(endpoint)
    }
  })

  test("sockets that connect and close at once do not affect others", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(transport))
    const endpoint = pull.lastEndpoint as string
    const received: string[] = []
    for (let i = 0; i < 100; i++) {
      const push = new Push()
      push.connect(endpoint)
      await push.send(String(i))
      push.close()
      if (i % 10 === 0) await sleep(1)
    }
    while (received.length < 100) received.push(String((await pull.receive())[0]))
    expect(received.sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 100 }, (_, i) => String(i)),
    )
  })

  test("messages of a closed socket arrive even if the event loop was busy", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(transport))
    const script = `const push = new zmq.Push(); push.connect(argument.endpoint); await push.send("1"); push.close();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)`
    const process = new Script(script, { endpoint: pull.lastEndpoint })
    expect(String((await pull.receive())[0])).toBe("1")
    expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  })
})

test("a failed bind leaves the address free", async () => {
  const pull = use(new Pull())
  await pull.bind(anyPort(lz4))
  const endpoint = pull.lastEndpoint as string
  const other = use(new Pull())
  await expect(other.bind(endpoint)).rejects.toMatchObject({ code: "EADDRINUSE" })
  const push = use(new Push())
  push.connect(endpoint)
  await push.send("1")
  expect(String((await pull.receive())[0])).toBe("1")
})

// Decoded messages are read from the module's memory, which encoding must not overwrite.
test.each([60, 3000])(
  "messages of %i bytes right after READY arrive unchanged while queued messages are sent",
  async (bytes) => {
    const count = 300_000 / bytes
    const text = (i: number): string => `message ${i} `.padEnd(bytes, "x")
    const messages = Array.from({ length: count }, (_, i) =>
      message(plainPart(Buffer.from(text(i)))),
    )
    const stream = concat(handshake("DEALER"), ...messages)
    const server = use(
      createServer((peer) =>
        peer
          .on("error", () => {})
          .resume()
          .write(stream),
      ),
    )
    await once(server.listen(0, "127.0.0.1"), "listening")
    const dealer = use(new Dealer({ sendHighWaterMark: 0, receiveHighWaterMark: 0 }))
    dealer.connect(`lz4+tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
    for (let i = 0; i < 2000; i++) await dealer.send(`waits ${i} `.padEnd(600, "w"))
    for (let i = 0; i < count; i++) expect(String((await dealer.receive())[0])).toBe(text(i))
  },
)

test("a program that sends large messages in a loop does not starve timers and I/O", async () => {
  const push = use(new Push({ sendHighWaterMark: 0, linger: 0 }))
  push.connect(`lz4+tcp://127.0.0.1:${await freePort()}`)
  const text = Buffer.from(payload("json", 256 * 1024))
  let turns = 0
  const interval = setInterval(() => turns++, 0)
  // A fast machine sends many in a turn.
  for (let i = 0; turns <= 2; i++) {
    expect(i).toBeLessThan(2000)
    await push.send(text)
  }
  clearInterval(interval)
})

/** Number of consecutive operations that complete at once; the next one waits for a turn. */
const OPERATIONS = 512

test("of two loops, one that sends and one that receives, each waits for its turns", async () => {
  const [one, other] = [0, 1].map(() =>
    use(new Dealer({ sendHighWaterMark: 0, receiveHighWaterMark: 0, linger: 0 })),
  ) as [Dealer, Dealer]
  await one.bind(anyPort(lz4))
  other.connect(one.lastEndpoint as string)
  const turns = 20
  const count = turns * OPERATIONS
  for (let i = 0; i < count; i++) await other.send("text")
  await eventually(() => one.lz4.stats.received.messages === count)
  let passed = 0
  let isOver = false
  const countTurn = () => {
    passed++
    if (!isOver) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const receiving = (async () => {
    for (let i = 0; i < count; i++) await one.receive()
    isOver = true
  })()
  while (!isOver) await one.send("text")
  await receiving
  expect(passed).toBeGreaterThanOrEqual(turns)
})

test("a receive() that waits for a turn keeps waiting if its message disappears with its peer", async () => {
  const [pull, gone, stays] = [new Pull(), new Push(), new Push()].map(use) as [Pull, Push, Push]
  await gone.bind(anyPort(lz4))
  const endpoint = gone.lastEndpoint as string
  pull.connect(endpoint)
  for (let i = 0; i <= OPERATIONS; i++) await gone.send("gone")
  await eventually(() => pull.lz4.stats.received.messages > OPERATIONS)
  // A thread counts messages before it posts them, and posts them before it answers.
  await pull.bind(anyPort(lz4))
  // All in this turn, however busy the machine is.
  for (let i = 0; i < OPERATIONS; i++) void pull.receive()
  const received = pull.receive()
  pull.disconnect(endpoint)
  stays.connect(pull.lastEndpoint as string)
  await stays.send("stays")
  expect(String((await received)[0])).toBe("stays")
})

test("a send() that waits for a turn keeps waiting if its peer disappears", async () => {
  const [push, gone, stays] = [new Push(), new Pull(), new Pull()].map(use) as [Push, Pull, Pull]
  push.sendHighWaterMark = 0
  await gone.bind(anyPort(lz4))
  const endpoint = gone.lastEndpoint as string
  push.connect(endpoint)
  for (let i = 0; i < OPERATIONS; i++) void push.send("gone")
  const sent = push.send("stays")
  push.disconnect(endpoint)
  await push.bind(anyPort(lz4))
  stays.connect(push.lastEndpoint as string)
  await sent
  expect(String((await stays.receive())[0])).toBe("stays")
})
