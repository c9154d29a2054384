/** What arrives while the event loop is blocked counts, although timers run before sockets are read. */
import { expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { use } from "../support/sockets.js"
import { ANY, plain, text } from "../support/threads.js"
import { plainPart } from "../support/wire.js"
import { COMMAND, frame, handshake, message } from "../support/zmtp.js"

const LIMIT_MS = 100

function block(): void {
  const end = performance.now() + 2 * LIMIT_MS
  while (performance.now() < end);
}

/** Calls `callback` in the phase of the event loop that timers follow. */
const inCheckPhase = (callback: () => void): Promise<void> =>
  new Promise((resolve) =>
    setImmediate(() => {
      callback()
      resolve()
    }),
  )

const hello = message(plainPart(Buffer.from("hello")))

test("a receive() whose receiveTimeout expires meanwhile gets the message", async () => {
  const pull = use(new Pull({ receiveTimeout: LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH")
  const received = text(pull)
  await inCheckPhase(() => {
    peer.socket.write(hello)
    block()
  })
  expect(await received).toBe("hello")
})

test("a send() whose sendTimeout expires meanwhile is accepted by the peer that has come", async () => {
  const push = use(new Push({ sendTimeout: LIMIT_MS }))
  await push.bind(ANY, plain)
  const sent = push.send("hello")
  const peer = await rawPeer(push.lastEndpoint as string, new Uint8Array())
  peer.socket.once("data", () => {
    peer.socket.write(handshake("PULL"))
    block()
  })
  await sent
})

test("a peer that answers a PING meanwhile stays connected", async () => {
  const pull = use(new Pull({ heartbeatInterval: 10, heartbeatTimeout: LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH")
  let pings = 0
  peer.socket.on("data", () => {
    peer.socket.write(frame(Buffer.from("\x04PONG"), COMMAND))
    if (++pings === 1) block()
    if (pings === 2) peer.socket.write(hello)
  })
  expect(await text(pull)).toBe("hello")
})

test("a peer that completes the handshake meanwhile stays connected", async () => {
  const pull = use(new Pull({ handshakeInterval: LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawPeer(pull.lastEndpoint as string, new Uint8Array())
  peer.socket.once("data", () => {
    peer.socket.write(handshake("PUSH"))
    peer.socket.write(hello)
    block()
  })
  expect(await text(pull)).toBe("hello")
})

test("a connection that is made meanwhile is used, whatever connectTimeout is", async () => {
  const pull = use(new Pull())
  await pull.bind(ANY, plain)
  const push = use(new Push({ connectTimeout: LIMIT_MS, reconnectInterval: -1 }))
  push.connect(pull.lastEndpoint as string, plain)
  await inCheckPhase(block)
  await push.send("hello")
  expect(await text(pull)).toBe("hello")
})
