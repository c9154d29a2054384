import { randomBytes } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { Push } from "zeromq-lz4"
import { startBroker } from "./broker.js"
import { consume } from "./consumer.js"
import { produce } from "./producer.js"

const anyPort = "lz4+tcp://127.0.0.1:*"
let stop
let broker
/** A producer of the test's own, if it has one. */
let push

beforeEach(async () => {
  stop = new AbortController()
  const settings = { front: anyPort, back: anyPort, metricsPort: 0 }
  broker = await startBroker({ ...settings, stopping: stop.signal })
})

afterEach(async () => {
  push?.close()
  stop.abort()
  await broker.stopped
})

const startProducer = (service) =>
  produce({ to: broker.front, service, stopping: stop.signal, intervalMs: 1 })
const startConsumer = (name) => consume({ from: broker.back, name, stopping: stop.signal })

/** Returns a metric of one of the broker's sockets. */
async function metric(name, socket) {
  const text = await (await fetch(broker.metricsUrl)).text()
  const [, value] = new RegExp(`^zeromq_lz4_${name}{socket="${socket}"} (\\d+)$`, "m").exec(text)
  return Number(value)
}

test("nothing that producers have sent is lost when all stop at once", async () => {
  const producers = ["web", "billing"].map(startProducer)
  const consumers = ["archive", "search"].map(startConsumer)
  await expect.poll(() => metric("connections", "front")).toBe(producers.length)
  await expect.poll(() => metric("messages_sent_total", "back")).toBeGreaterThan(100)
  stop.abort()
  const sent = await Promise.all(producers)
  const received = await Promise.all(consumers)
  const sum = (numbers) => numbers.reduce((a, b) => a + b)
  expect(sum(received.map(({ lines }) => lines))).toBe(sum(sent))
})

test("the broker passes messages on as compressed as they came", async () => {
  push = new Push({ linger: 0 })
  push.connect(broker.front, { level: 9, arenas: false })
  const consumer = startConsumer("archive")
  const line = JSON.stringify({ level: "error", message: "tea and sugar ".repeat(100) })
  await push.send(["web", line])
  await expect.poll(() => metric("messages_sent_total", "back")).toBe(1)
  const received = await metric("wire_bytes_received_total", "front")
  expect(received).toBeLessThan(line.length / 10)
  expect(await metric("wire_bytes_sent_total", "back")).toBe(received)
  push.close()
  stop.abort()
  expect(await consumer).toEqual({ lines: 1, errors: 1 })
})

test("a message of more than 1 MiB ends the connection of its producer, and of no other", async () => {
  const [producer, consumer] = [startProducer("web"), startConsumer("archive")]
  push = new Push({ linger: 0 })
  push.connect(broker.front)
  await push.send(["web", randomBytes(2 << 20)])
  await expect.poll(() => metric("protocol_errors_total", "front")).toBeGreaterThan(0)
  push.close()
  const before = await metric("messages_received_total", "front")
  await expect.poll(() => metric("messages_received_total", "front")).toBeGreaterThan(before)
  stop.abort()
  expect((await consumer).lines).toBe(await producer)
})
