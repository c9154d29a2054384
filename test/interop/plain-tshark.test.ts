/** tshark finds nothing wrong with the connections that `zeromq-lz4 plain` writes. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { decodeCapture } from "zeromq-lz4/capture"

import { createRandom } from "../../bench/random.mjs"
import { conversation, type Said } from "../support/capture-files.js"
import { captureOf } from "../support/captures.js"
import { runCommand } from "../support/command.js"
import { temporaryDirectory } from "../support/packed.js"
import { concat, SENTINELS } from "../support/wire.js"
import { handshake, message } from "../support/zmtp.js"
import { follow, packetFields } from "./tshark.js"

const noise = createRandom("noise")

/** Returns connections over both versions of IP, with messages around the sizes of segments. */
function generated(): Uint8Array {
  const sizes = [0, 1, 255, 256, 65_150, 65_151, 65_152, 200_001, 1 << 20]
  const sent = sizes.map((size) => message(concat(SENTINELS.plain, noise.bytes(size))))
  const said: Said = [
    ["client", handshake("PAIR", 2)],
    ["server", handshake("PAIR", 2)],
    ...sent.map((bytes) => ["client", bytes] as const),
    ...sent.map((bytes, i) => [i % 2 ? "client" : "server", bytes] as const),
  ]
  const ip6 = { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }
  return captureOf([
    ...conversation(said, { closed: "FIN" }),
    ...conversation(said, { ...ip6, closed: "RST" }),
  ])
}

const recorded = (name: string): Uint8Array =>
  gunzipSync(readFileSync(fileURLToPath(new URL(`../recorded/${name}`, import.meta.url))))

test.each([
  ["a generated capture, as .pcap", generated, "plain.pcap"],
  ["a generated capture, as .pcapng", generated, "plain.pcapng"],
  ["recorded connections", () => recorded("omq-lz4-0.3.4.pcap.gz"), "plain.pcapng"],
  ["connections in a tunnel", () => recorded("vxlan-ipv6.pcap.gz"), "plain.pcapng"],
])("%s", async (_, capture, name) => {
  using directory = temporaryDirectory()
  const input = capture()
  writeFileSync(join(directory.path, "input.pcap"), input)
  const args = ["plain", "-o", name, "input.pcap"]
  expect(await runCommand(directory.path, args)).toMatchObject({ status: 0, stdout: "" })
  const output = readFileSync(join(directory.path, name))

  const options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
  const fields = ["tcp.analysis.flags", "tcp.checksum.status", "ip.checksum.status"]
  const seen = packetFields(output, fields, options).map((values) => values.join(" ").trimEnd())
  // No retransmission, lost segment or full window, and good checksums. That of IP is only in IPv4.
  expect(seen.filter((values) => values !== " 1 1" && values !== " 1")).toEqual([])

  const { connections } = decodeCapture(input)
  const streams = follow(output, connections.length)
  for (const [i, { client, messages }] of connections.entries()) {
    const { fromClient, fromServer } = streams[i]!
    expect(streams[i]?.client).toBe(client)
    for (const [side, bytes] of [
      ["client", fromClient],
      ["server", fromServer],
    ] as const) {
      const frames = messages
        .filter(({ from, parts }) => from === side && parts[0]?.kind !== "LZ4D")
        .map(({ parts }) => message(...parts.map(({ plain }) => plain as Uint8Array)))
      const end = Buffer.from(bytes.subarray(-concat(...frames).length))
      if (frames.length > 0) expect(end.equals(concat(...frames))).toBe(true)
    }
  }
})
