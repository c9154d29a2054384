/** Measures fan-out and fan-in: PUB to SUBs, PUSHes to a PULL. See `--help`. */
import { Codec } from "zeromq-lz4/codec"

import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages, payloads } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
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
import { PROBE_BYTES, reachAll, UNLIMITED } from "./peers/fan-out.mjs"
import { startSocket } from "./peers/peers.mjs"
import { countFor, freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { COMPRESSING_ONCE, HUB_CPU, SPOKES_CPU } from "./reports/fan.mjs"

const options = readOptions(
  "fan",
  `Measures one socket in one process, the hub, and 1 to 512 in another: PUB to SUBs, and PUSHes to a PULL,
with JSON over tcp:// of zeromq.js and over lz4+tcp://; also with pyomq and omq-tokio as the hub. Prints
messages per second and the CPU time of both processes. Linux. About five minutes.`,
)
const seconds = options.quick ? 0.05 : 0.4

const SPOKES = options.quick ? [64, 512] : [1, 8, 64, 512]
const SIZES = [64, 16 * 1024]
/** Number of messages for all spokes in the first, short run. */
const FIRST_MESSAGES = 2000

/** @typedef {import("./peers/peers.mjs").End} End */
/** @typedef {import("./peers/peers.mjs").Peer} Peer */
/** @typedef {{ hub: Peer, spokes: Peer }} Wheel */

/** The module of the hub and that of the spokes, which always run in Node. @type {Record<string, [hub: End, spokes: End]>} */
const wheels = {
  [TCP]: [ends[TCP], ends[TCP]],
  [OURS]: [ends[OURS], ends[OURS]],
  [ON_THREADS]: [ends[ON_THREADS], ends[ON_THREADS]],
  [PYOMQ]: [ends[PYOMQ], ends[OURS]],
  [OMQ_TOKIO]: [ends[OMQ_TOKIO], ends[OURS]],
  [NOTHING_COMPRESSED]: [ends[NOTHING_COMPRESSED], ends[OURS]],
}

/**
 * @typedef {object} Shape
 * @property {string} hub
 * @property {string} spoke
 * @property {object} options  of the spokes
 * @property {(wheel: Wheel) => Promise<void>} open  resolves when all spokes are connected
 * @property {(wheel: Wheel, file: string, each: number, spokes: number) => Promise<[{ seconds: number }, unknown]>} exchange
 *   `each` messages for each spoke
 */

/** @type {Record<string, Shape>} */
const SHAPES = {
  "PUB → SUB": {
    hub: "PUB",
    spoke: "SUB",
    options: { receiveHighWaterMark: 0 },
    open: reachAll,
    exchange: ({ hub, spokes }, file, each) =>
      Promise.all([
        spokes.call("drain", { count: each, probeBytes: PROBE_BYTES }),
        hub.call("pump", { file, count: each }),
      ]),
  },
  "PUSH → PULL": {
    hub: "PULL",
    spoke: "PUSH",
    options: {},
    open: async () => {},
    exchange: ({ hub, spokes }, file, each, count) =>
      Promise.all([
        hub.call("drain", { count: each * count }),
        spokes.call("pump", { file, count: each }),
      ]),
  },
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

/**
 * @param {Shape} shape @param {number} count  spokes
 * @param {number} size @param {string} name
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function wheelOf(shape, count, size, name) {
  const [hubEnd, spokeEnd] = wheels[name]
  const bind = freeEndpoint(hubEnd.scheme, LOOPBACK.address)
  const hubOptions = shape.hub === "PUB" ? UNLIMITED[hubEnd.module] : {}
  const hub = await startSocket(hubEnd, { type: shape.hub, bind, options: hubOptions })
  const spokes = await startSocket(spokeEnd, {
    type: shape.spoke,
    connect: hub.endpoint,
    options: shape.options,
    copies: count,
  })
  const wheel = { hub, spokes }
  await shape.open(wheel)

  const file = payloadMessages("json", size).path
  const exchange = async (/** @type {number} */ each) =>
    (await shape.exchange(wheel, file, each, count))[0]
  const each = await countFor(exchange, Math.ceil(FIRST_MESSAGES / count), seconds)
  // Each message of a publisher goes to all spokes.
  const atHub = shape.hub === "PUB" ? each : each * count
  return {
    async run() {
      const { result, used } = await usage(wheel, () => exchange(each))
      return [
        { quantity: "messages", unit: "msg/s", value: (each * count - 1) / result.seconds },
        { quantity: HUB_CPU, unit: "µs", value: (used.hub.cpu / atHub) * 1e6 },
        { quantity: SPOKES_CPU, unit: "µs", value: (used.spokes.cpu / (each * count)) * 1e6 },
      ]
    },
    stop() {
      hub.stop()
      spokes.stop()
    },
  }
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
        name === COMPRESSING_ONCE ? compressingOnce(size) : wheelOf(how, count, size, name),
    })),
  ),
)

await benchmark({ bench: "fan", cells, options, versions: socketVersions() })
