/** Pairs of processes that send requests and replies, for latency and bursts. */
import { fileURLToPath } from "node:url"

import { startPeer, startSocket } from "../peers/peers.mjs"
import { freeEndpoint, LOOPBACK } from "../peers/push-pull.mjs"

/** @typedef {import("../peers/peers.mjs").Peer} Peer */
/** @typedef {{ asks: Peer, answers?: Peer }} Pair  without the second, the first does both */

/** Starts two processes with a socket each. @param {import("../peers/peers.mjs").End} end @returns {Promise<Pair>} */
export async function socketPair(end) {
  const bind = freeEndpoint(end.scheme, LOOPBACK.address)
  const answers = await startSocket(end, { type: "REP", bind })
  const asks = await startSocket(end, { type: "REQ", connect: answers.endpoint })
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
