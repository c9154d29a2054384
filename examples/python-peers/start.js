/** Gives texts to a worker in Python, and prints what it finds in them. */
import { spawn } from "node:child_process"
import { Pull, Push } from "zeromq-lz4"
import { python } from "./python.js"

const { TEXTS = "lz4+tcp://127.0.0.1:5601", RESULTS = "lz4+tcp://127.0.0.1:5602" } = process.env
const texts = {
  tea: "tea and sugar ".repeat(1000),
  coffee: "coffee with milk and coffee without ".repeat(400),
}

// No acceptPlain: pyomq does not announce what it reads, and would be taken for a tcp:// peer.
const push = new Push()
await push.bind(TEXTS, { level: 0 })
const pull = new Pull({ maxMessageSize: 1 << 20 })
await pull.bind(RESULTS)

const environment = { ...process.env, TEXTS: push.lastEndpoint, RESULTS: pull.lastEndpoint }
const worker = spawn(python, ["worker.py"], { env: environment, stdio: "inherit" })
worker.on("error", ({ message }) => {
  console.error(message)
  process.exit(1)
})
worker.on("exit", (code) => {
  // Nothing more would come.
  if (code !== 0) process.exit(1)
})

for (const [title, text] of Object.entries(texts)) await push.send([title, text])
await push.lz4.flush()
const { plainBytes, wireBytes } = push.lz4.stats.sent
console.log(`Node ${process.versions.node}: sent ${plainBytes} bytes as ${wireBytes}`)

for (const _ of Object.keys(texts)) {
  const [title, result] = await pull.receive()
  const { words, most, times } = JSON.parse(result.toString())
  console.log(`${title}: ${words} words, most often “${most}” (${times} times)`)
}
await push.send(["end", ""])
push.close()
pull.close()
