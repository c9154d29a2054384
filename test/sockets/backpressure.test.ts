/** A slow reader stops the writer at the other end, and little is buffered in between. */
import { expect, test } from "vitest"
import { Dealer, Pull } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { rawZmtpPeer } from "../support/raw-peer.js"
import { noise, Script } from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { eventually, use } from "../support/sockets.js"
import { testStuckProcesses } from "../support/stuck-processes.js"
import { ANY } from "../support/threads.js"
import { isInFull } from "../support/transports.js"
import { plainPart } from "../support/wire.js"
import { message } from "../support/zmtp.js"

// What the process holds. test/quiet checks that too, and what the system gave to it, without and with a thread.
if (isInFull)
  testStuckProcesses((before, after, maxBytes) => {
    expect(after.live - before.live).toBeLessThan(maxBytes)
  })

test("sending resumes when the reader resumes, and no message is lost", async () => {
  const pull = use(new Pull({ receiveHighWaterMark: 1 }))
  await pull.bind("lz4+tcp://127.0.0.1:*")
  const count = 2000
  const script = new Script(
    `const push = new zmq.Push({ sendHighWaterMark: 1 }); push.connect(argument.endpoint);
    ${noise} const body = noise(30_000);
    for (let i = 0; i < argument.count; i++) await push.send([String(i), body])`,
    { endpoint: pull.lastEndpoint, count },
  )
  // Both ends stop before anything is read. On a busy machine they may only be slow.
  let last = -1
  await eventually(async () => {
    const now = pull.lz4.stats.received.messages
    const still = now > 0 && now === last
    last = now
    await sleep(200)
    return still
  })
  expect(last).toBeLessThan(count)
  for (let i = 0; i < count; i++) expect(String((await pull.receive())[0])).toBe(String(i))
  expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
})

test.each([0, 4, 5])(
  "close() delivers queued messages to a peer that sends before it reads on, with %d of its messages not received",
  async (unread) => {
    const part = payload("random", 64 * 1024)
    const dealer = use(new Dealer({ sendHighWaterMark: 0, receiveHighWaterMark: 5 }))
    await dealer.bind(ANY)
    const peer = use(await rawZmtpPeer(dealer.lastEndpoint as string, "DEALER"))
    const { socket } = peer
    socket.pause()
    const answer = message(plainPart(part))
    for (let i = 0; i < unread; i++) socket.write(answer)
    await eventually(() => dealer.lz4.stats.received.messages === unread)
    const count = 640
    for (let i = 0; i < count; i++) await dealer.send(part)
    dealer.linger = -1
    dealer.close()
    let came = 0
    socket.on("data", ({ length }) => {
      came += length
      socket.pause().write(answer, () => socket.resume())
    })
    socket.resume()
    await peer.closed
    expect(came).toBeGreaterThan(count * part.length)
  },
)
