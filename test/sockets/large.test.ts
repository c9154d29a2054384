/** A part of more than 1 GiB, which is sent as several blocks (RFC.md section 4.4). */
import { expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { expectSameBytes } from "../support/same-bytes.js"
import { join, use } from "../support/sockets.js"
import { level, lz4 } from "../support/transports.js"

const GIB = 2 ** 30
const json = payload("json", 2 ** 20)

/** Pieces that differ, and that are quickly made and compressed: JSON now and then, and repeated bytes. */
function* pieces() {
  const repeated = Buffer.alloc(json.length)
  for (let at = 0; at < GIB; at += json.length) {
    const number = at / json.length
    if (number % 16 === 0) yield json
    else {
      repeated.fill(number)
      repeated.writeUInt32LE(number, number)
      yield repeated
    }
  }
  yield Uint8Array.of(42)
}

/** A separate function, so that the test does not keep a reference to the copied message. */
async function sendLarge(push: Push): Promise<void> {
  const part = Buffer.allocUnsafe(GIB + 1)
  let at = 0
  for (const piece of pieces()) {
    part.set(piece, at)
    at += piece.length
  }
  await push.send(part)
}

test("a part of 1 GiB and one byte arrives unchanged", async () => {
  const push = use(new Push({ maxMessageSize: -1 }))
  const pull = use(new Pull({ maxMessageSize: -1 }))
  // An adaptive level tries now and then what is not compressed.
  await join(pull, push, { ...lz4, options: { level } })
  // The handshake has a time limit, and nothing else runs while the part is copied.
  await push.send("before")
  await pull.receive()

  await sendLarge(push)
  const [received] = await pull.receive()

  expect(received.length).toBe(GIB + 1)
  let at = 0
  for (const piece of pieces()) {
    expectSameBytes(received.subarray(at, at + piece.length), piece)
    at += piece.length
  }
  // Compressed, and therefore in several blocks.
  expect(pull.lz4.stats.received.wireBytes).toBeLessThan(GIB / 2)
})
