/** Acts as a PULL: performs the handshake, then counts messages by their frame headers. */
import { once } from "node:events"
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

import { serve } from "../peers/serve.mjs"

const GREETING_BYTES = 64
/** Pause between two reads of a connection. */
const REST_MS = 1
/** Flags of a frame. */
const MORE = 1
const LONG = 2
const COMMAND = 4

/** Returns the greeting of a ZMTP 3.1 peer with the mechanism NULL. */
function greeting() {
  const bytes = Buffer.alloc(GREETING_BYTES)
  bytes[0] = 0xff
  bytes.set([1, 0x7f, 3, 1], 8)
  bytes.write("NULL", 12)
  return bytes
}

const READY = Buffer.from("\x05READY\x0bSocket-Type\0\0\0\x04PULL", "latin1")
const HANDSHAKE = Buffer.concat([greeting(), Buffer.of(COMMAND, READY.length), READY])

/**
 * Returns a function that parses the bytes of a connection.
 * @param {() => void} ready  called after the peer's first command
 * @param {(messages: number) => void} found
 */
function frames(ready, found) {
  let skip = GREETING_BYTES
  /** The received beginning of an incomplete frame header. @type {Buffer} */
  let head = Buffer.alloc(0)
  let isReady = false
  return (/** @type {Buffer} */ chunk) => {
    const bytes = head.length > 0 ? Buffer.concat([head, chunk]) : chunk
    let messages = 0
    let at = skip
    while (at < bytes.length) {
      const flags = bytes[at]
      const body = at + (flags & LONG ? 9 : 2)
      if (body > bytes.length) break
      const length = flags & LONG ? Number(bytes.readBigUInt64BE(at + 1)) : bytes[at + 1]
      if (!(flags & (MORE | COMMAND))) messages++
      else if (flags & COMMAND && !isReady) {
        isReady = true
        ready()
      }
      at = body + length
    }
    head = bytes.subarray(at)
    skip = Math.max(0, at - bytes.length)
    if (messages > 0) found(messages)
  }
}

serve(async () => {
  let connected = 0
  /** Messages since the last `drain`, and the time of the first. */
  let received = 0
  let start = 0
  /** @type {() => void} */
  let wake = () => {}

  const server = createServer((socket) => {
    socket.write(HANDSHAKE)
    const ready = () => {
      connected++
    }
    const take = frames(ready, (messages) => {
      if (received === 0) start = performance.now()
      received += messages
      wake()
    })
    const resume = () => socket.resume()
    socket.on("data", (chunk) => {
      take(chunk)
      // Reading each message as it arrives would use CPU time that a remote peer would not.
      socket.pause()
      setTimeout(resume, REST_MS)
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address())

  const commands = {
    /** Waits until `count` connections have completed the handshake. */
    async connected(/** @type {{ count: number }} */ { count }) {
      while (connected < count) await sleep(5)
    },

    /** Waits for `count` messages, and returns the time from the first to the last. */
    async drain(/** @type {{ count: number }} */ { count }) {
      while (received < count)
        await new Promise((resolve) => {
          wake = () => resolve(undefined)
        })
      const seconds = (performance.now() - start) / 1000
      received = 0
      return { seconds }
    },
  }
  return { ready: { endpoint: `lz4+tcp://127.0.0.1:${port}` }, commands }
})
