/** Events of endpoints on a thread, and handlers that throw. */
import type { EventEmitter } from "node:events"
import { setImmediate as turn } from "node:timers/promises"
import { expect, onTestFinished, test, vi } from "vitest"
import {
  type EndpointSpec,
  fromWorker,
  type PostedEvent,
  type Request,
  toWorker,
} from "../../../src/thread/protocol.js"
import { RemoteConnection } from "../../../src/thread/remote-connection.js"
import { RemoteListener } from "../../../src/thread/remote-endpoint.js"
import { SharedState } from "../../../src/thread/shared-state.js"
import { Thread } from "../../../src/thread/thread.js"
import { isIdle } from "../../../src/transport/read-turns.js"
import type { EndpointEvent } from "../../../src/transport/transport.js"
import { eventually } from "../../support/sockets.js"
import { message } from "../../support/zmtp.js"

type FakeWorker = EventEmitter & { posted: unknown[] }
const workers = vi.hoisted(() => [] as FakeWorker[])
vi.mock("node:worker_threads", async (original) => {
  const { EventEmitter } = await import("node:events")
  class Worker extends EventEmitter {
    constructor() {
      super()
      workers.push(this)
    }
    unref(): void {}
    terminate(): void {}
    readonly posted: unknown[] = []
    postMessage(operations: unknown[]): void {
      this.posted.push(...operations)
    }
  }
  return { ...(await original<typeof import("node:worker_threads")>()), Worker }
})

/** Collects uncaught errors until the test ends. */
function uncaught(): unknown[] {
  const errors: unknown[] = []
  const listeners = process.listeners("uncaughtException")
  process.removeAllListeners("uncaughtException")
  process.on("uncaughtException", (error) => errors.push(error))
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException")
    for (const listener of listeners) process.on("uncaughtException", listener)
  })
  return errors
}

/** Creates an endpoint on a thread, whose handlers record events, and throw if requested. */
function endpoint() {
  const thread = new Thread(() => {})
  const worker = workers.at(-1) as FakeWorker
  const log: string[] = []
  const onEvent = ({ type }: EndpointEvent) => {
    log.push(type)
    throw new Error(`at ${type} ${log.length}`)
  }
  const spec = { credit: 10, options: { settings: { format: "lz4" } } } as EndpointSpec
  const one = new RemoteListener(spec, () => thread, onEvent)
  onTestFinished(() => one.close())
  const take = (...events: PostedEvent[]) => {
    worker.emit(
      "message",
      events.map((event) => ({ type: "event", endpoint: 1, event })),
    )
  }
  return { worker, log, take, one }
}

const opened = (connection: number): PostedEvent => ({
  type: "opened",
  connection,
  state: new SharedState().fields,
  remoteAddress: "127.0.0.1",
  remotePort: 5555,
})
const error = { message: "text", rule: undefined, properties: {} }
const counts = new SharedState().counts

test("a handler that throws does not suppress other events in the same post", async () => {
  const errors = uncaught()
  const { worker, log, take } = endpoint()
  const credentials = { mechanism: "NULL" as const, values: [] }
  take(
    opened(1),
    opened(2),
    { type: "authenticate", connection: 1, credentials },
    {
      type: "ready",
      connection: 2,
      peerRoutingId: new Uint8Array(),
      peerTakesCommands: true,
      peerIsLibzmq: true,
      peerRevision: 2,
      scheme: "lz4+tcp",
    },
    { type: "refused", connection: 1, status: 400 },
    { type: "failed", connection: 1, error, reason: undefined },
    { type: "closed", connection: 1, error, stage: "traffic", retries: "soon", counts },
    { type: "acceptFailed", error },
  )
  const told = [
    "opened",
    "opened",
    "authenticate",
    "ready",
    "refused",
    "failed",
    "closed",
    "acceptFailed",
  ]
  await eventually(() => log.length === told.length)
  expect(log).toEqual(told)
  await turn()
  expect(errors.map(String)).toEqual(told.map((what, i) => `Error: at ${what} ${i + 1}`))
  // Connections whose handshake cannot continue have ended.
  expect(worker.posted.filter((item) => (item as Request).type === "destroy")).toHaveLength(2)
})

test("a connection that this side has ended does not become ready", async () => {
  const errors = uncaught()
  const { log, take, one } = endpoint()
  take(opened(1))
  await eventually(() => log.length > 0)
  const [connection] = one.connections
  connection?.destroy()
  take({
    type: "ready",
    connection: 1,
    peerRoutingId: new Uint8Array(),
    peerTakesCommands: true,
    peerIsLibzmq: true,
    peerRevision: 2,
    scheme: "lz4+tcp",
  })
  await eventually(isIdle)
  await turn()
  expect(log).toEqual(["opened"])
  expect(errors).toHaveLength(1)
  expect(connection?.scheme).toBe(undefined)
})

test("an error of the thread that no peer caused is thrown as an uncaught one", async () => {
  const errors = uncaught()
  const { log, take } = endpoint()
  take({ type: "threw", error }, opened(1))
  await eventually(() => log.length > 0)
  await turn()
  expect(log).toEqual(["opened"])
  expect(errors).toEqual([new Error("text"), new Error("at opened 1")])
})

test("memory is released after its messages are read, not during reading", async () => {
  const thread = new Thread(() => {})
  const worker = workers.at(-1) as FakeWorker
  const one = new RemoteConnection(thread, 10, {
    connection: 7,
    state: new SharedState().fields,
    remoteAddress: "127.0.0.1",
    remotePort: 5555,
  })
  const dial: Request = { type: "dial", endpoint: 1 }
  const posted: unknown[][] = []
  one.sink = {
    message: () => {
      thread.postNow(dial)
      posted.push(worker.posted.splice(0))
      return true
    },
    command: () => true,
    drained: () => {},
    waitsToSend: false,
    isBehind: false,
  }
  const memory = new Uint8Array(new SharedArrayBuffer(100))
  memory.set(message(Buffer.from("text")))
  const slab = { type: "slab", slab: 3, memory: memory.buffer }
  worker.emit("message", [slab, fromWorker.FRAMES, 7, 3, 0, 6])
  await eventually(() => posted.length > 0)
  expect(posted).toEqual([[dial]])
  thread.postNow(dial)
  expect(worker.posted).toEqual([dial, toWorker.FREE, 3, 1])
})

test("an endpoint whose thread died does not wait for another after close()", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const { worker, one } = endpoint()
  worker.emit("error", new Error("it died"))
  expect(vi.getTimerCount()).toBe(1)
  one.close()
  expect(vi.getTimerCount()).toBe(0)
})

test("a handler that throws when a thread dies does not prevent other connections from being closed", async () => {
  const errors = uncaught()
  const { worker, log, take } = endpoint()
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  take(opened(1), opened(2))
  worker.emit("error", new Error("it died"))
  expect(log).toEqual(["opened", "opened", "closed", "closed"])
  await turn()
  expect(errors).toHaveLength(4)
})
