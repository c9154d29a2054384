/** One end of a plain TCP connection in Node, for round trips without ZeroMQ. */
import { once } from "node:events"
import { connect, createServer } from "node:net"

import { readMessages } from "../lib/messages.mjs"
import { serve } from "../peers/serve.mjs"

serve(async (/** @type {{ connect?: string }} */ setup) => {
  if (!setup.connect) {
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on("data", (bytes) => socket.write(bytes))
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address())
    return { ready: { endpoint: String(port) }, commands: { answer: () => ({}) } }
  }

  const socket = connect({ port: Number(setup.connect), host: "127.0.0.1", noDelay: true })
  await once(socket, "connect")
  let left = 0
  /** @type {() => void} */
  let whole = () => {}
  socket.on("data", ({ length }) => {
    left -= length
    if (left === 0) whole()
  })
  const commands = {
    async ask(/** @type {{ file: string, count: number }} */ { file, count }) {
      const messages = readMessages(file)
      const times = []
      for (let i = 0; i < count; i++) {
        const message = messages[i % messages.length]
        const start = performance.now()
        left = message.length
        await new Promise((resolve) => {
          whole = () => resolve(undefined)
          socket.write(message)
        })
        times.push((performance.now() - start) * 1000)
      }
      return { times }
    },
  }
  return { ready: { endpoint: "" }, commands }
})
