// The package loaded in both ways has the same classes and the same state.
import assert from "node:assert"
import { createRequire } from "node:module"
import * as imported from "zeromq-lz4"
import * as codec from "zeromq-lz4/codec"

const require = createRequire(import.meta.url)
const required = require("zeromq-lz4")
const { exports: targets } = require("zeromq-lz4/package.json")
for (const [path, target] of Object.entries(targets)) {
  if (typeof target === "string") continue
  const name = `zeromq-lz4${path.slice(1)}`
  const { default: _, ...named } = { ...(await import(name)) }
  const { default: __, ...same } = { ...require(name) }
  assert.deepStrictEqual(Object.keys(same).sort(), Object.keys(named).sort())
  for (const key of Object.keys(named)) assert.strictEqual(same[key], named[key], key)
}
assert.strictEqual(codec.ProtocolError, imported.ProtocolError)
assert.strictEqual(imported.default.Push, required.Push)
assert.strictEqual(imported.default, required.default)

// All endpoints of a context share a thread.
let threads = 0
process.on("worker", () => threads++)
const sockets = [new imported.Pull(), new required.Pull(), new imported.default.Pull()]
for (const socket of sockets) await socket.bind("lz4+tcp://127.0.0.1:*", { thread: true })
assert.strictEqual(threads, 1)
for (const socket of sockets) socket.close()
console.log("one instance")
