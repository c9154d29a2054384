/** A process ends although nobody answers its attempts to connect, as over tcp://. */
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { describe, expect, test } from "vitest"

import { deaf, dialling } from "../support/deaf-port.js"
import { ownHost } from "../support/own-host.mjs"
import { Script } from "../support/running-script.js"
import { use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"

const connects = `const push = new zmq.Push({ linger: 500 }); push.connect(argument.endpoint);`
const inWorker = (source: string) => `
  const { Worker } = await import("node:worker_threads")
  const head = 'const { workerData: argument } = require("node:worker_threads"); const zmq = require("zeromq-lz4");'
  new Worker(head + ${JSON.stringify(source)}, { eval: true, execArgv: [], workerData: argument })`

describe.each(transports)("over $name", ({ scheme }) => {
  test.each([
    ["has connected", connects],
    ["has connected and printed something", `${connects} console.log("1"); console.error("2")`],
    [
      "has connected several times",
      `${connects} push.connect(argument.endpoint); ${connects.replace("const push", "const other").replace("push.", "other.")}`,
    ],
    ["has sent", `${connects} await push.send("1")`],
    ["has closed its socket", `${connects} await push.send("1"); push.close()`],
    ["waits for a timer", `${connects} setTimeout(() => {}, 300)`],
    ["has a thread that has connected", inWorker(connects)],
    ["has a thread that has sent", inWorker(`${connects} push.send("1")`)],
  ])("a process ends that %s", async (_, source) => {
    const port = await deaf()
    const before = dialling(port)
    const script = new Script(source, { endpoint: `${scheme}127.0.0.1:${port}` })
    const { code, signal } = await script.ended()
    expect({ code, signal }, script.errors).toEqual({ code: 0, signal: null })
    // Nobody has answered, and the system would still be trying.
    expect(dialling(port)).toEqual(expect.arrayContaining(before))
  })

  test("a process connects once although it is busy when the connection is made", async () => {
    const peers: Socket[] = []
    let greeted = () => {}
    const greeting = new Promise<void>((resolve) => {
      greeted = resolve
    })
    const server = createServer((peer) => {
      peers.push(peer.on("error", () => {}).once("data", greeted))
    })
    use({
      close: () => {
        server.close()
        for (const peer of peers) peer.destroy()
      },
    })
    await once(server.listen(0, ownHost), "listening")
    const { port } = server.address() as { port: number }
    // A socket that nothing refers to may be collected before it has connected.
    const source = `const push = globalThis.push = new zmq.Push(); push.connect(argument.endpoint, ...argument.options)
      const end = performance.now() + 300; while (performance.now() < end);`
    // A thread might not have started yet when the process ends.
    const options = scheme === lz4.scheme ? [{ thread: false }] : []
    new Script(source, { endpoint: `${scheme}${ownHost}:${port}`, options })
    await greeting
    expect(peers).toHaveLength(1)
  })
})
