/** The sending process of the demo, controlled by demo.mjs. */
import { setTimeout } from "node:timers/promises"
import { Push } from "zeromq-lz4"
import { events } from "./events.mjs"

/** Events that are sent before the clock is read again. */
const BURST = 100

const all = [...events()]

/**
 * @typedef {object} Order
 * @property {string} endpoint
 * @property {[object?]} options
 * @property {number} perSecond  the maximum rate
 */

process.on("message", async (/** @type {Order} */ { endpoint, options, perSecond }) => {
  const push = new Push()
  push.connect(endpoint, ...options)
  const start = performance.now()
  for (let i = 0; i < all.length; i++) {
    if (i % BURST === 0) {
      const earlyMs = start + (i * 1000) / perSecond - performance.now()
      if (earlyMs > 1) await setTimeout(earlyMs)
    }
    await push.send(all[i])
  }
  process.send?.({ level: push.lz4.connections[0]?.sent.level })
  push.close()
})
process.send?.("ready")
