import { setTimeout as sleep } from "node:timers/promises"
import { Publisher } from "zeromq-lz4"

const NAMES = [
  ...["ada", "alan", "barbara", "donald", "edsger", "grace"],
  ...["john", "ken", "leslie", "margaret", "niklaus", "radia"],
]

/** Publishes the state of some invented machines twice a second, until `stopping` is aborted. */
export async function publish({ endpoint, stopping }) {
  const publisher = new Publisher({ linger: 0 })
  // A level, because "adaptive" compresses nothing within one machine.
  await publisher.bind(endpoint, { level: 0 })
  const machines = NAMES.map((name) => ({ name, cpu: 40, memory: 60, requests: 500 }))
  while (!stopping.aborted) {
    await publisher.send(["machines", JSON.stringify(machines)])
    for (const machine of machines) {
      machine.cpu = wander(machine.cpu, 8, 100)
      machine.memory = wander(machine.memory, 2, 100)
      machine.requests = wander(machine.requests, 60, 2000)
    }
    await sleep(500, undefined, { signal: stopping }).catch(() => {})
  }
  publisher.close()
}

/** Returns a number near another, from 0 to `max`. */
function wander(value, step, max) {
  const next = value + (Math.random() - 0.5) * 2 * step
  return Math.round(Math.min(max, Math.max(0, next)) * 10) / 10
}
