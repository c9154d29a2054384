/** Heartbeats of connections whose peers do not read. */
import { expect, test } from "vitest"
import { Pair } from "zeromq-lz4"

import { rawZmtpPeer } from "../support/raw-peer.js"
import { use } from "../support/sockets.js"
import { ANY, noise, plain, threaded } from "../support/threads.js"
import { plainPart } from "../support/wire.js"
import { message } from "../support/zmtp.js"

const INTERVAL_MS = 10

test.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("a peer that sends but does not read later receives a single PING: %s", async (_, options) => {
  const began = performance.now()
  const pair = use(
    new Pair({
      heartbeatInterval: INTERVAL_MS,
      heartbeatTimeout: 250_000,
      sendTimeout: 0,
      sendHighWaterMark: 300, // more than the system has room for
    }),
  )
  await pair.bind(ANY, options)
  const peer = await rawZmtpPeer(pair.lastEndpoint as string, "PAIR", message(plainPart(noise)))
  await pair.receive()
  peer.socket.pause()
  let sent = 0
  for (;;) {
    try {
      await pair.send(noise)
      sent++
    } catch {
      break // its queue is full
    }
  }
  const full = performance.now()
  // It continues to send for about 60 intervals.
  const sending = setInterval(() => peer.socket.write(message(plainPart(Buffer.from("here")))), 15)
  for (let i = 0; i < 40; i++) await pair.receive()
  clearInterval(sending)
  const stream: Buffer[] = []
  const all = new Promise<void>((resolve) => {
    let bytes = 0
    peer.socket.on("data", (chunk) => {
      stream.push(chunk)
      bytes += chunk.length
      if (bytes >= sent * noise.length) resolve()
    })
  })
  const resumed = performance.now()
  peer.socket.resume()
  await all
  // PINGs are also sent while there is room: before, after, and until the system's buffers are full. On a
  // busy machine there are fewer, since late timers do not fire more often later.
  const intervals = (performance.now() - began - (resumed - full) / 2) / INTERVAL_MS
  const pings = Buffer.concat(stream).toString("latin1").split("\x04\x07\x04PING").length - 1
  expect(pings).toBeLessThan(intervals)
})
