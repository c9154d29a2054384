/** A process with a Proxy between two bound sockets of zeromq.js or of this package. */
import { serve } from "../peers/serve.mjs"

/** The two sockets of a broker by its name. @type {Record<string, [front: string, back: string]>} */
const SOCKETS = {
  "PULL, PUSH": ["Pull", "Push"],
  "ROUTER, DEALER": ["Router", "Dealer"],
  "XSUB, XPUB": ["XSubscriber", "XPublisher"],
}

/**
 * @typedef {object} Setup
 * @property {string} module
 * @property {string} broker
 * @property {string} bind  where both sockets are bound, to ports that are free
 * @property {object} [lz4]  of the endpoints
 */

serve(async (/** @type {Setup} */ { module, broker, bind, lz4 }) => {
  const zmq = await import(module)
  const [front, back] = SOCKETS[broker].map(
    (name) =>
      // It must not drop what it publishes.
      new zmq[name]({ linger: 0, ...(name === "XPublisher" && { sendHighWaterMark: 0 }) }),
  )
  const rest = module === "zeromq-lz4" ? [lz4] : []
  for (const socket of [front, back]) await socket.bind(bind, ...rest)
  const ready = { front: front.lastEndpoint, back: back.lastEndpoint }
  const proxy = new zmq.Proxy(front, back)
  const running = proxy.run()
  // The commands refer to the proxy, which would be collected otherwise.
  return { ready, commands: { ended: () => Promise.all([proxy, running]) } }
})
