/** Many connections of one socket at once. */
import { connect } from "node:net"
import { describe, expect, test } from "vitest"
import { Context, Dealer, Pull, Push, Router } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { anyPort, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

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

  test("a process that runs out of file descriptors continues", async () => {
    const script = new Script(
      `const { closeSync, openSync } = process.getBuiltinModule("node:fs");
      const router = new zmq.Router(); await router.bind(argument); console.log(router.lastEndpoint);
      const polling = setInterval(() => {
        try { closeSync(openSync("/dev/null", "r")) } catch { clearInterval(polling); console.log("ran out") }
      }, 5);
      for await (const [id, text] of router) { await router.send([id, text]); if (String(text) === "end") break }`,
      `${transport.scheme}127.0.0.1:*`,
      128,
    )
    const endpoint = await script.line()
    const port = Number(endpoint.split(":").at(-1))
    const flood = Array.from({ length: 200 }, () => connect(port, "127.0.0.1").resume())
    // A peer that finds no room may be reset before or after it is connected.
    await Promise.all(
      flood.map(
        (socket) => new Promise((settled) => socket.on("connect", settled).on("error", settled)),
      ),
    )
    expect(await script.line()).toBe("ran out")
    for (const socket of flood) socket.destroy()
    // Refused until descriptors are free again.
    const dealer = use(new Dealer({ reconnectInterval: 20 }))
    dealer.connect(endpoint)
    await dealer.send("end")
    expect(String((await dealer.receive())[0])).toBe("end")
    expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
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

test("connect() without free file descriptors retries until there are some", async () => {
  const pull = use(new Pull())
  await pull.bind(anyPort(lz4))
  let connects = 0
  pull.lz4.on("connect", () => connects++)
  const script = new Script(
    `const { closeSync, openSync } = process.getBuiltinModule("node:fs")
      const { subscribe } = process.getBuiltinModule("node:diagnostics_channel")
      const push = new zmq.Push({ reconnectInterval: 20, sendHighWaterMark: 1 })
      push.connect(argument)
      await push.send("before")
      while (push.lz4.connections.length === 0) await new Promise(setImmediate)
      let retries = 0
      const retried = new Promise((resolve) => subscribe("zeromq-lz4:reconnect", () => ++retries === 3 && resolve()))
      const files = []
      try { for (;;) files.push(openSync("/dev/null", "r")) } catch {}
      push.connect(argument)
      await push.send("first")
      await push.send("second") // in turn: one of them is for the pending connection
      const alive = setInterval(() => {}, 1000) // connecting does not keep the process alive
      await retried
      clearInterval(alive)
      console.log(push.lz4.connections.length)
      for (const file of files) closeSync(file)`,
    pull.lastEndpoint,
    128,
  )
  expect(String(await pull.receive())).toBe("before")
  expect(await script.line()).toBe("1")
  const received = [await pull.receive(), await pull.receive()]
  expect(received.map(String).sort()).toEqual(["first", "second"])
  expect(connects).toBe(2)
  expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
})
