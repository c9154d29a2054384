/** Writing to a socket without libuv. */
import { once } from "node:events"
import * as fs from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { afterEach, expect, onTestFinished, test, vi } from "vitest"

import { descriptorOf, writeNow } from "../../../src/transport/by-descriptor.js"

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>()
  return { ...real, writevSync: vi.fn(real.writevSync) }
})
afterEach(() => void vi.clearAllMocks())

const fake = (fields: object) => fields as unknown as Socket

test("a descriptor is only used if the remainder is known", () => {
  const _writableState = { writelen: 0 }
  const descriptor = (_handle: object | null, more: object = {}) =>
    descriptorOf(fake({ _writableState, _handle, ...more }))
  expect(descriptor({ fd: 5, writeQueueSize: 0 })).toBe(5)
  expect(descriptor({ fd: -1, writeQueueSize: 0 })).toBe(undefined) // Windows
  expect(descriptor({ fd: 5 })).toBe(undefined)
  expect(descriptor(null)).toBe(undefined)
  expect(descriptor({ fd: 5, writeQueueSize: 0 }, { destroyed: true })).toBe(undefined)
  expect(descriptor({ fd: 5, writeQueueSize: 0 }, { _writableState: {} })).toBe(undefined)
})

/** Returns a connected socket, and the other end, which does not read yet. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const near = connect(port, "127.0.0.1").on("error", () => {})
  const [[far]] = await Promise.all([once(server, "connection"), once(near, "connect")])
  far.pause()
  onTestFinished(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return [near, far]
}

const large = Buffer.alloc(64 << 20, 1)

test.skipIf(process.platform === "win32")(
  "the system takes as much as it has room for, in order, and then nothing",
  async () => {
    const [near, far] = await pair()
    const taken = writeNow(near, [Buffer.from("head"), large]) as number
    expect(taken).toBeGreaterThan(1000)
    expect(taken).toBeLessThan(large.length)
    // The system may find room for more a moment later.
    let total = taken
    for (let more = -1; more !== 0; total += more) more = writeNow(near, [large]) as number
    near.end()
    const received: Buffer[] = []
    for await (const bytes of far) received.push(bytes)
    const all = Buffer.concat(received)
    expect(all.length).toBe(total)
    expect(all.toString("latin1", 0, 4)).toBe("head")
    expect(all.subarray(4).equals(large.subarray(0, total - 4))).toBe(true)
  },
)

test("nothing is taken without a descriptor, or if the call fails or does nothing", async () => {
  const [near] = await pair()
  const call = vi.mocked(fs.writevSync)
  expect(writeNow(fake({ _handle: null }), [large])).toBe(undefined)
  call.mockReturnValueOnce(undefined as never)
  expect(writeNow(near, [large])).not.toBeGreaterThan(0)
  call.mockImplementationOnce(() => {
    throw Object.assign(new Error(), { code: "EPIPE" })
  })
  expect(writeNow(near, [large])).not.toBeGreaterThan(0)
  near.destroy()
  expect(writeNow(near, [large])).toBe(undefined)
})
