/** Node's permission model: what is forbidden fails at once, with a code that says so. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { root } from "../support/packed.js"

const run = promisify(execFile)
const has = (flag: string) => process.allowedNodeEnvironmentFlags.has(flag)
const MODEL = has("--permission") ? "--permission" : "--experimental-permission"
const NET = has("--allow-net") ? ["--allow-net"] : []
const WORKER = ["--allow-worker"]

/** Returns the results of bind() and connect(), and what a message sent between them became. */
async function results(thread: boolean, flags: readonly string[]): Promise<unknown> {
  const script = `
    const zmq = require("zeromq-lz4")
    const result = async (work) => {
      try { await work(); return "done" } catch ({ code, cause }) { return [code, cause?.code] }
    }
    const main = async () => {
      const [pull, push] = [new zmq.Pull(), new zmq.Push()]
      const bound = await result(() => pull.bind("lz4+tcp://127.0.0.1:*", { thread: ${thread} }))
      const address = pull.lastEndpoint ?? "lz4+tcp://127.0.0.1:9"
      const connected = await result(() => push.connect(address, { thread: ${thread} }))
      if (bound !== "done" || connected !== "done") return [bound, connected]
      await push.send("hello")
      return [bound, connected, String(await pull.receive())]
    }
    main().then((result) => { console.log(JSON.stringify(result)); process.exit() })`
  const args = [MODEL, "--allow-fs-read=*", "--allow-addons", ...flags, "-e", script]
  const { stdout } = await run(process.execPath, args, { cwd: root })
  return JSON.parse(stdout)
}

test("everything works with the flags that it needs", async () => {
  expect(await results(false, NET)).toEqual(["done", "done", "hello"])
  expect(await results(true, [...NET, ...WORKER])).toEqual(["done", "done", "hello"])
})

test("thread: true without --allow-worker fails with ERR_LZ4_THREAD", async () => {
  const denied = ["ERR_LZ4_THREAD", "ERR_ACCESS_DENIED"]
  expect(await results(true, NET)).toEqual([denied, denied])
})

test("bind and connect without --allow-net fail with ERR_ACCESS_DENIED, if Node has that flag", async () => {
  const denied = ["ERR_ACCESS_DENIED", null]
  const expected = NET.length > 0 ? [denied, denied] : ["done", "done", "hello"]
  expect(await results(false, [])).toEqual(expected)
})
