/** Memory of a bridge's process. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { expectAtMost } from "../support/measured.js"
import { RawServer, rawZmtpClient } from "../support/raw-ends.js"
import { RunningBridge } from "../support/running-bridge.js"
import { eventually } from "../support/sockets.js"
import { handshake } from "../support/zmtp.js"

const MIB = 2 ** 20
/** More than the bridge may use. */
const BODY_BYTES = 640 * MIB

/** Returns the maximum memory of a bridge's process so far, in MiB. */
function peakMebibytes({ process: { pid } }: RunningBridge): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes) / 1024
}

test.each(["plain", "lz4"])(
  "640 MiB of a command of 2^62 bytes are passed on with little memory, from the %s side",
  async (side) => {
    const server = await RawServer.start()
    const bridge = await RunningBridge.start(
      "tcp://127.0.0.1:0",
      `lz4+tcp://127.0.0.1:${server.port}`,
    )
    const client = await rawZmtpClient(bridge.endpoint)
    const accepted = await server.accept()
    const [sends, gets] = side === "plain" ? [client, accepted] : [accepted, client]
    let arrived = 0
    gets.socket.removeAllListeners("data")
    gets.socket.on("data", ({ length }) => {
      arrived += length
    })
    const command = Uint8Array.of(6, 0x40, 0, 0, 0, 0, 0, 0, 0)
    const start = Buffer.concat([handshake("PUSH"), command])
    gets.socket.write(handshake("PULL"))
    sends.socket.write(start)
    const chunk = Buffer.alloc(MIB)
    for (let i = 0; i < BODY_BYTES / MIB; i++)
      await new Promise((resolve) => sends.socket.write(chunk, resolve))
    await eventually(() => arrived === start.length + BODY_BYTES)
    expect(gets.ended).toBe(false)
    expectAtMost(
      400,
      `a bridge that passes on a command from the ${side} side`,
      peakMebibytes(bridge),
      "MiB",
    )
  },
)
