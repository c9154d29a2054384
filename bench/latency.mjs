/** Measures round trips of REQ and REP. See `--help`. */
import { inprocPair, rawTcpPair, roundTrips, socketPair } from "./latency/pairs.mjs"
import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { ends, IPC, ON_THREADS, OURS, TCP } from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { INPROC, RAW_TCP } from "./reports/latency.mjs"
import { MEDIAN, PERCENTILE } from "./reports/quantities.mjs"

const options = readOptions(
  "latency",
  `Measures consecutive round trips from REQ to REP and back, over tcp:// and ipc:// of zeromq.js and over
lz4+tcp://, between two processes on this machine; over inproc:// in one process; and between two
plain TCP sockets of Node, as a lower bound. About four minutes.`,
)
const seconds = options.quick ? 0.2 : 1.5
const SIZES = [10, 64, 1024, 16 * 1024, 64 * 1024]
const FIRST_COUNT = 500

/** @type {Record<string, () => Promise<import("./latency/pairs.mjs").Pair>>} */
const pairs = {
  [RAW_TCP]: rawTcpPair,
  [INPROC]: inprocPair,
  ...Object.fromEntries(
    [IPC, TCP, OURS, ON_THREADS].map((name) => [name, () => socketPair(ends[name])]),
  ),
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
          { quantity: MEDIAN, unit: "µs", value: at(0.5) },
          { quantity: PERCENTILE, unit: "µs", value: at(0.99) },
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
