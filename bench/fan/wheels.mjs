/** One socket, the hub, and others in another process, for fan and curve. */
import { payloadMessages } from "../lib/messages.mjs"
import { usage } from "../lib/usage.mjs"
import { PROBE_BYTES, reachAll, UNLIMITED } from "../peers/fan-out.mjs"
import { startSocket } from "../peers/peers.mjs"
import { countFor, freeEndpoint, LOOPBACK } from "../peers/push-pull.mjs"
import { HUB_CPU, SPOKES_CPU } from "../reports/quantities.mjs"

/** Number of messages for all spokes in the first, short run. */
const FIRST_MESSAGES = 2000

/** @typedef {import("../peers/peers.mjs").End} End */
/** @typedef {import("../peers/peers.mjs").Peer} Peer */
/** @typedef {{ hub: Peer, spokes: Peer }} Wheel */

/**
 * @typedef {object} Shape
 * @property {string} hub
 * @property {string} spoke
 * @property {object} options  of the spokes
 * @property {(wheel: Wheel) => Promise<void>} open  resolves when all spokes are connected
 * @property {(wheel: Wheel, file: string, each: number, spokes: number) => Promise<[{ seconds: number }, unknown]>} exchange
 *   `each` messages for each spoke
 */

export const SHAPES = /** @satisfies {Record<string, Shape>} */ ({
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
})

/**
 * @param {Shape} shape @param {readonly [hub: End, spokes: End]} ends
 * @param {{ spokes: number, size: number, seconds: number }} scale
 * @returns {Promise<import("../lib/harness.mjs").Contestant>}
 */
export async function wheelOf(shape, [hubEnd, spokeEnd], { spokes: count, size, seconds }) {
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
