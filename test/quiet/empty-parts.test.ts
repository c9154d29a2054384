/** Strangers who send arenas of empty parts: some 40 bytes on the wire are a message of over a thousand parts. */
import { describe, expect, test } from "vitest"
import { Pull, Push, Request, Subscriber, XPublisher } from "zeromq-lz4"
import { expectAtMost } from "../support/measured.js"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { use } from "../support/sockets.js"
import { arenaOfEmptyParts, MOST_EMPTY_PARTS, message } from "../support/zmtp.js"

const MIB = 2 ** 20
const STRANGERS = 300
const ARENAS = 40

/** A process with a PULL, and a REP that tells its memory and how late its timers have been. */
const VICTIM = `
  const pull = new zmq.Pull({ maxMessageSize: 1000 })
  const control = new zmq.Reply()
  await pull.bind("lz4+tcp://127.0.0.1:*", { thread: argument.thread })
  await control.bind("lz4+tcp://127.0.0.1:*")
  console.log(JSON.stringify([pull.lastEndpoint, control.lastEndpoint]))
  let latest = 0
  const watch = (due) => setTimeout(() => {
    latest = Math.max(latest, performance.now() - due)
    watch(performance.now() + 5)
  }, 5)
  watch(performance.now() + 5)
  let received = 0
  if (argument.receives) (async () => { for (;;) { await pull.receive(); received++ } })()
  for await (const _ of control)
    await control.send(JSON.stringify({ received, latest, rss: process.memoryUsage.rss() }))`

interface State {
  received: number
  /** The most that a timer was late, in milliseconds. */
  latest: number
  rss: number
}

/** Milliseconds that a timer may be late, MiB that the process may grow, and what the flood had before. */
const LATE_MAX = 500
const GROWTH_MAX = 700

describe.each([
  { thread: false, receives: true },
  { thread: false, receives: false },
  { thread: true, receives: true },
  { thread: true, receives: false },
])("with %o", (argument) => {
  test("arenas of empty parts keep no timer waiting, and take bounded memory", async () => {
    const [endpoint, address] = JSON.parse(await new Script(VICTIM, argument).line())
    const control = use(new Request())
    control.connect(address)
    const state = async (): Promise<State> => {
      await control.send("")
      return JSON.parse(String((await control.receive())[0]))
    }
    const before = await state()
    const arenas = Buffer.concat(Array(ARENAS).fill(message(arenaOfEmptyParts(MOST_EMPTY_PARTS))))
    const strangers = Array.from({ length: STRANGERS }, () => rawZmtpPeer(endpoint, "PUSH", arenas))
    const open = await Promise.all(strangers)
    let now = await state()
    let most = now.rss
    const look = async () => {
      await sleep(50)
      now = await state()
      most = Math.max(most, now.rss)
    }
    if (argument.receives) while (now.received < STRANGERS * ARENAS) await look()
    else for (let i = 0; i < 60; i++) await look()
    // What has arrived may be received, but takes no more memory than before.
    for (const peer of open) peer.socket.destroy()
    for (let i = 0; i < 20; i++) await look()
    expectAtMost(LATE_MAX, "a timer late", now.latest, "ms")
    expectAtMost(GROWTH_MAX, "growth of memory", (most - before.rss) / MIB, "MiB")
  })
})

describe.each([{ thread: false }, { thread: true }])("at a full socket, with %o", (options) => {
  const fillers = 20
  const arenas = Buffer.concat(Array(ARENAS).fill(message(arenaOfEmptyParts(MOST_EMPTY_PARTS))))

  const fill = async (endpoint: string, type: string) => {
    await Promise.all(Array.from({ length: fillers }, () => rawZmtpPeer(endpoint, type, arenas)))
    await sleep(1000)
  }

  test("an XPUB that does not receive serves new subscribers", async () => {
    const xpub = use(new XPublisher())
    await xpub.bind("lz4+tcp://127.0.0.1:*", options)
    await fill(xpub.lastEndpoint as string, "SUB")
    const late = use(new Subscriber({ receiveTimeout: 100 }))
    late.connect(xpub.lastEndpoint as string)
    late.subscribe("news")
    await expect
      .poll(async () => {
        await xpub.send("news")
        return late.receive().then(String, () => undefined)
      })
      .toBe("news")
  })

  test("the messages of a peer that comes and goes are received", async () => {
    const pull = use(new Pull())
    await pull.bind("lz4+tcp://127.0.0.1:*", options)
    await fill(pull.lastEndpoint as string, "PUSH")
    const honest = new Push()
    honest.connect(pull.lastEndpoint as string)
    for (let i = 0; i < 10; i++) await honest.send(`honest ${i}`)
    await honest.lz4.flush()
    honest.close()
    await sleep(500)
    const received: string[] = []
    while (received.length < 10) {
      const message = await pull.receive()
      if (message.length === 1) received.push(String(message[0]))
    }
    expect(received).toEqual(Array.from({ length: 10 }, (_, i) => `honest ${i}`))
  })
})

test("a thread answers heartbeats while the program computes, however much others have sent", async () => {
  const victim = new Script(
    `
    const pull = new zmq.Pull()
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread: true })
    console.log(pull.lastEndpoint)
    for await (const [work] of pull) {
      if (String(work) !== "compute") continue
      console.log("begins")
      for (const end = performance.now() + 8000; performance.now() < end; );
      console.log("ends")
      break
    }`,
    {},
  )
  const endpoint = await victim.line()
  const honest = use(new Push({ heartbeatInterval: 200, heartbeatTimeout: 2000 }))
  const ends: unknown[] = []
  honest.lz4.on("disconnect", (end) => ends.push(end))
  honest.connect(endpoint)
  await honest.send("compute")
  expect(await victim.line()).toBe("begins")
  for (let i = 0; i < 40; i++) {
    const push = use(new Push({ sendHighWaterMark: 0, linger: 0 }))
    push.connect(endpoint)
    for (let k = 0; k < 3000; k++) await push.send("x")
  }
  expect(await victim.line()).toBe("ends")
  expect(ends).toEqual([])
})
