/** Memory that a process gives back after a large message. */
import { expect, onTestFinished, test } from "vitest"
import { Push } from "zeromq-lz4"

import { expectAtMost } from "../support/measured.js"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { use } from "../support/sockets.js"
import { message } from "../support/zmtp.js"

const MIB = 2 ** 20
const LARGE_BYTES = 200 * MIB
const KEPT_MAX_MIB = 100
/** V8 collects garbage some ten seconds after a large message, as it does without threads, or later if it is busy. */
const MESSAGES_MAX = 4000
const EACH_MS = 50

/** Returns the memory in MiB that a process keeps, which goes on receiving small messages. */
async function keptAfterLarge(thread: boolean): Promise<number> {
  const script = new Script(
    `const pull = new zmq.Pull()
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread: argument.thread })
    console.log(pull.lastEndpoint)
    await pull.receive()
    const before = process.memoryUsage.rss()
    const kept = () => process.memoryUsage.rss() - before
    await pull.receive()
    for (let i = 0; i < argument.max && kept() > argument.kept; i++) await pull.receive()
    console.log(kept())
    pull.close()`,
    { thread, max: MESSAGES_MAX, kept: KEPT_MAX_MIB * MIB },
  )
  const push = use(new Push())
  push.connect(await script.line(), { level: 0 })
  await push.send("first")
  await push.send(Buffer.alloc(LARGE_BYTES, "many words, and some that were said before; "))
  let kept: number | undefined
  void script.line().then((bytes) => {
    kept = Number(bytes) / MIB
  })
  while (kept === undefined) {
    await push.send("small")
    await sleep(EACH_MS)
  }
  expect(await script.ended()).toEqual({ code: 0, signal: null })
  return kept
}

test("the memory of a large message is given back, with a thread as without", async () => {
  const [without, withThread] = await Promise.all([false, true].map(keptAfterLarge))
  expectAtMost(KEPT_MAX_MIB, "memory kept after a message of 200 MiB", without as number, "MiB")
  expectAtMost(KEPT_MAX_MIB, "the same, with a thread", withThread as number, "MiB")
})

const PEERS = 400
/** A copy for each peer would take 3,600 MB, or compressed about 600. */
const REFERRED_MAX_MIB = 300

test.each([
  { what: "that does not compress", kind: "random", level: "adaptive" },
  { what: "that compresses", kind: "json", level: 0 },
] as const)(
  "a part $what takes its memory once, for many peers that read nothing",
  async ({ kind, level }) => {
    const script = new Script(
      `const { payload } = await import("./bench/payloads.mjs");
    const router = new zmq.Router({ linger: 0, mandatory: true })
    await router.bind("lz4+tcp://127.0.0.1:*", { level: argument.level, thread: false })
    console.log(router.lastEndpoint)
    const peers = []
    while (peers.length < argument.peers) peers.push((await router.receive())[0])
    const part = payload(argument.kind, 3 << 20)
    const send = async () => { for (const peer of peers) await router.send([peer, part]) }
    await send() // these may be on their way
    globalThis.gc()
    const before = process.memoryUsage.rss()
    for (let i = 0; i < 3; i++) await send()
    globalThis.gc()
    console.log(process.memoryUsage.rss() - before)
    process.exit()`,
      { kind, level, peers: PEERS },
      "unlimited",
      { NODE_OPTIONS: "--expose-gc" },
    )
    const endpoint = await script.line()
    for (let i = 0; i < PEERS; i++) {
      const peer = await rawZmtpPeer(endpoint, "DEALER", message(Buffer.from("\0\0\0\0ready")))
      peer.socket.pause()
      onTestFinished(() => peer.close())
    }
    const grown = Number(await script.line()) / MIB
    expectAtMost(REFERRED_MAX_MIB, "growth of memory", grown, "MiB")
  },
)
