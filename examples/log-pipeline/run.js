/** Runs one process of the pipeline: node run.js broker|producer|consumer [NAME] */
import { startBroker } from "./broker.js"
import { consume } from "./consumer.js"
import { produce } from "./producer.js"

const {
  FRONT = "lz4+tcp://127.0.0.1:5555",
  BACK = "lz4+tcp://127.0.0.1:5556",
  PORT = "9464",
  STOP_WITHIN_MS = "8000", // docker stop allows 10 s
} = process.env
const [role, name = role] = process.argv.slice(2)

const stop = new AbortController()
// npm passes on the signal that it gets with us, so there may be two of each.
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    stop.abort()
    setTimeout(giveUp, Number(STOP_WITHIN_MS)).unref()
  })

function giveUp() {
  console.error(`${name}: peers are still connected, or messages left`)
  process.exit(1)
}

const stopping = stop.signal
const roles = {
  async broker() {
    const settings = { front: FRONT, back: BACK, metricsPort: Number(PORT), stopping }
    const { metricsUrl, stopped } = await startBroker(settings)
    console.log(`broker: metrics at ${metricsUrl}`)
    await stopped
    console.log("broker: passed on all that it received")
  },
  async producer() {
    const lines = await produce({ to: FRONT, service: name, stopping })
    console.log(`${name}: sent ${lines} lines`)
  },
  async consumer() {
    const { lines, errors } = await consume({ from: BACK, name, stopping })
    console.log(`${name}: received ${lines} lines, of which ${errors} are errors`)
  },
}

if (!Object.hasOwn(roles, role)) throw new Error(`no such role: ${role}`)
await roles[role]()
