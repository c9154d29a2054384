/** Measures small questions beside floods, and many clients with a question each. See `--help`. */

import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"

import { sizeName } from "./lib/format.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { ends, ON_THREADS, OURS, TCP } from "./peers/ends.mjs"
import { startPeer } from "./peers/peers.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { FLOOD, HTTP, MEDIAN, PERCENTILE, REP, ROUTER, SERVICE_CPU } from "./reports/quantities.mjs"

const options = readOptions(
  "services",
  `Measures the answers that a service gives under load, over tcp:// of zeromq.js and over lz4+tcp://: to a
REQ that asks one small question at a time while DEALERs send as fast as they can to the same ROUTER, from
another process or from that of the REQ; also the answers of a REP and of node:http in the process of the
ROUTER; and to 64 and 512 REQs with one question each at a time. Prints the time of an answer, the rate of
the flood or of the answers, and the CPU time of the service. Linux. About three minutes.`,
)
const seconds = options.quick ? 0.1 : 0.3

/** Number of answers after which the code of both processes is compiled. */
const WARM_ANSWERS = options.quick ? 2000 : 20_000
/** Time in milliseconds until a flood is at its height. */
const RISE_MS = 200
const SENDERS = [TCP, OURS, ON_THREADS]

/** @typedef {{ floods: number, size: number }} Shape */

/** @type {Record<string, Shape>} */
const SHAPES = {
  "no flood": { floods: 0, size: 64 },
  "4 × 64 KiB": { floods: 4, size: 65_536 },
  "8 × 1 KiB": { floods: 8, size: 1024 },
  "32 × 256 B": { floods: 32, size: 256 },
}

/** Floods from the process that asks. @type {Record<string, Shape>} */
const OUTWARD = {
  "own flood of 64 KiB": { floods: 1, size: 65_536 },
  "own flood of 64 B": { floods: 1, size: 64 },
}

const program = (/** @type {string} */ name, /** @type {object} */ setup) =>
  startPeer(
    [process.execPath, fileURLToPath(new URL(`services/${name}.mjs`, import.meta.url))],
    setup,
  )

/** Starts a process that answers. @param {string} name */
async function startService(name) {
  const { module, scheme, lz4 } = ends[name]
  const service = await program("service", { module, scheme, lz4 })
  const { endpoint, rep, http } = service.ready
  return { service, endpoints: { [ROUTER]: endpoint, [REP]: rep, [HTTP]: http } }
}

/**
 * Starts a process that asks, or floods.
 * @param {string} name @param {Record<string, string>} services @param {{ askers?: number, floods?: number }} sockets
 */
function startClients(name, services, { askers = 0, floods = 0 }) {
  const { module, lz4 } = ends[name]
  return program("clients", { module, lz4, services, askers, floods })
}

/** @param {readonly number[]} times @param {number} share */
const at = (times, share) => times[Math.floor(share * times.length)]

const ascending = (/** @type {number} */ a, /** @type {number} */ b) => a - b

/**
 * @param {Shape} shape @param {readonly string[]} asked  services
 * @param {boolean} isOutward  whether the process that asks is the one that floods
 * @param {string} name
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function besideFlood({ floods, size }, asked, isOutward, name) {
  const { service, endpoints } = await startService(name)
  const flooding = await startClients(name, endpoints, { floods })
  const asking = isOutward ? flooding : await startClients(name, endpoints, {})
  const { path: file } = payloadMessages("json", size)
  for (const who of asked) await asking.call("ask", { service: who, seconds })

  const run = async () => {
    await flooding.call("flood", { file })
    await setTimeout(RISE_MS)
    const before = await service.call("received")
    const results = []
    for (const who of asked) {
      const { times } = await asking.call("ask", { service: who, seconds })
      times.sort(ascending)
      results.push(
        { quantity: `${who}, ${MEDIAN}`, unit: "ms", value: at(times, 0.5) },
        { quantity: `${who}, ${PERCENTILE}`, unit: "ms", value: at(times, 0.99) },
      )
    }
    const after = await service.call("received")
    const { sent } = await flooding.call("endFlood")
    await service.call("settled", { count: sent })
    const rate = ((after.count - before.count) * 1000) / (after.at - before.at)
    if (floods > 0) results.push({ quantity: FLOOD, unit: "msg/s", value: rate })
    return results
  }
  await run()
  return {
    run,
    stop() {
      service.stop()
      flooding.stop()
      asking.stop()
    },
  }
}

/**
 * @param {number} askers @param {number} size @param {string} name
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function manyClients(askers, size, name) {
  const { service, endpoints } = await startService(name)
  const clients = await startClients(name, { [ROUTER]: endpoints[ROUTER] }, { askers })
  const { path: file } = payloadMessages("json", size)
  const ask = () => clients.call("askTogether", { file, seconds })
  for (let answers = 0; answers < WARM_ANSWERS; ) answers += (await ask()).times.length
  return {
    async run() {
      const { result, used } = await usage({ service }, ask)
      const times = result.times.sort(ascending)
      return [
        { quantity: "answers", unit: "msg/s", value: times.length / result.seconds },
        { quantity: MEDIAN, unit: "ms", value: at(times, 0.5) },
        { quantity: PERCENTILE, unit: "ms", value: at(times, 0.99) },
        { quantity: SERVICE_CPU, unit: "µs", value: (used.service.cpu / times.length) * 1e6 },
      ]
    },
    stop() {
      service.stop()
      clients.stop()
    },
  }
}

/** @param {Record<string, Shape>} shapes @param {readonly string[]} asked @param {boolean} isOutward */
const floodCells = (shapes, asked, isOutward) =>
  Object.entries(shapes).map(([name, shape]) => ({
    name,
    parameters: { ...shape, seconds },
    contestants: SENDERS,
    prepare: (/** @type {string} */ who) => besideFlood(shape, asked, isOutward, who),
  }))

const cells = [
  ...floodCells(SHAPES, [ROUTER, REP, HTTP], false),
  ...floodCells(OUTWARD, [ROUTER, REP], true),
  ...[64, 512].flatMap((askers) =>
    [64, 4096].map((size) => ({
      name: `${askers} clients, ${sizeName(size)}`,
      parameters: { askers, size, seconds },
      contestants: SENDERS,
      prepare: (/** @type {string} */ who) => manyClients(askers, size, who),
    })),
  ),
]

await benchmark({ bench: "services", cells, options, versions: socketVersions() })
