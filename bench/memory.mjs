/** Measures the memory of connections. See `--help`. */

import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { idle, limits, start } from "./memory/connections.mjs"
import { ON_THREADS, OURS, TCP, ZSTD } from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "memory",
  `Measures the memory of one more connection, on the binding and the connecting side, while it is idle and
while messages flow, over tcp:// of zeromq.js and over lz4+tcp://, when idle also over zstd+tcp:// and with
thread: true; and how much of it belongs to the WebAssembly module. Opens at most 10,000 connections, or as many as the
limit of open files allows. Linux. About eight minutes.`,
)

const IDLE = options.quick ? [1, 100, 1000] : [1, 100, 1000, 4000, 10_000]
const BUSY = 100
const BUSY_BYTES = 16 * 1024
const BUSY_MESSAGES = options.quick ? 5000 : 20_000

/** @typedef {import("./memory/connections.mjs").Memory} Memory */

/** Measures peak memory while messages flow over all connections. @param {string} name */
async function busy(name) {
  const { bound, connecting, connect, both, stop } = await start(name)
  try {
    const before = await both("memory")
    await connect(BUSY)
    const { used } = await usage({ bound, connecting }, () =>
      Promise.all([
        bound.call("drain", { count: BUSY_MESSAGES }),
        connecting.call("pump", {
          file: payloadMessages("json", BUSY_BYTES).path,
          count: BUSY_MESSAGES,
        }),
      ]),
    )
    const each = (/** @type {number} */ peak, /** @type {Memory} */ { rss }) =>
      (peak - rss) / BUSY / 1024
    return [
      { quantity: "bound side", unit: "KiB", value: each(used.bound.memory, before[0]) },
      { quantity: "connecting side", unit: "KiB", value: each(used.connecting.memory, before[1]) },
    ]
  } finally {
    stop()
  }
}

const cells = [
  ...[...new Set(IDLE.map((count) => Math.min(count, limits.connections)))].map((count) => ({
    name: `idle, ${count}`,
    parameters: { connections: count },
    contestants: [TCP, OURS, ZSTD, ON_THREADS],
    prepare: (/** @type {string} */ name) => ({ run: () => idle(name, count) }),
  })),
  {
    name: `busy, ${BUSY}`,
    parameters: { connections: BUSY, size: BUSY_BYTES, messages: BUSY_MESSAGES },
    contestants: [TCP, OURS],
    prepare: (/** @type {string} */ name) => ({ run: () => busy(name) }),
  },
]

if (limits.connections < Math.max(...IDLE))
  progress(
    `${limits.connections} connections at most: a process may open ${limits.files} files, and prlimit cannot raise this`,
  )
await benchmark({ bench: "memory", cells, options, versions: socketVersions() })
