/**
 * Processes that run hot right up to their end. In Node 20, V8 may then wait forever for a garbage collection
 * (nodejs/node#54918).
 */
import { availableParallelism } from "node:os"
import { expect, test } from "vitest"
import { Pull } from "zeromq-lz4"

import { Script } from "../support/running-script.js"
import { anyPort, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

/** Number of processes for each ending in the gate; `npm run test:exits` runs 300. */
const RUNS = Number(process.env.EXIT_RUNS ?? 5)
const MESSAGES = 5000
/** A process that takes longer hangs. */
const LIMIT_MS = 60_000

const endings = [
  [
    "receives SIGTERM",
    `process.once("SIGTERM", async () => {
       push.close(); await push.lz4.flush({ timeout: 10_000 }); process.exit() });
     setInterval(() => {}, 1e6); process.kill(process.pid, "SIGTERM")`,
  ],
  ["flushes and exits", "await push.lz4.flush(); process.exit()"],
  ["closes its socket", "push.close()"],
  ["has nothing left to do", ""],
] as const

const sends = `
  const body = JSON.stringify({ event: "login", user: "someone", tags: ["a", "b", "c"], at: 1234567 });
  for (let i = 0; i < ${MESSAGES}; i++) await push.send(i + body);`

/** Runs a script many times. Returns how often it did not end. */
async function countHung(source: string, argument: unknown, flags: string[] = []): Promise<number> {
  let left = RUNS
  let hung = 0
  const runSome = async () => {
    while (left-- > 0) {
      const script = new Script(source, argument, "unlimited", {}, { flags })
      const limit = setTimeout(() => {
        hung++
        script.process.kill("SIGKILL")
      }, LIMIT_MS)
      const ended = await script.ended()
      clearTimeout(limit)
      if (ended.signal === null) expect(ended, script.errors).toEqual({ code: 0, signal: null })
    }
  }
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, runSome))
  return hung
}

test.each(endings)(
  "a process ends that has sent thousands of messages and %s",
  async (_, ending) => {
    const pull = use(new Pull({ receiveHighWaterMark: 0 }))
    await pull.bind(anyPort(lz4))
    const receiving = (async () => {
      for await (const _ of pull);
    })()
    const source = `const push = new zmq.Push({ sendHighWaterMark: 0 });
    push.connect(argument.endpoint); ${sends} ${ending}`
    expect(await countHung(source, { endpoint: pull.lastEndpoint })).toBe(0)
    pull.close()
    await receiving
  },
)

// Late compilations, and memory outside the heap, let Node 20 hang in a tenth to a half of the runs.
const late = process.version.startsWith("v20.") ? ["--concurrent-recompilation-delay=50"] : []

test.each([
  ["closes both", "push.close(); pull.close()"],
  ["closes neither", ""],
])("a process ends that has a PUSH and its PULL, has flushed, and %s", async (_, ending) => {
  const source = `const pull = new zmq.Pull({ receiveHighWaterMark: 0 });
    await pull.bind("lz4+tcp://127.0.0.1:*");
    const push = new zmq.Push({ sendHighWaterMark: 0 }); push.connect(pull.lastEndpoint);
    globalThis.memory = Buffer.alloc(30e6); ${sends}
    await push.lz4.flush(); ${ending}`
  expect(await countHung(source, {}, late)).toBe(0)
})
