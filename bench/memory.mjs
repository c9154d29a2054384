/** Measures the memory of connections. See `--help`. */

import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { openFiles } from "./lib/open-files.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { ends, ON_THREADS, OURS, TCP } from "./peers/ends.mjs"
import { startSocket } from "./peers/peers.mjs"
import { freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "memory",
  `Measures the memory of one more connection, on the binding and the connecting side, while it is idle and
while messages flow, over tcp:// of zeromq.js and over lz4+tcp://, when idle also with thread: true; and
how much of it belongs to the WebAssembly module. Opens at most 10,000 connections, or as many as the
limit of open files allows. Linux. About eight minutes.`,
)

const IDLE = options.quick ? [1, 100, 1000] : [1, 100, 1000, 4000, 10_000]
const BUSY = 100
const BUSY_BYTES = 16 * 1024
const BUSY_MESSAGES = options.quick ? 5000 : 20_000
/** Connections before the first measurement; none if only one connection is measured. */
const BEFORE = 200
/** Connections opened at the same time, limited by the listener's queue. */
const AT_ONCE = 500
/** Open files of a process besides its connections, which need one each. */
const OTHER_FILES = 1000

/** @typedef {import("./peers/peers.mjs").Peer} Peer */

const wanted = Math.max(...IDLE) + BEFORE + OTHER_FILES

/** Keeps garbage small in the results of memory(). */
const lean = ["env", "NODE_OPTIONS=--max-semi-space-size=1"]

const { files, within: raised } = openFiles(wanted)
const within = [...raised, ...lean]
const most = Math.floor((files - OTHER_FILES - BEFORE) / 1000) * 1000

/** Starts two processes, one bound, the other not yet connected. @param {string} name */
async function start(name) {
  const end = ends[name]
  const bind = freeEndpoint(end.scheme, LOOPBACK.address)
  const role = { countHandshakes: true }
  const bound = await startSocket(end, { ...role, type: "PULL", bind }, within)
  const connecting = await startSocket(end, { ...role, type: "PUSH" }, within)
  let connections = 0
  return {
    bound,
    connecting,
    /** @param {number} count */
    async connect(count) {
      for (let left = count; left > 0; left -= AT_ONCE) {
        const some = Math.min(left, AT_ONCE)
        await connecting.call("connectAgain", { endpoint: bound.endpoint, count: some })
        connections += some
        await both("shaken", { count: connections })
      }
    },
    both,
    stop() {
      bound.stop()
      connecting.stop()
    },
  }

  /** @param {string} command @param {object} [details] @returns {Promise<[any, any]>} */
  function both(command, details) {
    return Promise.all([bound.call(command, details), connecting.call(command, details)])
  }
}

/** @typedef {{ rss: number, heap: number, wasm: number }} Memory */

/**
 * Measures in new processes each time, because memory is not returned to the system.
 * @param {string} name @param {number} count
 */
async function idle(name, count) {
  const { connect, both, stop } = await start(name)
  try {
    if (count > 1) await connect(BEFORE)
    await both("fillWasm")
    const before = await both("memory")
    await connect(count)
    const after = await both("memory")
    const each = (/** @type {0 | 1} */ side, /** @type {keyof Memory} */ what) =>
      (after[side][what] - before[side][what]) / count
    return [
      { quantity: "bound side", unit: "KiB", value: each(0, "rss") / 1024 },
      { quantity: "connecting side", unit: "KiB", value: each(1, "rss") / 1024 },
      // For one connection this is noise.
      ...(count > 1
        ? [
            { quantity: "heap, bound side", unit: "KiB", value: each(0, "heap") / 1024 },
            { quantity: "heap, connecting side", unit: "KiB", value: each(1, "heap") / 1024 },
          ]
        : []),
      // The module grows in pages, which a few connections do not fill.
      ...(name === OURS && count >= 1000
        ? [
            { quantity: "wasm, bound side", unit: "B", value: each(0, "wasm") },
            { quantity: "wasm, connecting side", unit: "B", value: each(1, "wasm") },
          ]
        : []),
    ]
  } finally {
    stop()
  }
}

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
  ...[...new Set(IDLE.map((count) => Math.min(count, most)))].map((count) => ({
    name: `idle, ${count}`,
    parameters: { connections: count },
    contestants: [TCP, OURS, ON_THREADS],
    prepare: (/** @type {string} */ name) => ({ run: () => idle(name, count) }),
  })),
  {
    name: `busy, ${BUSY}`,
    parameters: { connections: BUSY, size: BUSY_BYTES, messages: BUSY_MESSAGES },
    contestants: [TCP, OURS],
    prepare: (/** @type {string} */ name) => ({ run: () => busy(name) }),
  },
]

if (most < Math.max(...IDLE))
  progress(
    `${most} connections at most: a process may open ${files} files, and prlimit cannot raise this`,
  )
await benchmark({ bench: "memory", cells, options, versions: socketVersions() })
