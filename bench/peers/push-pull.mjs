/** PUSH to PULL between two processes, for throughput, links and corpora. */
import { join } from "node:path"

import { scratch } from "../lib/messages.mjs"
import { usage } from "../lib/usage.mjs"
import { ends, OURS } from "./ends.mjs"
import { startSocket } from "./peers.mjs"

/** @typedef {import("./peers.mjs").End} End */
/** @typedef {import("../lib/messages.mjs").Messages} Messages */

/** The network of the two processes: the receiver's address, and the commands that run them in it. */
/** @typedef {{ address: string, sender: string[], receiver: string[] }} Place */

/** @type {Place} */
export const LOOPBACK = { address: "127.0.0.1", sender: [], receiver: [] }

let sockets = 0

/** @param {string} scheme @param {string} address */
export const freeEndpoint = (scheme, address) =>
  scheme === "ipc://" ? `ipc://${join(scratch(), `socket-${++sockets}`)}` : `${scheme}${address}:0`

/** @param {End} sender @param {End} receiver @param {Place} place */
export async function connected(sender, receiver, place) {
  const bind = freeEndpoint(receiver.scheme, place.address)
  const pull = await startSocket(receiver, { type: "PULL", bind }, place.receiver)
  const role = { type: "PUSH", connect: pull.endpoint }
  const push = await startSocket(sender, role, place.sender).catch((error) => {
    pull.stop()
    throw error
  })
  const exchange = async (/** @type {Messages} */ messages, /** @type {number} */ count) => {
    const [received] = await Promise.all([
      pull.call("drain", { count }),
      push.call("pump", { file: messages.path, count }),
    ])
    return /** @type {{ bytes: number, seconds: number }} */ (received)
  }
  const stop = () => {
    push.stop()
    pull.stop()
  }
  return { push, pull, exchange, stop }
}

/** Minimum duration of a run whose rate is used, as a share of the wanted duration. */
const BELIEVED = 0.3

/**
 * Finds the number of messages that take about `wanted` seconds. This also warms up the code.
 * @param {(count: number) => Promise<{ seconds: number }>} exchange
 * @param {number} first  count to begin with
 * @param {number} wanted  seconds
 */
export async function countFor(exchange, first, wanted) {
  await exchange(first)
  for (let count = first; ; count *= 4) {
    const { seconds } = await exchange(count)
    if (seconds > BELIEVED * wanted) return Math.max(first, Math.ceil((count * wanted) / seconds))
  }
}

/** Returns a first count for messages of this size. @param {Messages} messages */
export const firstCount = ({ bytes, count }) =>
  Math.min(5000, Math.max(16, Math.ceil((2 ** 22 * count) / bytes)))

/** @type {Map<string, Promise<number>>} */
const shares = new Map()

/**
 * Measures the bytes of all messages on the wire, in % of plaintext, once and with one of our sockets as
 * the receiver. Undefined for adaptive levels.
 * @param {End} sender @param {Messages} messages
 */
function wireShare(sender, messages) {
  if (sender.scheme === "tcp://" || sender.scheme === "ipc://") return 100
  const { level = "adaptive", acceleration } = sender.lz4 ?? {}
  if (level === "adaptive" && acceleration === undefined) return undefined
  const key = `${JSON.stringify(sender)} ${messages.path}`
  const measure = async () => {
    const receiver = { ...ends[OURS], scheme: sender.scheme }
    const { pull, exchange, stop } = await connected(sender, receiver, LOOPBACK)
    await exchange(messages, messages.count)
    const { plainBytes, wireBytes } = await pull.call("received")
    stop()
    return (100 * wireBytes) / plainBytes
  }
  const share = shares.get(key) ?? measure()
  shares.set(key, share)
  return share
}

/**
 * @param {{ sender: End, receiver: End, messages: Messages, seconds: number, place?: Place }} options
 * @returns {Promise<import("../lib/harness.mjs").Contestant>}
 */
export async function pushPull({ sender, receiver, messages, seconds, place = LOOPBACK }) {
  const wire = await wireShare(sender, messages)
  const { push, pull, exchange, stop } = await connected(sender, receiver, place)
  const count = await countFor((n) => exchange(messages, n), firstCount(messages), seconds)
  return {
    async run() {
      const { result, used } = await usage({ push, pull }, () => exchange(messages, count))
      const gigabytes = result.bytes / 1e9
      return [
        { quantity: "messages", unit: "msg/s", value: (count - 1) / result.seconds },
        ...(wire === undefined ? [] : [{ quantity: "wire", unit: "%", value: wire }]),
        { quantity: "CPU of the sender", unit: "s/GB", value: used.push.cpu / gigabytes },
        { quantity: "CPU of the receiver", unit: "s/GB", value: used.pull.cpu / gigabytes },
        { quantity: "memory of the sender", unit: "MB", value: used.push.memory / 1e6 },
        { quantity: "memory of the receiver", unit: "MB", value: used.pull.memory / 1e6 },
      ]
    },
    stop,
  }
}
