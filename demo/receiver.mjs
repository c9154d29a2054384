/** The receiving process of the demo, controlled by demo.mjs. */
import { Pull } from "zeromq-lz4"

/** @typedef {{ do: "bind", endpoint: string } | { do: "look" | "stop" }} Order */

let pull = new Pull()
let messages = 0
let bytes = 0

async function receive() {
  for await (const [message] of pull) {
    messages++
    bytes += message.length
  }
}

process.on("message", async (/** @type {Order} */ order) => {
  if (order.do === "bind") {
    pull = new Pull()
    messages = bytes = 0
    await pull.bind(order.endpoint)
    void receive()
    process.send?.(Number(pull.lastEndpoint?.split(":").pop()))
  } else if (order.do === "look") {
    const { wireBytes } = pull.lz4.stats.received
    // Over tcp:// parts are not encoded.
    process.send?.({ messages, bytes, wireBytes: wireBytes || bytes })
  } else {
    pull.close()
    process.send?.("closed")
  }
})
process.once("disconnect", () => process.exit())
process.send?.("ready")
