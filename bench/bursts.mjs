/** Measures programs that send a few messages at a time, or wait for each reply. See `--help`. */

import { medianRoundTrip, rawTcpPair, socketPair } from "./latency/pairs.mjs"
import { benchmark } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { ends, ON_THREADS, OURS, TCP } from "./peers/ends.mjs"
import { PROBE_BYTES, reachAll, UNLIMITED } from "./peers/fan-out.mjs"
import { startSocket } from "./peers/peers.mjs"
import { countFor, freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { RAW_TCP } from "./reports/latency.mjs"
import { ROUND_TRIP, SENDER_CPU } from "./reports/quantities.mjs"

const options = readOptions(
  "bursts",
  `Measures programs that send one message or 20 in each turn of their event loop: PUSH to a PULL, and
PUB to 64 and 512 SUBs in another process, over tcp:// of zeromq.js and over lz4+tcp://; also a PUB that
sends JSON of 16 KiB as fast as possible, and round trips from REQ to REP. Prints deliveries per second
and the sender's CPU time per message. Linux. About six minutes.`,
)
const seconds = options.quick ? 0.1 : 0.5
const FIRST_MESSAGES = 20_000
const FIRST_MIN = 1000

const SENDERS = [TCP, OURS, ON_THREADS]

/** @typedef {{ type: "PUSH" | "PUB", receivers: number, size: number, burst: number }} Shape  burst: 0 is no end */

/** @type {Record<string, Shape>} */
const SHAPES = {
  "one a turn, PUSH to 1": { type: "PUSH", receivers: 1, size: 64, burst: 1 },
  "one a turn, PUB to 64": { type: "PUB", receivers: 64, size: 64, burst: 1 },
  "one a turn, PUB to 512": { type: "PUB", receivers: 512, size: 64, burst: 1 },
  "20 a turn, PUB to 64": { type: "PUB", receivers: 64, size: 64, burst: 20 },
  "20 a turn, PUB to 512": { type: "PUB", receivers: 512, size: 64, burst: 20 },
  "16 KiB as fast as it goes, PUB to 64": { type: "PUB", receivers: 64, size: 16_384, burst: 0 },
}

/**
 * @param {Shape} shape @param {string} name
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function senderOf({ type, receivers, size, burst }, name) {
  const end = ends[name]
  const isPub = type === "PUB"
  const hub = await startSocket(end, {
    type,
    bind: freeEndpoint(end.scheme, LOOPBACK.address),
    options: isPub ? UNLIMITED[end.module] : {},
  })
  const spokes = await startSocket(end, {
    type: isPub ? "SUB" : "PULL",
    connect: hub.endpoint,
    options: isPub ? { receiveHighWaterMark: 0 } : {},
    copies: receivers,
  })
  if (isPub) await reachAll({ hub, spokes })
  const file = payloadMessages("json", size).path
  const exchange = async (/** @type {number} */ count) => {
    const [received] = await Promise.all([
      spokes.call("drain", { count, ...(isPub && { probeBytes: PROBE_BYTES }) }),
      hub.call("pump", { file, count, burst }),
    ])
    return /** @type {{ seconds: number }} */ (received)
  }
  const count = await countFor(
    exchange,
    Math.max(FIRST_MIN, Math.ceil(FIRST_MESSAGES / receivers)),
    seconds,
  )
  return {
    async run() {
      const { result, used } = await usage({ hub, spokes }, () => exchange(count))
      const deliveries = (count * receivers - 1) / result.seconds
      return [
        { quantity: "messages", unit: "msg/s", value: deliveries },
        { quantity: SENDER_CPU, unit: "µs", value: (used.hub.cpu / count) * 1e6 },
      ]
    },
    stop() {
      hub.stop()
      spokes.stop()
    },
  }
}

const asking = async (/** @type {string} */ name) =>
  medianRoundTrip(name === RAW_TCP ? await rawTcpPair() : await socketPair(ends[name]), seconds)

const cells = [
  ...Object.entries(SHAPES).map(([name, shape]) => ({
    name,
    parameters: { ...shape, seconds },
    contestants: SENDERS,
    prepare: (/** @type {string} */ who) => senderOf(shape, who),
  })),
  {
    name: ROUND_TRIP,
    parameters: { size: 64, seconds },
    contestants: [RAW_TCP, ...SENDERS],
    prepare: asking,
  },
]

await benchmark({ bench: "bursts", cells, options, versions: socketVersions() })
