/** Measures the event loop's delay with a worker thread, and the gain from a second thread. See `--help`. */
import { fileURLToPath } from "node:url"
import { Codec } from "zeromq-lz4/codec"

import { benchmark } from "./lib/harness.mjs"
import { payloadMessages, payloads } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { ends, ON_THREADS, ONE_THREAD, OURS, ours, TWO_THREADS } from "./peers/ends.mjs"
import { startPeer, startSocket } from "./peers/peers.mjs"
import { countFor, freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { LONGEST_DELAY, PERCENTILE } from "./reports/quantities.mjs"

const options = readOptions(
  "threads",
  `Measures the delay of the event loop while a PUSH sends large messages at level 9, half as many as a core
can compress, on the calling thread and with thread: true; and the rate of a PUSH with two peers, with one
thread and with two. About two minutes.`,
)
const seconds = options.quick ? 0.5 : 3

const LEVEL = 9
/** Share of the messages that one core can compress. */
const SHARE = 0.5
/** Minimum duration of the measurement in milliseconds. */
const LEAST_MS = 200
const PEERS = 2
const SMALL_BYTES = 16 * 1024
const FIRST_COUNT = 200

/** @typedef {import("./peers/peers.mjs").End} End */
/** @typedef {import("./lib/harness.mjs").Contestant} Contestant */
/** @typedef {{ name: string, payload: import("./payloads.mjs").PayloadKind, size: number }} Stream */

/** @type {readonly Stream[]} */
const STREAMS = [
  { name: "JSON 1 MiB", payload: "json", size: 2 ** 20 },
  { name: "lorem 128 KiB", payload: "lorem", size: 128 * 1024 },
]

/** @type {Record<string, End>} */
const senders = {
  [OURS]: ours({ level: LEVEL }),
  [ON_THREADS]: ours({ level: LEVEL, thread: true }),
}

/** Contestants that send to two peers. @type {Record<string, { end: End, ioThreads?: number }>} */
const sendersToTwo = {
  [OURS]: { end: senders[OURS] },
  [ONE_THREAD]: { end: senders[ON_THREADS], ioThreads: 1 },
  [TWO_THREADS]: { end: senders[ON_THREADS], ioThreads: 2 },
}

/** Measures how many messages a Codec compresses per second. @param {readonly Uint8Array[]} messages */
function compressedPerSecond(messages) {
  const codec = Codec.createSync({ level: LEVEL })
  const compress = () => {
    for (const message of messages) codec.encodePart(message)
  }
  compress()
  const start = performance.now()
  let count = 0
  while (performance.now() - start < LEAST_MS) {
    compress()
    count += messages.length
  }
  const rate = (count * 1000) / (performance.now() - start)
  codec.close()
  return rate
}

/** @type {Map<Stream, number>} */
const rates = new Map()

/** Returns the messages per second of a stream, the same for all contestants. @param {Stream} stream */
function rateOf(stream) {
  const { payload, size } = stream
  const rate = rates.get(stream) ?? SHARE * compressedPerSecond(payloads(payload, size))
  rates.set(stream, rate)
  return rate
}

/** @param {Stream} stream @param {string} name @returns {Promise<Contestant>} */
async function streamOf(stream, name) {
  const perSecond = rateOf(stream)
  const count = Math.ceil(seconds * perSecond)
  const file = payloadMessages(stream.payload, stream.size).path
  const bind = freeEndpoint(ends[OURS].scheme, LOOPBACK.address)
  const pull = await startSocket(ends[OURS], { type: "PULL", bind })
  const push = await startSocket(senders[name], { type: "PUSH", connect: pull.endpoint })
  const exchange = async () => {
    const [delays] = await Promise.all([
      push.call("stream", { file, count, perSecond }),
      pull.call("drain", { count }),
    ])
    return /** @type {{ longest: number, percentile99: number }} */ (delays)
  }
  await exchange()
  return {
    async run() {
      const { longest, percentile99 } = await exchange()
      return [
        { quantity: LONGEST_DELAY, unit: "ms", value: longest },
        { quantity: PERCENTILE, unit: "ms", value: percentile99 },
      ]
    },
    stop() {
      push.stop()
      pull.stop()
    },
  }
}

/** @param {string} name @returns {Promise<Contestant>} */
async function toTwoPeers(name) {
  const { end, ioThreads } = sendersToTwo[name]
  const program = fileURLToPath(new URL("threads/sink.mjs", import.meta.url))
  const sink = await startPeer([process.execPath, program], {})
  const push = await startSocket(end, { type: "PUSH", ioThreads })
  // Each connect() is another endpoint, so each has its own thread if there are two.
  await push.call("connectAgain", { endpoint: sink.endpoint, count: PEERS })
  await sink.call("connected", { count: PEERS })
  const file = payloadMessages("json", SMALL_BYTES).path
  const exchange = async (/** @type {number} */ count) => {
    const [received] = await Promise.all([
      sink.call("drain", { count }),
      push.call("pump", { file, count }),
    ])
    return /** @type {{ seconds: number }} */ (received)
  }
  const count = await countFor(exchange, FIRST_COUNT, seconds)
  return {
    async run() {
      const result = await exchange(count)
      return [{ quantity: "messages", unit: "msg/s", value: (count - 1) / result.seconds }]
    },
    stop() {
      push.stop()
      sink.stop()
    },
  }
}

const cells = [
  ...STREAMS.map((stream) => ({
    name: `level ${LEVEL}, ${stream.name}`,
    parameters: { payload: stream.payload, size: stream.size, level: LEVEL, seconds },
    contestants: Object.keys(senders),
    prepare: (/** @type {string} */ name) => streamOf(stream, name),
  })),
  {
    name: `level ${LEVEL} to two peers`,
    parameters: { payload: "json", size: SMALL_BYTES, level: LEVEL, peers: PEERS, seconds },
    contestants: Object.keys(sendersToTwo),
    prepare: toTwoPeers,
  },
]

await benchmark({ bench: "threads", cells, options, versions: socketVersions() })
