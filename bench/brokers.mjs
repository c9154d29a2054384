/** Measures brokers. See `--help`. */
import { fileURLToPath } from "node:url"

import { sizeName } from "./lib/format.mjs"
import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { createNetwork, MIDDLING, whyNot } from "./links/network.mjs"
import { ends, OURS, ours, oursInZstd, TCP, ZSTD } from "./peers/ends.mjs"
import { PROBE_BYTES, reachAll } from "./peers/fan-out.mjs"
import { startPeer, startSocket } from "./peers/peers.mjs"
import { countFor, firstCount, freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { BROKER_CPU } from "./reports/quantities.mjs"

const options = readOptions(
  "brokers",
  `Measures a Proxy in a process of its own between two others: JSON of 1 KiB to 1 MiB from a PUSH to a PULL,
from a DEALER to a ROUTER's dealers, and from a PUB to 8 SUBs, over tcp:// of zeromq.js, and over
lz4+tcp:// and zstd+tcp:// with the same level on both sides of the broker; also over a link of 1 Gbit/s
on both sides, which needs root. Prints messages per second, and the broker's CPU time per message. Linux.
About ten minutes.`,
)
const seconds = options.quick ? 0.3 : 1

const KIB = 1024
const SUBSCRIBERS = 8

/** @type {Record<string, import("./peers/peers.mjs").End>} */
const CONTESTANTS = {
  [TCP]: ends[TCP],
  [`${OURS}, level 0`]: ours({ level: 0 }),
  [`${OURS}, level 9`]: ours({ level: 9 }),
  [`${ZSTD}, level 1`]: oursInZstd({ level: 1 }),
  [OURS]: ours(),
}

/** @typedef {{ broker: string, sender: string, receiver: string, receivers?: number }} Shape */

/** @type {Record<string, Shape>} */
const SHAPES = {
  "PUSH to PULL": { broker: "PULL, PUSH", sender: "PUSH", receiver: "PULL" },
  "DEALER to DEALER": { broker: "ROUTER, DEALER", sender: "DEALER", receiver: "DEALER" },
  [`PUB to ${SUBSCRIBERS} SUBs`]: {
    ...{ broker: "XSUB, XPUB", sender: "PUB", receiver: "SUB" },
    receivers: SUBSCRIBERS,
  },
}

/**
 * @param {Shape} shape @param {import("./peers/peers.mjs").End} end @param {number} size @param {import("./peers/push-pull.mjs").Place} place
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function through({ broker: kind, sender, receiver, receivers = 1 }, end, size, place) {
  const bind = freeEndpoint(end.scheme, place.address)
  const program = fileURLToPath(new URL("brokers/broker.mjs", import.meta.url))
  const { module, lz4 } = end
  const broker = await startPeer([...place.receiver, process.execPath, program], {
    ...{ module, lz4, bind, broker: kind },
  })
  const { front, back } = broker.ready
  const isPub = sender === "PUB"
  const lossless = isPub ? { options: { sendHighWaterMark: 0 } } : {}
  const to = await startSocket(
    end,
    { type: receiver, connect: back, copies: receivers },
    place.sender,
  )
  const from = await startSocket(end, { type: sender, connect: front, ...lossless }, place.sender)
  const messages = payloadMessages("json", size)
  const exchange = async (/** @type {number} */ count) => {
    const [received] = await Promise.all([
      to.call("drain", { count, ...(isPub && { probeBytes: PROBE_BYTES }) }),
      from.call("pump", { file: messages.path, count, ...(isPub && { burst: 1 }) }),
    ])
    return /** @type {{ bytes: number, seconds: number }} */ (received)
  }
  if (isPub) await reachAll({ hub: from, spokes: to })
  const count = await countFor(exchange, firstCount(messages), seconds)
  return {
    async run() {
      const { result, used } = await usage({ broker }, () => exchange(count))
      return [
        { quantity: "messages", unit: "msg/s", value: (receivers * (count - 1)) / result.seconds },
        { quantity: BROKER_CPU, unit: "µs", value: (used.broker.cpu / count) * 1e6 },
        { quantity: "memory of the broker", unit: "MB", value: used.broker.memory / 1e6 },
      ]
    },
    stop() {
      for (const peer of [from, to, broker]) peer.stop()
    },
  }
}

/** @param {string} shape @param {number} size @param {() => import("./peers/push-pull.mjs").Place} [place] @param {string} [where] @returns {import("./lib/harness.mjs").Cell} */
const cellOf = (shape, size, place = () => LOOPBACK, where = "") => ({
  name: `${where}${shape}, ${sizeName(size)}`,
  parameters: { shape, size, seconds, ...(where && { link: MIDDLING.name }) },
  contestants: Object.keys(CONTESTANTS),
  prepare: (name) => through(SHAPES[shape], CONTESTANTS[name], size, place()),
})

const [push, dealer, pub] = Object.keys(SHAPES)
const cells = [
  ...[KIB, 16 * KIB, 128 * KIB, 1024 * KIB].map((size) => cellOf(push, size)),
  ...[16 * KIB, 128 * KIB].map((size) => cellOf(dealer, size)),
  cellOf(pub, 16 * KIB),
]
const reason = whyNot()
if (reason) progress(`without a link: ${reason}`)
else {
  /** @type {ReturnType<typeof createNetwork> | undefined} */
  let network
  const between = () => {
    network ??= createNetwork(MIDDLING)
    return network
  }
  cells.push(cellOf(push, 128 * KIB, between, `${MIDDLING.name} on both sides, `))
}

await benchmark({ bench: "brokers", cells, options, versions: socketVersions() })
