/** Connections for which there is no memory: only they end. */
import { connect, createServer, type Socket } from "node:net"
import { expect, onTestFinished, test, vi } from "vitest"

import { outOfMemory } from "../../../src/codec/errors.js"
import { Connection } from "../../../src/transport/connection.js"
import { Dialer } from "../../../src/transport/dialer.js"
import { Listener } from "../../../src/transport/listener.js"
import type { TcpOptions } from "../../../src/transport/tcp-options.js"
import type { ConnectionOptions } from "../../../src/transport/transport.js"

vi.mock("../../../src/transport/connection.js", () => ({ Connection: vi.fn() }))

const tcp = { backlog: 10, acceptFilters: [], reconnectMs: 1, connectTimeoutMs: 0 }
const settings = tcp as unknown as TcpOptions
const options = { settings: { format: "lz4" } } as ConnectionOptions

/** Makes the next connection lack memory, and returns a list of the events that follow. */
function events(): {
  list: unknown[]
  add: (event: unknown) => void
  seen(count: number): Promise<void>
} {
  vi.mocked(Connection).mockReset()
  class Refused {
    constructor() {
      throw outOfMemory("a transcoder", 1000)
    }
  }
  vi.mocked(Connection).mockImplementationOnce(Refused as never)
  const list: unknown[] = []
  let changed = () => {}
  const seen = async (count: number) => {
    while (list.length < count)
      await new Promise<void>((resolve) => {
        changed = resolve
      })
  }
  const add = (event: unknown) => {
    list.push(event)
    changed()
  }
  return { list, add, seen }
}

test("a listener ends a connection for which there is no memory, and accepts the next one", async () => {
  const { list, add, seen } = events()
  const listener = new Listener(options, settings, add)
  onTestFinished(() => listener.close())
  const { port } = listener.listenSync({ host: "127.0.0.1", port: 0 })
  const peers = [connect(port), connect(port)]
  onTestFinished(() => {
    for (const peer of peers) peer.destroy()
  })
  const closed = peers.map(
    (peer) => new Promise((done) => peer.on("error", () => {}).on("close", done)),
  )
  await seen(2)
  expect(list).toMatchObject([
    { type: "acceptFailed", error: { code: "ENOBUFS", message: "No buffer space available" } },
    { type: "opened" },
  ])
  await Promise.race(closed)
})

test("a dialer tries again if there is no memory for a connection", async () => {
  const accepted: Socket[] = []
  const server = createServer((socket) => accepted.push(socket.on("error", () => {})))
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { list, add, seen } = events()
  const { port } = server.address() as { port: number }
  const dialer = new Dialer({ host: "127.0.0.1", port, source: undefined }, options, settings, add)
  onTestFinished(() => {
    dialer.close()
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  dialer.dial()
  await seen(5)
  expect(list).toMatchObject([
    { type: "delayed" },
    { type: "attemptFailed" },
    { type: "retried" },
    { type: "delayed" },
    { type: "opened" },
  ])
})
