/** The sending process of the demo: has events, and sends them where demo.mjs says. */
import { Push } from "zeromq-lz4"
import { events } from "./events.mjs"

const all = [...events()]

process.on("message", async (/** @type {{ endpoint: string, options: [object?] }} */ order) => {
  const push = new Push()
  push.connect(order.endpoint, ...order.options)
  for (const event of all) await push.send(event)
  push.close()
})
process.send?.("ready")
