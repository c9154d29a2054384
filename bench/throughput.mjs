/** Measures messages per second from one process to another. See `--help`. */
import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import {
  ends,
  IPC,
  LEAST_COMPRESSED,
  NOTHING_COMPRESSED,
  OMQ_TOKIO,
  ON_THREADS,
  OURS,
  PYOMQ,
  PYOMQ_TCP,
  TCP,
} from "./peers/ends.mjs"
import { pushPull } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"

/** @typedef {import("./peers/peers.mjs").End} End */

const options = readOptions(
  "throughput",
  `Measures PUSH to PULL between two processes on this machine: Lorem ipsum with UUIDs, JSON and random
bytes over tcp:// and ipc:// of zeromq.js, over lz4+tcp:// with default options and without compression,
and over pyomq and omq-tokio. Prints messages per second, bytes on the wire, CPU time and memory of both
sides. Linux. About eight minutes.`,
)
const seconds = options.quick ? 0.05 : 0.4

const KIB = 1024
const FEW = [KIB, 16 * KIB, 128 * KIB]
const SIZES = options.quick
  ? { lorem: FEW, json: [16 * KIB], random: [16 * KIB] }
  : {
      lorem: [8, 64, 256, KIB, 4 * KIB, 16 * KIB, 128 * KIB, 1024 * KIB],
      // The content of smaller messages matters little.
      json: [256, KIB, 16 * KIB, 128 * KIB, 1024 * KIB],
      random: [256, KIB, 16 * KIB, 128 * KIB, 1024 * KIB, 16 * 1024 * KIB],
    }

/** Sender and receiver. @type {Record<string, [End, End]>} */
const pairs = {
  ...Object.fromEntries(
    [TCP, IPC, OURS, ON_THREADS, NOTHING_COMPRESSED, PYOMQ_TCP, PYOMQ, OMQ_TOKIO].map((name) => [
      name,
      [ends[name], ends[name]],
    ]),
  ),
  [`omq-tokio → ${OURS}`]: [ends[OMQ_TOKIO], ends[OURS]],
  [`${OURS} → omq-tokio`]: [ends[OURS], ends[OMQ_TOKIO]],
}

/** @param {number} size */
const contestants = (size) =>
  Object.keys(pairs).filter((name) => name !== NOTHING_COMPRESSED || size >= LEAST_COMPRESSED)

const kinds = /** @type {const} */ (["lorem", "json", "random"])
const cells = kinds.flatMap((payload) =>
  SIZES[payload].map((size) => ({
    name: `${payload} ${sizeName(size)}`,
    parameters: { payload, size, seconds },
    contestants: contestants(size),
    prepare: (/** @type {string} */ name) => {
      const [sender, receiver] = pairs[name]
      return pushPull({ sender, receiver, messages: payloadMessages(payload, size), seconds })
    },
  })),
)

await benchmark({ bench: "throughput", cells, options, versions: socketVersions() })
