/** With `conflate`, only the latest message is queued for a slow peer. */
import { once } from "node:events"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, onTestFinished, test } from "vitest"
import { Dealer, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { eventually, use } from "../support/sockets.js"
import { ANY, plain, text, threaded } from "../support/threads.js"
import { concat, SENTINELS } from "../support/wire.js"
import { message } from "../support/zmtp.js"

const MIB = 2 ** 20
const noise = payload("random", 10_000)
/** Messages that fit into both systems' buffers of a loopback connection, and a few writes. */
const KERNEL_MAX_BYTES = 16 * MIB
const MESSAGES = 8000

const senders = [
  { what: "PUB", peer: "SUB", make: () => new Publisher({ conflate: true }) },
  { what: "PUSH", peer: "PULL", make: () => new Push({ conflate: true }) },
  { what: "DEALER", peer: "DEALER", make: () => new Dealer({ conflate: true }) },
]

describe.each([
  { where: "", options: plain },
  { where: " on a thread", options: threaded },
])("a peer that does not read$where", ({ options }) => {
  test.each(senders)(
    "receives the latest message of a $what, and few earlier ones",
    async (sender) => {
      const socket = use(sender.make())
      await socket.bind(ANY, options)
      const { socket: peer } = await rawZmtpPeer(
        socket.lastEndpoint as string,
        sender.peer,
        ...(sender.peer === "SUB" ? [message(concat(SENTINELS.plain, Uint8Array.of(1)))] : []),
      )
      onTestFinished(() => {
        peer.destroy()
      })
      let bytes = 0
      let tail = Buffer.alloc(0)
      let arrived: () => void = () => {}
      peer.on("data", (chunk: Buffer) => {
        bytes += chunk.length
        tail = Buffer.concat([tail, chunk]).subarray(-32)
        arrived()
      })
      // Wait for the subscription.
      while (bytes === 0) {
        await socket.send("probe")
        await turn()
      }
      peer.pause()
      for (let i = 0; i < MESSAGES; i++) {
        await socket.send([noise, `message ${i}`])
        if (i % 8 === 0) await turn()
      }
      bytes = 0
      peer.resume()
      while (!tail.includes(`message ${MESSAGES - 1}`))
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
      expect(bytes).toBeLessThan(KERNEL_MAX_BYTES)
    },
  )
})

test.each([
  { where: "", options: plain },
  { where: " on a thread", options: threaded },
])(
  "a message that there is no memory for does not replace the latest$where",
  async ({ options }) => {
    const [push, pull] = [use(new Push({ conflate: true })), use(new Pull())]
    await pull.bind(ANY, options)
    const address = pull.lastEndpoint as string
    await pull.unbind(address)
    push.connect(address, options)
    await push.send("latest")
    const large = Buffer.alloc(MIB)
    const { allocUnsafeSlow } = Buffer
    Buffer.allocUnsafeSlow = () => {
      throw new RangeError("no memory")
    }
    try {
      expect(() => push.send(large)).toThrow("no memory")
    } finally {
      Buffer.allocUnsafeSlow = allocUnsafeSlow
    }
    await pull.bind(address, options)
    expect(await text(pull)).toBe("latest")
  },
)

const receivers = [
  {
    what: "SUB",
    peer: "PUB",
    make: () => {
      const subscriber = new Subscriber({ conflate: true, receiveHighWaterMark: 1 })
      subscriber.subscribe("")
      return subscriber
    },
  },
  { what: "PULL", peer: "PUSH", make: () => new Pull({ conflate: true, receiveHighWaterMark: 1 }) },
  {
    what: "DEALER",
    peer: "DEALER",
    make: () => new Dealer({ conflate: true, receiveHighWaterMark: 1 }),
  },
]

describe.each([
  { where: "", options: plain },
  { where: " on a thread", options: threaded },
])("a socket that does not receive$where", ({ options }) => {
  test.each(receivers)("a $what reads all messages, and keeps the latest", async (receiver) => {
    const socket = use(receiver.make())
    await socket.bind(ANY, options)
    const { socket: peer } = await rawZmtpPeer(socket.lastEndpoint as string, receiver.peer)
    onTestFinished(() => {
      peer.destroy()
    })
    const body = message(concat(SENTINELS.plain, noise))
    for (let i = 0; i < 3000; i++) if (!peer.write(body)) await once(peer, "drain")
    peer.write(message(concat(SENTINELS.plain, Buffer.from("last"))))
    const received = await eventually(async () => {
      const text = String((await socket.receive())[0])
      return text === "last" && text
    })
    expect(received).toBe("last")
  })
})
