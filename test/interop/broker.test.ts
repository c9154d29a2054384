/** A Proxy between peers in Rust or Python: what comes compressed is sent on as it came. */
import { expect, test } from "vitest"
import * as zmq from "zeromq-lz4"

import { keptProxy } from "../support/kept-proxy.js"
import { startPeer } from "./joined.js"
import { isOlderPyomq, LARGE_IN_PYOMQ } from "./python.js"
import type { Stream } from "./stream.js"

const SCHEMES = ["lz4+tcp", "zstd+tcp"] as const
const EACH = SCHEMES.flatMap((scheme) =>
  (["omq-tokio", "pyomq"] as const)
    .filter((peer) => scheme === "lz4+tcp" || peer !== "pyomq" || !isOlderPyomq)
    .map((peer) => ({ scheme, peer })),
)

const stream: Stream = { name: "of all sizes", count: 500, large: [2 << 20] }

test.each(EACH)(
  "PUSH and PULL of $peer over $scheme have a broker between them",
  async ({ scheme, peer }) => {
    const [front, back] = [new zmq.Pull(), new zmq.Push()]
    const level = scheme === "lz4+tcp" ? 0 : 1
    await front.bind(`${scheme}://127.0.0.1:0`, { level })
    await back.bind(`${scheme}://127.0.0.1:0`, { level })
    const proxy = keptProxy(new zmq.Proxy(front, back))
    const running = proxy.run()
    const options = peer === "pyomq" ? LARGE_IN_PYOMQ : {}
    await using to = await startPeer[peer]({
      ...{ type: "PULL", connect: back.lastEndpoint as string },
      options: options as never,
    })
    await using from = await startPeer[peer]({
      type: "PUSH",
      connect: front.lastEndpoint as string,
    })
    const [sent, received] = await Promise.all([
      from.do({ do: "send", stream }),
      to.do({ do: "receive", stream }),
    ])
    expect(received).toEqual(sent)
    const [came, went] = [front.lz4.stats.received, back.lz4.stats.sent]
    expect(went.plainBytes).toBe(came.plainBytes)
    expect(came.wireBytes).toBeLessThan(came.plainBytes)
    // Arenas, whose messages are sent apart, are shorter than those.
    expect(went.wireBytes).toBeLessThan(1.05 * came.wireBytes)
    expect([front, back].map(({ lz4 }) => lz4.stats.protocolErrors)).toEqual([0, 0])
    proxy.terminate()
    await running
  },
)
