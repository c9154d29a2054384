/** Programs that load the package again and again: hot reload, test runners. */
import { describe, expect, test } from "vitest"

import { runScript } from "../support/script.js"
import { lz4, tcp, times } from "../support/transports.js"

const LOADS = times(20, 8)

/** Loads a package anew, uses it, and drops it. Returns the listeners that were added, at most, and the copies that are left. */
const body = (name: string, scheme: string, ending: string) => `
  const { createRequire } = require("node:module")
  const { dirname, join } = require("node:path")
  // Not what it depends on: zeromq.js's addon keeps every copy of zeromq.js, and its module the one that loaded it.
  const directory = dirname(require.resolve(${JSON.stringify(name)}))
  const events = ["exit", "beforeExit"]
  const count = () => events.map((event) => process.listenerCount(event))
  const before = count()
  const added = [0, 0]
  const warnings = []
  process.on("warning", ({ message }) => warnings.push(message))
  const copies = [] // the WebAssembly memories of each
  const { Instance } = WebAssembly
  WebAssembly.Instance = class extends Instance {
    constructor(...args) { super(...args); copies.at(-1).push(new WeakRef(this.exports.memory)) }
  }
  const use = async () => {
    const require = createRequire(join(process.cwd(), "any.js"))
    for (const file of Object.keys(require.cache)) if (file.startsWith(directory)) delete require.cache[file]
    copies.push([])
    const { Push, Pull } = require(${JSON.stringify(name)})
    const [push, pull] = [new Push(), new Pull()]
    await pull.bind("${scheme}127.0.0.1:*")
    push.connect(pull.lastEndpoint)
    for (let i = 0; i < 100; i++) {
      await push.send("a message that is long enough to be compressed".repeat(20))
      await pull.receive()
    }
    count().forEach((now, i) => { added[i] = Math.max(added[i], now - before[i]) })
    ${ending}
  }
  for (let i = 0; i < ${LOADS}; i++) await use()
  const left = () => copies.filter((memories) => memories.some((memory) => memory.deref())).length
  for (let i = 0; i < 2000 && left() > 2; i++) await collect()
  return { added, warnings, used: copies.filter(({ length }) => length > 0).length, left: left() }`

interface Result {
  added: number[]
  warnings: string[]
  used: number
  left: number
}

describe("a package that is loaded again and again", () => {
  test("adds no listener each time, over tcp://", async () => {
    const result = (await runScript(
      body("zeromq", tcp.scheme, "push.close(); pull.close()"),
    )) as Result
    expect(result).toEqual({ added: [0, 0], warnings: [], used: 0, left: 0 })
  })

  test.each([
    ["closes its sockets", "push.close(); pull.close()"],
    ["drops its sockets", ""],
  ])("has one listener, and its copies are collected if the program %s", async (_, ending) => {
    const { left, ...result } = (await runScript(body("zeromq-lz4", lz4.scheme, ending))) as Result
    expect(result).toEqual({ added: [1, 1], warnings: [], used: LOADS })
    // The last copy, which is still loaded, and the first, which zeromq.js refers to as its parent.
    expect(left).toBeLessThanOrEqual(2)
  })
})
