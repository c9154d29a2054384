/** REQ and REP in one process, over inproc://. */
import { Reply, Request } from "zeromq"

import { readMessages } from "../lib/messages.mjs"
import { serve } from "../peers/serve.mjs"

serve(async () => {
  const reply = new Reply({ linger: 0 })
  const request = new Request({ linger: 0 })
  await reply.bind("inproc://latency")
  request.connect("inproc://latency")
  const commands = {
    async ask(/** @type {{ file: string, count: number }} */ { file, count }) {
      const messages = readMessages(file)
      const answering = async () => {
        for (let i = 0; i < count; i++) await reply.send((await reply.receive())[0])
      }
      const times = []
      const answered = answering()
      for (let i = 0; i < count; i++) {
        const start = performance.now()
        await request.send(messages[i % messages.length])
        await request.receive()
        times.push((performance.now() - start) * 1000)
      }
      await answered
      return { times }
    },
  }
  return { ready: { endpoint: reply.lastEndpoint }, commands }
})
