/** An event loop that is busy for long does not stop what goes over the connections. */
import { expect, test } from "vitest"
import { Dealer, Pull, Push, Router } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { anyPort, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

const BUSY_MS = 3000
const block = `const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BUSY_MS});`

test("heartbeats go on while the event loop is blocked, so no side gives up", async () => {
  const router = use(new Router({ heartbeatInterval: 100, heartbeatTimeout: 1000 }))
  let disconnects = 0
  router.lz4.on("disconnect", () => disconnects++)
  await router.bind(anyPort(lz4))
  const script = `${block}
    const dealer = new zmq.Dealer({ heartbeatInterval: 100, heartbeatTimeout: 1000 });
    dealer.lz4.on("disconnect", () => console.log("disconnect"));
    dealer.connect(argument); await dealer.send("before"); await dealer.receive();
    block();
    await dealer.send("after"); console.log(String((await dealer.receive())[0]))`
  const process = new Script(script, router.lastEndpoint)
  for (const text of ["before", "after"]) {
    const [id, part] = (await router.receive()) as [Buffer, Buffer]
    expect(String(part)).toBe(text)
    expect(disconnects).toBe(0)
    await router.send([id, "answer"])
  }
  expect(await process.line()).toBe("answer")
  expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
})

test("what was sent leaves, and peers connect and are taken in, while the event loop is blocked", async () => {
  const pull = use(new Pull())
  await pull.bind(anyPort(lz4))
  // "blocked" goes out through the link while the loop that sent it does nothing else.
  const script = `${block}
    const pull = new zmq.Pull(); await pull.bind("lz4+tcp://127.0.0.1:*");
    const push = new zmq.Push(); push.connect(argument); await push.send(pull.lastEndpoint);
    const start = performance.now(); for (let i = 0; i < 1000; i++) await push.send("blocked " + i);
    const { writeSync } = await import("node:fs");
    block(); writeSync(1, "unblocked\\n");
    for (let i = 0; i < 1000; i++) { const [text] = await pull.receive(); if (String(text) !== String(i)) throw new Error(String(text)) }
    console.log("all")`
  const process = new Script(script, pull.lastEndpoint)
  let unblocked = false
  const done = process.line().then((line) => {
    unblocked = true
    return line
  })
  const endpoint = String((await pull.receive())[0])
  for (let i = 0; i < 1000; i++) expect(String((await pull.receive())[0])).toBe(`blocked ${i}`)
  const push = use(new Push({ sendHighWaterMark: 1 }))
  const connected = new Promise((resolve) => push.lz4.once("connect", resolve))
  push.connect(endpoint)
  await connected
  for (let i = 0; i < 1000; i++) await push.send(String(i))
  expect(unblocked).toBe(false)
  expect(await done).toBe("unblocked")
  expect(await process.line()).toBe("all")
  expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
})

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
