/** The sending process of the demo, controlled by demo.mjs. */
import { setImmediate } from "node:timers/promises"
import { Push } from "zeromq-lz4"
import { messages } from "./events.mjs"

const all = messages()
/** The socket of the current run; undefined between runs. @type {Push | undefined} */
let current

/** Sends as fast as the network takes it, until the run is over. @param {string} endpoint */
async function send(endpoint) {
  const push = new Push({ linger: 0 })
  current = push
  push.connect(endpoint)
  for (let i = 0; current === push; i = (i + 1) % all.length) {
    // The socket may have been closed while it waited for room.
    if (
      !(await push.send(all[i]).then(
        () => true,
        () => false,
      ))
    )
      return
    // Only waiting for the network lets the order to stop come in.
    if (i === 0) await setImmediate()
  }
}

/** @typedef {{ do: "send", endpoint: string } | { do: "look" | "stop" }} Order */

process.on("message", (/** @type {Order} */ order) => {
  if (order.do === "send") void send(order.endpoint)
  else if (order.do === "look") {
    const { user, system } = process.cpuUsage()
    const level = current?.lz4.connections[0]?.sent.level
    process.send?.({ cpuMs: (user + system) / 1000, level })
  } else {
    const socket = current
    current = undefined
    socket?.close()
  }
})
process.once("disconnect", () => process.exit())
process.send?.("ready")
