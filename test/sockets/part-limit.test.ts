/** Parts that are too large for a Buffer, with sockets without maxMessageSize. */
import { constants } from "node:buffer"
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { rawZmtpPeer } from "../support/raw-peer.js"
import { use } from "../support/sockets.js"
import { ANY, plain, text, threaded } from "../support/threads.js"
import { concat, SENTINELS } from "../support/wire.js"
import { COMMAND, frameHead, MORE } from "../support/zmtp.js"

const TOO_LONG = BigInt(constants.MAX_LENGTH) + 1n

/** Returns the head of an LZ4M part with this plain size. */
const multi = (plainBytes: bigint): Uint8Array => {
  const size = new Uint8Array(8)
  new DataView(size.buffer).setBigUint64(0, plainBytes, true)
  return concat(SENTINELS.LZ4M, size)
}

describe.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("a part that is too large for a Buffer is refused at its header, %s", (_, options) => {
  test.each<[what: string, code: string, head: Uint8Array]>([
    ["a frame of 2^62 bytes", "ERR_LZ4_BUDGET_EXCEEDED", frameHead(2n ** 62n)],
    [
      "a frame of 2^62 bytes, of a longer message",
      "ERR_LZ4_BUDGET_EXCEEDED",
      frameHead(2n ** 62n, MORE),
    ],
    [
      "a plain part of a byte too many",
      "ERR_LZ4_BUDGET_EXCEEDED",
      concat(frameHead(4n + TOO_LONG), SENTINELS.plain),
    ],
    [
      "LZ4M of a byte too many",
      "ERR_LZ4_BUDGET_EXCEEDED",
      concat(frameHead(12n + TOO_LONG / 255n + 100n), multi(TOO_LONG)),
    ],
    ["a command of 2^62 bytes", "ERR_ZMTP_COMMAND", frameHead(2n ** 62n, COMMAND)],
  ])("%s", async (_, code, head) => {
    const pull = use(new Pull())
    await pull.bind(ANY, options)
    const reported = once(pull.lz4, "protocolError")
    const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", head)
    const [{ error }] = await reported
    expect(error.code).toBe(code)
    if (code === "ERR_LZ4_BUDGET_EXCEEDED")
      expect(error.message).toMatch(`bytes; a Buffer has at most ${constants.MAX_LENGTH}`)
    await peer.closed
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, options)
    await push.send("of a good peer")
    expect(await text(pull)).toBe("of a good peer")
  })
})
