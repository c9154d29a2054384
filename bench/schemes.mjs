/** Measures the schemes beside each other on links of a given speed. See `--help`. */
import { benchmark, progress } from "./lib/harness.mjs"
import { readOptions } from "./lib/options.mjs"
import { linkCells } from "./links/cells.mjs"
import { whyNot } from "./links/network.mjs"
import {
  ends,
  FIXED_ZSTD,
  OURS,
  oursInZstd,
  PYOMQ_ZSTD,
  PYOMQ_ZSTD_1,
  TCP,
  ZSTD,
  ZSTD_ON_THREADS,
} from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "schemes",
  `Measures PUSH to PULL over tcp://, lz4+tcp:// and zstd+tcp:// between two network namespaces, over links
of 100 Mbit/s, 1 and 10 Gbit/s and unlimited speed: Lorem ipsum and JSON, with the default options and
with fixed levels of zstd+tcp://; pyomq's zstd+tcp:// for comparison. Needs Linux and root (ip netns, tc
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

const cells = linkCells(seconds, () => CONTESTANTS)

await benchmark({ bench: "schemes", cells, options, versions: socketVersions() })
