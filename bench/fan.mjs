/** Measures fan-out and fan-in: PUB to SUBs, PUSHes to a PULL. See `--help`. */
import { Codec } from "zeromq-lz4/codec"

import { SHAPES, wheelOf } from "./fan/wheels.mjs"
import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloads } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import {
  ends,
  LEAST_COMPRESSED,
  NOTHING_COMPRESSED,
  OMQ_TOKIO,
  ON_THREADS,
  OURS,
  PYOMQ,
  TCP,
} from "./peers/ends.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { COMPRESSING_ONCE } from "./reports/fan.mjs"
import { HUB_CPU } from "./reports/quantities.mjs"

const options = readOptions(
  "fan",
  `Measures one socket in one process, the hub, and 1 to 512 in another: PUB to SUBs, and PUSHes to a PULL,
with JSON over tcp:// of zeromq.js and over lz4+tcp://; also with pyomq and omq-tokio as the hub. Prints
messages per second and the CPU time of both processes. Linux. About five minutes.`,
)
const seconds = options.quick ? 0.05 : 0.4

const SPOKES = options.quick ? [64, 512] : [1, 8, 64, 512]
const SIZES = [64, 16 * 1024]
/** @typedef {import("./peers/peers.mjs").End} End */
/** @typedef {import("./fan/wheels.mjs").Shape} Shape */

/** The module of the hub and that of the spokes, which always run in Node. @type {Record<string, [hub: End, spokes: End]>} */
const wheels = {
  [TCP]: [ends[TCP], ends[TCP]],
  [OURS]: [ends[OURS], ends[OURS]],
  [ON_THREADS]: [ends[ON_THREADS], ends[ON_THREADS]],
  [PYOMQ]: [ends[PYOMQ], ends[OURS]],
  [OMQ_TOKIO]: [ends[OMQ_TOKIO], ends[OURS]],
  [NOTHING_COMPRESSED]: [ends[NOTHING_COMPRESSED], ends[OURS]],
}

/** Times a single Codec: the minimum for a publisher. @param {number} size */
function compressingOnce(size) {
  const codec = Codec.createSync()
  const messages = payloads("json", size)
  const run = () => {
    const start = process.cpuUsage()
    let calls = 0
    for (const end = performance.now() + seconds * 1000; performance.now() < end; )
      for (const message of messages) {
        codec.encodePart(message)
        calls++
      }
    const { user, system } = process.cpuUsage(start)
    return [{ quantity: HUB_CPU, unit: "µs", value: (user + system) / calls }]
  }
  run()
  return { run, stop: () => codec.close() }
}

/** @param {Shape} shape @param {number} size */
function contestantsOf({ hub }, size) {
  const names = Object.keys(wheels)
  if (hub !== "PUB") return names.filter((name) => name !== NOTHING_COMPRESSED)
  const publishers = names.filter((name) => name !== PYOMQ)
  return size >= LEAST_COMPRESSED
    ? [...publishers, COMPRESSING_ONCE]
    : publishers.filter((name) => name !== NOTHING_COMPRESSED)
}

const cells = Object.entries(SHAPES).flatMap(([shape, how]) =>
  SIZES.flatMap((size) =>
    SPOKES.map((count) => ({
      name: `${shape} ${sizeName(size)}, ${count}`,
      parameters: { shape, size, spokes: count, seconds },
      contestants: contestantsOf(how, size),
      prepare: (/** @type {string} */ name) =>
        name === COMPRESSING_ONCE
          ? compressingOnce(size)
          : wheelOf(how, wheels[name], { spokes: count, size, seconds }),
    })),
  ),
)

await benchmark({ bench: "fan", cells, options, versions: socketVersions() })
