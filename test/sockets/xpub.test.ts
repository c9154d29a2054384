/** An XPUB that does not receive still handles subscriptions, and buffers little of what subscribers send. */
import { describe, expect, onTestFinished, test } from "vitest"
import { Subscriber, XPublisher, XSubscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { use } from "../support/sockets.js"
import { ANY, plain, threaded } from "../support/threads.js"
import { concat, plainPart } from "../support/wire.js"
import { frame, message } from "../support/zmtp.js"

const MIB = 2 ** 20

const command = (name: string, data: string) =>
  frame(concat(Uint8Array.of(name.length), Buffer.from(name + data)), 4)

/** Sends until the subscriber receives a message. */
async function heard(xpub: XPublisher, subscriber: Subscriber, topic: string): Promise<void> {
  const received = subscriber.receive()
  let arrived = false
  received.finally(() => {
    arrived = true
  })
  while (!arrived) {
    await xpub.send(topic)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(String((await received)[0])).toBe(topic)
}

describe.each([
  { where: "", options: plain },
  { where: " on a thread", options: threaded },
])("an XPUB that does not receive$where", ({ options }) => {
  test.each([
    { form: "commands", of: (on: boolean) => command(on ? "SUBSCRIBE" : "CANCEL", "topic") },
    {
      form: "messages",
      of: (on: boolean) => message(plainPart(Buffer.from(on ? "\x01topic" : "\0topic"))),
    },
  ])(
    "handles new subscribers after 100,000 changes by $form, and the one that made them",
    async ({ of }) => {
      const xpub = use(new XPublisher())
      await xpub.bind(ANY, options)
      const endpoint = xpub.lastEndpoint as string
      const { socket: restless } = await rawZmtpPeer(endpoint, "SUB")
      onTestFinished(() => {
        restless.destroy()
      })
      const last = message(plainPart(Buffer.from("\x01last")))
      const changes = Array<Uint8Array>(50_000).fill(concat(of(true), of(false)))
      restless.write(concat(...changes, last))
      const received = new Promise<void>((resolve) => {
        restless.on("data", (bytes) => bytes.includes("last") && resolve())
      })
      let arrived = false
      received.finally(() => {
        arrived = true
      })
      while (!arrived) {
        await xpub.send("last")
        await new Promise((resolve) => setImmediate(resolve))
      }
      const later = use(new Subscriber())
      later.connect(endpoint, plain)
      later.subscribe("later")
      await heard(xpub, later, "later")
    },
  )

  test("stops a peer that sends messages, and only that one, until they are received", async () => {
    const xpub = use(new XPublisher({ receiveHighWaterMark: 10, sendHighWaterMark: 0 }))
    await xpub.bind(ANY, options)
    const endpoint = xpub.lastEndpoint as string
    const { socket: flood } = await rawZmtpPeer(endpoint, "SUB")
    onTestFinished(() => {
      flood.destroy()
    })
    const noise = payload("random", 100_000)
    const COUNT = 640
    for (let i = 0; i < COUNT; i++)
      flood.write(message(plainPart(Buffer.from(`${i}`)), plainPart(noise)))
    // Nothing that it is sent may be dropped, however slow it is.
    const other = use(new XSubscriber({ receiveHighWaterMark: 0 }))
    other.connect(endpoint, plain)
    await other.send("\x01topic")
    await other.send("hello")
    await heard(xpub, other as unknown as Subscriber, "topic")
    for (let i = 0; i < 1000; i++) {
      await xpub.send(`topic ${i}`)
      let text = ""
      while (text !== `topic ${i}`) text = String((await other.receive())[0])
    }
    expect(flood.writableLength).toBeGreaterThan(32 * MIB)
    const received: string[] = []
    const others: string[] = []
    while (received.length < COUNT || others.length < 2) {
      const parts = await xpub.receive()
      const list = parts.length > 1 ? received : others
      list.push(String(parts[0]))
    }
    expect(received).toEqual(Array.from({ length: COUNT }, (_, i) => `${i}`))
    expect(others).toEqual(["\x01topic", "hello"])
  })
})
