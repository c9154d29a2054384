/** A process that answers: a ROUTER, which floods may reach too, a REP and an HTTP server. */
import { once } from "node:events"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"

import { serve } from "../peers/serve.mjs"

/**
 * @typedef {object} Setup
 * @property {string} module
 * @property {string} scheme
 * @property {object} [lz4]  of the endpoints
 */

serve(async (/** @type {Setup} */ { module, scheme, lz4 }) => {
  const zmq = await import(module)
  const rest = module === "zeromq-lz4" ? [lz4] : []
  const router = new zmq.Router({ linger: 0 })
  const rep = new zmq.Reply({ linger: 0 })
  await router.bind(`${scheme}127.0.0.1:0`, ...rest)
  await rep.bind(`${scheme}127.0.0.1:0`, ...rest)
  // Connections stay open while others have their turn.
  const web = createServer({ keepAliveTimeout: 0 }, (_, response) => response.end("answer"))
  web.listen(0, "127.0.0.1")
  await once(web, "listening")
  const { port } = /** @type {import("node:net").AddressInfo} */ (web.address())

  let received = 0
  const takeAll = async () => {
    for await (const message of router) {
      // A question has an empty part before its body.
      if (message.length === 2) received++
      else await router.send(message)
    }
  }
  const answerAll = async () => {
    for await (const message of rep) await rep.send(message)
  }
  takeAll()
  answerAll()

  const commands = {
    /** Returns the messages of floods that have been received in total, and the time in milliseconds. */
    received: () => ({ count: received, at: performance.now() }),

    /** Waits until the floods have ended, whose messages are `count` in total. */
    async settled(/** @type {{ count: number }} */ { count }) {
      while (received < count) await setTimeout(5)
    },
  }
  const ready = {
    endpoint: router.lastEndpoint,
    rep: rep.lastEndpoint,
    http: `http://127.0.0.1:${port}`,
  }
  return { ready, commands }
})
