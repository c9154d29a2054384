/** Memory that a process gives back after a large message. */
import { expect, test } from "vitest"
import { Push } from "zeromq-lz4"

import { expectAtMost } from "../support/measured.js"
import { Script } from "../support/running-script.js"
import { use } from "../support/sockets.js"

const MIB = 2 ** 20
const LARGE_BYTES = 200 * MIB
/** V8 collects garbage some ten seconds after a large message, as it does without threads. */
const MESSAGES = 600
const EACH_MS = 50

/** Returns the memory in MiB that a process keeps, which goes on receiving small messages. */
async function keptAfterLarge(thread: boolean): Promise<number> {
  const script = new Script(
    `const pull = new zmq.Pull()
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread: argument.thread })
    console.log(pull.lastEndpoint)
    await pull.receive()
    const before = process.memoryUsage.rss()
    for (let i = 0; i < argument.messages; i++) await pull.receive()
    console.log(process.memoryUsage.rss() - before)`,
    { thread, messages: MESSAGES },
  )
  const push = use(new Push())
  push.connect(await script.line(), { level: 0 })
  await push.send("first")
  await push.send(Buffer.alloc(LARGE_BYTES, "many words, and some that were said before; "))
  for (let i = 1; i < MESSAGES; i++) {
    await push.send("small")
    await new Promise((resolve) => setTimeout(resolve, EACH_MS))
  }
  const kept = Number(await script.line()) / MIB
  expect(await script.ended()).toEqual({ code: 0, signal: null })
  return kept
}

test("the memory of a large message is given back, with a thread as without", async () => {
  const [without, withThread] = await Promise.all([false, true].map(keptAfterLarge))
  expectAtMost(100, "memory kept after a message of 200 MiB", without as number, "MiB")
  expectAtMost(100, "the same, with a thread", withThread as number, "MiB")
})
