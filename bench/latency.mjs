/** Round trips of REQ and REP. `--help` says more. */
import { fileURLToPath } from "node:url"

import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { ends, IPC, ON_THREADS, OURS, TCP } from "./peers/ends.mjs"
import { startPeer, startSocket } from "./peers/peers.mjs"
import { freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { INPROC, RAW_TCP } from "./reports/latency.mjs"

const options = readOptions(
  "latency",
  `Round trips from REQ to REP and back, one after another, over tcp:// and ipc:// of zeromq.js and
over lz4+tcp://, between two processes on this machine; over inproc://, in one process; and of
bytes between two plain TCP sockets of Node, which is the floor. About four minutes.`,
)
const seconds = options.quick ? 0.2 : 1.5
const SIZES = [10, 64, 1024, 16 * 1024, 64 * 1024]
const FIRST_COUNT = 500

/** @typedef {import("./peers/peers.mjs").Peer} Peer */
/** @typedef {{ asks: Peer, answers?: Peer }} Pair  without the second, the first does both */

/** Two processes with a socket each. @param {import("./peers/peers.mjs").End} end @returns {Promise<Pair>} */
async function sockets(end) {
  const bind = freeEndpoint(end.scheme, LOOPBACK.address)
  const answers = await startSocket(end, { type: "REP", bind })
  const asks = await startSocket(end, { type: "REQ", connect: answers.endpoint })
  return { asks, answers }
}

/** One of our own programs. @param {string} name @param {object} setup */
const start = (name, setup) =>
  startPeer(
    [process.execPath, fileURLToPath(new URL(`latency/${name}.mjs`, import.meta.url))],
    setup,
  )

/** @type {Record<string, () => Promise<Pair>>} */
const pairs = {
  [RAW_TCP]: async () => {
    const answers = await start("raw-tcp", {})
    return { asks: await start("raw-tcp", { connect: answers.endpoint }), answers }
  },
  [INPROC]: async () => ({ asks: await start("inproc", {}) }),
  ...Object.fromEntries(
    [IPC, TCP, OURS, ON_THREADS].map((name) => [name, () => sockets(ends[name])]),
  ),
}

/** @param {Pair} pair @param {string} file @param {number} count @returns {Promise<number[]>} sorted */
async function roundTrips({ asks, answers }, file, count) {
  const [{ times }] = await Promise.all([
    asks.call("ask", { file, count }),
    answers?.call("answer", { count }),
  ])
  return times.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b)
}

const cells = SIZES.map((size) => ({
  name: sizeName(size),
  parameters: { size, seconds },
  contestants: Object.keys(pairs),
  async prepare(/** @type {string} */ name) {
    const pair = await pairs[name]()
    const file = payloadMessages("lorem", size).path
    await roundTrips(pair, file, FIRST_COUNT)
    const middle = (await roundTrips(pair, file, FIRST_COUNT))[FIRST_COUNT >> 1]
    const count = Math.ceil((seconds * 1e6) / middle)
    return {
      async run() {
        const times = await roundTrips(pair, file, count)
        const at = (/** @type {number} */ share) => times[Math.floor(share * times.length)]
        return [
          { quantity: "median", unit: "µs", value: at(0.5) },
          { quantity: "99th percentile", unit: "µs", value: at(0.99) },
          { quantity: "99.9th percentile", unit: "µs", value: at(0.999) },
        ]
      },
      stop() {
        pair.asks.stop()
        pair.answers?.stop()
      },
    }
  },
}))

await benchmark({ bench: "latency", cells, options, versions: socketVersions() })
