/** Strangers who send arenas of empty parts: some 40 bytes on the wire are a message of over a thousand parts. */
import { describe, test } from "vitest"
import { Request } from "zeromq-lz4"
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
