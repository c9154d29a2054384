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

const LIMITS: [what: string, head: Uint8Array][] = [
  ["a frame of 2^62 bytes", frameHead(2n ** 62n)],
  ["a frame of 2^63 - 1 bytes", frameHead(2n ** 63n - 1n)],
  ["a frame of 2^62 bytes, of a longer message", frameHead(2n ** 62n, MORE)],
  ["a plain part of a byte too many", concat(frameHead(4n + TOO_LONG), SENTINELS.plain)],
  ["LZ4M of a byte too many", concat(frameHead(12n + TOO_LONG / 255n + 100n), multi(TOO_LONG))],
]

const VIOLATIONS: [what: string, code: string, stream: Uint8Array][] = [
  ["a command of 2^62 bytes", "ERR_ZMTP_COMMAND", frameHead(2n ** 62n, COMMAND)],
  [
    "LZ4M of 2^64 - 1 bytes in one of 16",
    "ERR_LZ4_IMPLAUSIBLE_SIZE",
    concat(frameHead(28), multi(2n ** 64n - 1n), new Uint8Array(16)),
  ],
  [
    "LZ4M of 2^64 - 1 bytes, in a part of 2^31 bytes",
    "ERR_LZ4_IMPLAUSIBLE_SIZE",
    concat(frameHead(2n ** 31n), multi(2n ** 64n - 1n)),
  ],
]

describe.each([
  ["without a thread", plain],
  ["with a thread", threaded],
])("%s", (_, options) => {
  async function isAlive(pull: Pull): Promise<void> {
    const push = use(new Push())
    push.connect(pull.lastEndpoint as string, options)
    await push.send("of a good peer")
    expect(await text(pull)).toBe("of a good peer")
  }

  test.each(LIMITS)("%s is refused at its header, as a limit of this side", async (_, head) => {
    const pull = use(new Pull())
    await pull.bind(ANY, options)
    pull.lz4.on("protocolError", ({ error }) => expect.fail(error.message))
    const ended = once(pull.lz4, "disconnect")
    const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", head)
    const [{ error }] = await ended
    expect(error.code).toBe("ERR_LZ4_OUT_OF_MEMORY")
    expect(error.message).toMatch(/^out of memory: part 0 needs \d+ bytes;/)
    await peer.closed
    await isAlive(pull)
  })

  test.each(VIOLATIONS)("%s is %s", async (_, code, stream) => {
    const pull = use(new Pull())
    await pull.bind(ANY, options)
    const reported = once(pull.lz4, "protocolError")
    const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH", stream)
    const [{ error }] = await reported
    expect(error.code).toBe(code)
    await peer.closed
    await isAlive(pull)
  })
})
