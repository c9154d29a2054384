/** A process with a socket that strangers send to. */
import { collectGarbage } from "../lib/garbage.mjs"
import { serve } from "../peers/serve.mjs"

/**
 * @typedef {object} Setup
 * @property {string} module
 * @property {string} scheme
 * @property {object} [lz4]  options of the endpoint
 * @property {"PULL" | "XPUB"} type
 * @property {object} [options]  of the socket
 * @property {boolean} receives
 */

serve(async (/** @type {Setup} */ { module, scheme, lz4, type, options, receives }) => {
  const zmq = await import(module)
  const socket = new zmq[type === "PULL" ? "Pull" : "XPublisher"]({ backlog: 4096, ...options })
  await socket.bind(`${scheme}127.0.0.1:0`, ...(lz4 ? [lz4] : []))
  let parts = 0
  const receive = async () => {
    for await (const message of socket) parts += message.length
  }
  if (receives) receive()
  const commands = {
    /** Returns the parts received so far. */
    received: () => ({ parts }),
    /** Returns resident memory, after garbage was collected. */
    async memory() {
      for (let i = 0; i < 3; i++) {
        collectGarbage()
        await new Promise(setImmediate)
      }
      return process.memoryUsage()
    },
  }
  return { ready: { endpoint: socket.lastEndpoint }, commands }
})
