/** Measures encrypted connections. See `--help`. */
import { curveKeyPair } from "zeromq-lz4"

import { SHAPES, wheelOf } from "./fan/wheels.mjs"
import { medianRoundTrip, socketPair } from "./latency/pairs.mjs"
import { sizeName } from "./lib/format.mjs"
import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { createNetwork, SLOW, whyNot } from "./links/network.mjs"
import { ends, NOT_ENCRYPTED, OURS, ours, TCP } from "./peers/ends.mjs"
import { pushPull } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { ROUND_TRIP } from "./reports/quantities.mjs"

/** @typedef {import("./peers/peers.mjs").End} End */

const options = readOptions(
  "curve",
  `Measures CURVE with default options, over tcp:// of zeromq.js and over lz4+tcp://: PUSH to PULL and PUB to 64
SUBs between two processes on this machine, and round trips of REQ and REP; also PUSH to PULL over a link of
100 Mbit/s, with the adaptive level, beside the same without CURVE (needs Linux and root; skipped if network
namespaces cannot be created). Prints messages per second and the CPU time of both sides. About three
minutes.`,
)
const seconds = options.quick ? 0.1 : 0.4
/** The adaptive level needs a while. */
const linkSeconds = options.quick ? 0.5 : 2

const KIB = 1024
const SUBSCRIBERS = 64

const [serverKeys, clientKeys] = [curveKeyPair(), curveKeyPair()]
const SERVER = { curveServer: true, curveSecretKey: serverKeys.secretKey }
const CLIENT = {
  curveServerKey: serverKeys.publicKey,
  curvePublicKey: clientKeys.publicKey,
  curveSecretKey: clientKeys.secretKey,
}

/** Returns the two ends of an encrypted connection. @param {End} end @returns {[server: End, client: End]} */
const encrypted = (end) => [
  { ...end, options: SERVER },
  { ...end, options: CLIENT },
]

/** The side that binds and the one that connects. @type {Record<string, [End, End]>} */
const PAIRS = { [TCP]: encrypted(ends[TCP]), [OURS]: encrypted(ends[OURS]) }
const loopback = [64, KIB, 16 * KIB, 128 * KIB].map((size) => ({
  name: `json ${sizeName(size)}`,
  parameters: { size, seconds },
  contestants: Object.keys(PAIRS),
  prepare(/** @type {string} */ name) {
    const [receiver, sender] = PAIRS[name]
    return pushPull({ sender, receiver, messages: payloadMessages("json", size), seconds })
  },
}))

const published = [64, KIB].map((size) => ({
  name: `PUB → SUB ${sizeName(size)}, ${SUBSCRIBERS}`,
  parameters: { size, spokes: SUBSCRIBERS, seconds },
  contestants: Object.keys(PAIRS),
  prepare: (/** @type {string} */ name) =>
    wheelOf(SHAPES["PUB → SUB"], PAIRS[name], { spokes: SUBSCRIBERS, size, seconds }),
}))

const roundTrip = {
  name: ROUND_TRIP,
  parameters: { size: 64, seconds },
  contestants: Object.keys(PAIRS),
  prepare: async (/** @type {string} */ name) =>
    medianRoundTrip(await socketPair(...PAIRS[name]), seconds),
}

const reason = whyNot()
if (reason) progress(`bench:curve has no link: ${reason}`)
/** The network that all cells of the link share. @type {ReturnType<typeof createNetwork> | undefined} */
let network
/** With CURVE, small messages are put together only if that is asked for. */
const LINKED = [
  { size: KIB, arenas: false },
  { size: KIB, arenas: true },
  { size: 128 * KIB, arenas: true },
]
const linked = LINKED.map(({ size, arenas }) => {
  const end = ours({ level: "adaptive", arenas })
  /** @type {Record<string, [End, End]>} */
  const pairs = { [NOT_ENCRYPTED]: [end, end], [OURS]: encrypted(end) }
  return {
    name: `${SLOW.name}, json ${sizeName(size)}${arenas ? "" : ", no arenas"}`,
    parameters: { link: SLOW.name, size, arenas: String(arenas), seconds: linkSeconds },
    contestants: Object.keys(pairs),
    prepare(/** @type {string} */ name) {
      network ??= createNetwork(SLOW)
      const [receiver, sender] = pairs[name]
      const messages = payloadMessages("json", size)
      return pushPull({ sender, receiver, messages, seconds: linkSeconds, place: network })
    },
  }
})

const cells = [...loopback, ...published, roundTrip, ...(reason ? [] : linked)]
await benchmark({ bench: "curve", cells, options, versions: socketVersions() })
