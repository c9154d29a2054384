/** `level: "adaptive"` over a network that is slower than the processor. */
import { createServer, type Socket } from "node:net"
import { test } from "vitest"
import { Push } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { use } from "../support/sockets.js"
import { concat } from "../support/wire.js"
import { GREETING_BYTES, handshake, messagesOf, parseStream } from "../support/zmtp.js"

/** The speed of a network of 40 Mbit/s, in one direction. */
const READ_BYTES = 50_000
const READ_MS = 10

/** Reads at a limited rate. */
function readSlowly(socket: Socket, call: (chunk: Uint8Array) => void): NodeJS.Timeout {
  socket.pause()
  return setInterval(() => {
    for (let left = READ_BYTES; left > 0; ) {
      const chunk = socket.read(Math.min(left, socket.readableLength)) as Buffer | null
      if (!chunk) return
      call(chunk)
      left -= chunk.length
    }
  }, READ_MS)
}

/** Returns a function that takes the bytes of a stream, and appends the lengths of its parts to `lengths`. */
function partLengths(lengths: number[]): (chunk: Uint8Array) => void {
  let rest: Uint8Array = new Uint8Array()
  return (chunk) => {
    rest = concat(rest, chunk)
    const { frames, restBytes } = parseStream(rest)
    for (const [part] of messagesOf(frames)) lengths.push((part as Uint8Array).length)
    // What follows is parsed as a stream of its own.
    if (frames.length > 0)
      rest = concat(new Uint8Array(GREETING_BYTES), rest.subarray(rest.length - restBytes))
  }
}

test("with a slow peer, parts get shorter and the level rises", async () => {
  const lengths: number[] = []
  let timer: NodeJS.Timeout | undefined
  const server = createServer((socket) => {
    socket.on("error", () => {})
    socket.write(handshake("PULL"))
    timer = readSlowly(socket, partLengths(lengths))
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  const { port } = server.address() as { port: number }

  const push = use(new Push({ sendHighWaterMark: 4, linger: 0 }))
  push.connect(`lz4+tcp://127.0.0.1:${port}`, { level: "adaptive" })
  const part = payload("json", 131072)
  const isShorter = () => {
    const [first = 0, ...others] = lengths
    return others.some((length) => length < first * 0.9)
  }
  let isThorough = false
  // The system's buffers and the queues hold messages encoded earlier.
  while (!isThorough || !isShorter()) {
    for (let i = 0; i < 20; i++) await push.send(part)
    const level = push.lz4.connections[0]?.sent.level
    isThorough ||= typeof level === "number" && level >= 3
  }
  clearInterval(timer)
  server.close()
})
