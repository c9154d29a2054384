/** Measures the schemes beside each other on links of a given speed. See `--help`. */
import { medianRoundTrip, socketPair } from "./latency/pairs.mjs"
import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { linkCells } from "./links/cells.mjs"
import { whyNot } from "./links/network.mjs"
import { idle } from "./memory/connections.mjs"
import {
  ends,
  FIXED_ZSTD,
  OURS,
  ours,
  oursInZstd,
  PYOMQ_ZSTD,
  PYOMQ_ZSTD_1,
  TCP,
  ZSTD,
  ZSTD_ON_THREADS,
} from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { ONE_AT_A_TIME, QUIET } from "./reports/schemes.mjs"

const options = readOptions(
  "schemes",
  `Measures PUSH to PULL over tcp://, lz4+tcp:// and zstd+tcp:// between two network namespaces, over links
of 100 Mbit/s, 1 and 10 Gbit/s and unlimited speed: Lorem ipsum and JSON, with the default options and
with fixed levels of zstd+tcp://; pyomq's zstd+tcp:// for comparison. Then round trips of 1 KiB that
are compressed, on this machine, and the memory of an idle connection. Needs Linux and root (ip netns, tc
tbf); skipped if namespaces cannot be created. About 40 minutes; six minutes with --quick.`,
)
/** The adaptive default needs longer than --quick allows, whose results for it are lower bounds. */
const seconds = options.quick ? 0.5 : 2

/** The contestants, with the same options at both ends. @type {Record<string, import("./peers/peers.mjs").End>} */
const CONTESTANTS = {
  ...Object.fromEntries(
    [TCP, OURS, ZSTD, ZSTD_ON_THREADS, PYOMQ_ZSTD, PYOMQ_ZSTD_1].map((name) => [name, ends[name]]),
  ),
  ...Object.fromEntries(
    Object.entries(FIXED_ZSTD).map(([name, given]) => [name, oursInZstd(given)]),
  ),
}

const reason = whyNot()
if (reason) {
  progress(`bench:schemes is skipped: ${reason}`)
  process.exit()
}

/** Levels that the default has on a network that is slow enough. @type {Record<string, import("./peers/peers.mjs").End>} */
const COMPRESSING = {
  [TCP]: ends[TCP],
  [OURS]: ours({ level: 0 }),
  [ZSTD]: oursInZstd({ level: 1 }),
}
const EVENT_BYTES = 1024
const CONNECTIONS = 1000

/** @type {import("./lib/harness.mjs").Cell[]} */
const cells = [
  ...linkCells(seconds, () => CONTESTANTS),
  {
    name: ONE_AT_A_TIME,
    parameters: { payload: "json", size: EVENT_BYTES, seconds },
    contestants: Object.keys(COMPRESSING),
    prepare: async (name) =>
      medianRoundTrip(
        await socketPair(COMPRESSING[name]),
        seconds,
        payloadMessages("json", EVENT_BYTES),
      ),
  },
  {
    name: QUIET,
    parameters: { connections: CONNECTIONS },
    contestants: [TCP, OURS, ZSTD],
    prepare: (name) => ({ run: () => idle(name, CONNECTIONS) }),
  },
]

await benchmark({ bench: "schemes", cells, options, versions: socketVersions() })
