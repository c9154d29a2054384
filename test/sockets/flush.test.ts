/** `socket.lz4.flush()`, which waits until all messages have been written. */
import { describe, expect, test } from "vitest"
import { Publisher, Pull, Push, Subscriber, XPublisher } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { mark, marksErrors, Script } from "../support/running-script.js"
import { anyPort, freePort, use } from "../support/sockets.js"
import { stalledPeer } from "../support/stalled-peer.js"
import { isOnThreads, lz4 } from "../support/transports.js"

const noise = payload("random", 100_000)

const absent = async () => `${lz4.scheme}127.0.0.1:${await freePort()}`

test.each([
  ["a string", "1"],
  ["a fraction", 1.5],
  ["less than -1", -2],
  ["more than timers know", 2 ** 31],
])("a timeout that is %s is refused", async (_, timeout) => {
  await expect(use(new Push()).lz4.flush({ timeout: timeout as number })).rejects.toThrow("timeout")
})

test.each([
  [
    "an unknown option",
    { time: 2 },
    "ERR_INVALID_ARG_VALUE",
    'unknown option "time"; known: timeout',
  ],
  ["options that are none", 5, "ERR_INVALID_ARG_TYPE", "options must be an object; got 5"],
])("%s is refused", async (_, options, code, message) => {
  const flushed = use(new Push()).lz4.flush(options as object)
  await expect(flushed).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
})

test("a socket without lz4+tcp:// endpoints has nothing to flush", async () => {
  await use(new Push()).lz4.flush({ timeout: 0 })
})

const threads = isOnThreads ? [] : [{ thread: false }, { thread: true }]
describe.each(threads)("with %o, flush()", (options) => {
  test("resolves at once if nothing was sent, even without a peer", async () => {
    const push = use(new Push())
    push.connect(await absent(), options)
    await push.lz4.flush({ timeout: 0 })
  })

  test("rejects with EAGAIN after its timeout, if messages are still queued", async () => {
    const endpoint = await absent()
    const push = use(new Push({ reconnectInterval: 10 }))
    push.connect(endpoint, options)
    await push.send("text")
    const flushed = push.lz4.flush({ timeout: 50 })
    await expect(flushed).rejects.toMatchObject({
      code: "EAGAIN",
      message: expect.stringContaining("50 ms"),
    })
    const pull = use(new Pull())
    const later = push.lz4.flush()
    await pull.bind(endpoint)
    await later
    expect(String(await pull.receive())).toBe("text")
  })

  test("resolves when the system has accepted the bytes, even if the peer does not read", async () => {
    const { endpoint, read } = await stalledPeer()
    const push = use(new Push({ sendHighWaterMark: 0 }))
    push.connect(endpoint, options)
    for (let i = 0; i < 300; i++) await push.send(noise)
    await expect(push.lz4.flush({ timeout: 300 })).rejects.toMatchObject({ code: "EAGAIN" })
    const flushed = push.lz4.flush()
    read()
    await flushed
    expect(push.lz4.stats.sent.messages).toBe(300)
  })

  test("waits for earlier messages, not for later ones", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(lz4))
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, options)
    let isSending = true
    const sending = (async () => {
      while (isSending) await push.send(noise.subarray(0, 1000))
    })()
    const receiving = (async () => {
      for await (const [body] of pull) if (String(body) === "last") break
    })()
    await push.lz4.flush()
    await push.lz4.flush()
    isSending = false
    await sending
    await push.send("last")
    await receiving
  })

  test("continues after close(), until the messages have been written", async () => {
    const endpoint = await absent()
    const push = new Push({ reconnectInterval: 10 })
    push.connect(endpoint, options)
    await push.send("text")
    const { lz4 } = push
    push.close()
    await expect(lz4.flush({ timeout: 50 })).rejects.toMatchObject({ code: "EAGAIN" })
    const pull = use(new Pull())
    const flushed = lz4.flush()
    await pull.bind(endpoint)
    await flushed
    expect(String(await pull.receive())).toBe("text")
    await lz4.flush()
  })

  test("resolves when linger is over and the messages are dropped", async () => {
    const push = new Push({ linger: 20 })
    push.connect(await absent(), options)
    await push.send("text")
    push.close()
    await push.lz4.flush()
  })

  test("resolves when a peer has disconnected, with its messages", async () => {
    const push = use(new Push({ sendHighWaterMark: 0 }))
    await push.bind(anyPort(lz4), options)
    const pull = new Pull({ receiveHighWaterMark: 1, linger: 0 })
    pull.connect(push.lastEndpoint as string)
    for (let i = 0; i < 300; i++) await push.send(noise)
    await expect(push.lz4.flush({ timeout: 300 })).rejects.toMatchObject({ code: "EAGAIN" })
    const flushed = push.lz4.flush()
    pull.close()
    await flushed
  })

  test("waits for all subscribers of a publisher", async () => {
    const publisher = use(new XPublisher({ sendHighWaterMark: 0, verbosity: "allSubs" }))
    await publisher.bind(anyPort(lz4), options)
    const subscribers = [use(new Subscriber()), use(new Subscriber())]
    for (const subscriber of subscribers) {
      subscriber.receiveHighWaterMark = 0
      subscriber.connect(publisher.lastEndpoint as string)
      subscriber.subscribe("")
    }
    for (const _ of subscribers) await publisher.receive()
    for (let i = 0; i < 50; i++) await publisher.send(noise)
    await publisher.lz4.flush()
    for (const subscriber of subscribers) for (let i = 0; i < 50; i++) await subscriber.receive()
  })

  test("keeps the process alive until it is settled", async () => {
    const endpoint = await absent()
    const script = `const push = new zmq.Push({ linger: 0, reconnectInterval: 10 }); push.connect(argument.endpoint, argument.options);
      await push.send("text"); console.log("sent"); await push.lz4.flush(); console.log("flushed")`
    const process = new Script(script, { endpoint, options })
    expect(await process.line()).toBe("sent")
    const pull = use(new Pull())
    await pull.bind(endpoint)
    expect(await process.line()).toBe("flushed")
    expect(String(await pull.receive())).toBe("text")
    expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  })
})

test("a publisher without subscribers has nothing to flush", async () => {
  const publisher = use(new Publisher())
  await publisher.bind(anyPort(lz4))
  await publisher.send("nobody hears it")
  await publisher.lz4.flush({ timeout: 0 })
})

// README, "Shutting down".
test("a service that receives SIGTERM delivers its messages, and waits no longer than its timeout", async () => {
  const pull = use(new Pull({ receiveHighWaterMark: 1 }))
  await pull.bind(anyPort(lz4))
  const script = `${marksErrors} const push = new zmq.Push({ sendHighWaterMark: 0 }); push.connect(argument);
    process.once("SIGTERM", async () => {
      push.close()
      await push.lz4.flush({ timeout: 250_000 }).catch((error) => console.error(error.message))
      process.exit()
    });
    setInterval(() => {}, 1000);
    for (let i = 0; i < 2000; i++) await push.send([String(i), Buffer.alloc(10_000, i)]); console.log("sent")`
  const process = new Script(script, pull.lastEndpoint)
  expect(await process.line()).toBe("sent")
  process.process.kill("SIGTERM")
  for (let i = 0; i < 2000; i++) expect(String((await pull.receive())[0])).toBe(String(i))
  expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  expect(process.errors).not.toContain(mark)
})
