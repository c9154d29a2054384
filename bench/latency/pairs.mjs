/** Pairs of processes that send requests and replies, for latency and bursts. */
import { fileURLToPath } from "node:url"

import { payloadMessages } from "../lib/messages.mjs"
import { startPeer, startSocket } from "../peers/peers.mjs"
import { freeEndpoint, LOOPBACK } from "../peers/push-pull.mjs"

/** @typedef {import("../peers/peers.mjs").Peer} Peer */
/** @typedef {{ asks: Peer, answers?: Peer }} Pair  without the second, the first does both */

/** @typedef {import("../peers/peers.mjs").End} End */

/** Starts two processes with a socket each. @param {End} replier @param {End} [requester] @returns {Promise<Pair>} */
export async function socketPair(replier, requester = replier) {
  const bind = freeEndpoint(replier.scheme, LOOPBACK.address)
  const answers = await startSocket(replier, { type: "REP", bind })
  const asks = await startSocket(requester, { type: "REQ", connect: answers.endpoint })
  return { asks, answers }
}

/** Starts one of our own programs. @param {string} name @param {object} setup */
const start = (name, setup) =>
  startPeer([process.execPath, fileURLToPath(new URL(`${name}.mjs`, import.meta.url))], setup)

/** Starts two processes with plain TCP sockets. @returns {Promise<Pair>} */
export async function rawTcpPair() {
  const answers = await start("raw-tcp", {})
  return { asks: await start("raw-tcp", { connect: answers.endpoint }), answers }
}

/** Starts one process with both sockets. @returns {Promise<Pair>} */
export const inprocPair = async () => ({ asks: await start("inproc", {}) })

/** Measures each round trip in microseconds. @param {Pair} pair @param {string} file @param {number} count @returns {Promise<number[]>} sorted */
export async function roundTrips({ asks, answers }, file, count) {
  const [{ times }] = await Promise.all([
    asks.call("ask", { file, count }),
    answers?.call("answer", { count }),
  ])
  return times.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b)
}

const FIRST_ROUND_TRIPS = 500

/**
 * Returns a contestant that measures the median of round trips.
 * @param {Pair} pair @param {number} seconds @param {import("../lib/messages.mjs").Messages} [messages]
 * @returns {Promise<import("../lib/harness.mjs").Contestant>}
 */
export async function medianRoundTrip(pair, seconds, messages = payloadMessages("lorem", 64)) {
  const file = messages.path
  await roundTrips(pair, file, FIRST_ROUND_TRIPS)
  const middle = (await roundTrips(pair, file, FIRST_ROUND_TRIPS))[FIRST_ROUND_TRIPS >> 1]
  const count = Math.ceil((seconds * 1e6) / middle)
  return {
    async run() {
      const times = await roundTrips(pair, file, count)
      return [{ quantity: "median", unit: "µs", value: times[count >> 1] }]
    },
    stop() {
      pair.asks.stop()
      pair.answers?.stop()
    },
  }
}
