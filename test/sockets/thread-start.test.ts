/** How a thread starts: with which flags of Node, and what is reported if it cannot. */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, onTestFinished, test } from "vitest"

import { root } from "../support/packed.js"

const run = promisify(execFile)

/** A process that exchanges a message over threads, and ends by itself. */
const EXCHANGE = `
  const zmq = require("zeromq-lz4")
  const main = async () => {
    const [pull, push] = [new zmq.Pull(), new zmq.Push()]
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread: true })
    push.connect(pull.lastEndpoint, { thread: true })
    await push.send("text")
    console.log(String(await pull.receive()))
  }
  main()`

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "zeromq-lz4-thread-"))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

test("profilers write a file for the thread, as for any other", async () => {
  const to = directory()
  const flags = ["--cpu-prof", `--cpu-prof-dir=${to}`, "--heap-prof", `--heap-prof-dir=${to}`]
  const { stdout } = await run(process.execPath, [...flags, "-e", EXCHANGE], { cwd: root })
  expect(stdout).toBe("text\n")
  const written = readdirSync(to)
  for (const kind of [".cpuprofile", ".heapprofile"])
    expect(written.filter((file) => file.endsWith(kind))).toHaveLength(2)
})

test("modules that NODE_OPTIONS or the command line preload do not run in the thread", async () => {
  const agent = join(directory(), "agent.cjs")
  writeFileSync(agent, 'require("node:fs").writeSync(1, "loaded\\n")')
  const NODE_OPTIONS = `--require ${JSON.stringify(agent)}`
  const { stdout } = await run(process.execPath, ["--require", agent, "-e", EXCHANGE], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS },
  })
  // A process loads a module once.
  expect(stdout).toBe("loaded\ntext\n")
})

test("bind and connect say with ERR_LZ4_THREAD that a thread cannot start, and why", async () => {
  // What Node throws where the system has no thread left, as with ulimit -u.
  const script = `
    require("node:worker_threads").Worker = class {
      constructor() {
        throw Object.assign(new Error("EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" })
      }
    }
    const zmq = require("zeromq-lz4")
    const refused = async (call) => {
      try { await call() } catch ({ code, message, cause }) { return [code, message, cause.code] }
    }
    const main = async () => {
      const [pull, push] = [new zmq.Pull(), new zmq.Push()]
      const [any, thread] = ["lz4+tcp://127.0.0.1:*", { thread: true }]
      return [
        await refused(() => pull.bind(any, thread)),
        await refused(() => pull.bindSync(any, thread)),
        await refused(() => push.connect("lz4+tcp://127.0.0.1:9", thread)),
        // Nothing is left behind that would keep a socket from another endpoint.
        await pull.bind(any, { thread: false }),
      ]
    }
    main().then((result) => { console.log(JSON.stringify(result)); process.exit() })`
  const { stdout } = await run(process.execPath, ["-e", script], { cwd: root })
  const message = "the worker thread of endpoints failed: EAGAIN"
  const refusal = ["ERR_LZ4_THREAD", message, "ERR_WORKER_INIT_FAILED"]
  expect(JSON.parse(stdout)).toEqual([refusal, refusal, refusal, null])
})
