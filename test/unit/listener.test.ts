/** The bound side of a link, where libzmq is slow to take connections. */
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"

import { checkLz4Options } from "../../src/codec/options.js"
import { Hub } from "../../src/transport/hub.js"
import { eventually } from "../support/sockets.js"
import { greeting } from "../support/zmtp.js"

test("a peer whose connection libzmq has no room for yet waits for it", async () => {
  const peers = 50
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-test-"))
  const localPath = join(directory, "libzmq")
  let arrived = 0
  // It shares the event loop with the listener, so it accepts nothing while peers are joined.
  const libzmq = createServer((socket) => {
    arrived++
    socket.on("error", () => {})
    socket.write(greeting())
  })
  await new Promise<void>((resolve) => libzmq.listen({ path: localPath, backlog: 1 }, resolve))

  const hub = new Hub(() => {})
  const { port } = await hub.listen(1, {
    bind: { host: "127.0.0.1", port: 0 },
    localPath,
    settings: checkLz4Options({}, -1),
    tcp: {
      keepAlive: undefined,
      keepAliveDelayMs: 0,
      ipv6: false,
      backlog: peers,
      connectTimeoutMs: 0,
      reconnectMs: 100,
      reconnectMaxMs: 0,
    },
  })
  const sockets = Array.from({ length: peers }, () => connect(port, "127.0.0.1"))
  let lost = 0
  for (const socket of sockets)
    socket
      .on("error", () => {})
      .once("close", () => lost++)
      .resume()
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.on("connect", resolve))),
  )
  await sleep(100) // until the listener has seen them all
  hub.activate(1)
  await eventually(() => arrived + lost >= peers)
  expect(lost).toBe(0)

  hub.release(1, 0)
  for (const socket of sockets) socket.destroy()
  libzmq.close()
  rmSync(directory, { recursive: true, force: true })
})
