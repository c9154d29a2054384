import { setTimeout as sleep } from "node:timers/promises"
import { Push } from "zeromq-lz4"

const BATCH_LINES = 25

/** Sends log lines of a service until `stopping` is aborted. Returns how many were accepted. */
export async function produce({ to, service, stopping, intervalMs = 100 }) {
  const push = new Push({ linger: 5000 })
  push.lz4.once("connect", () => console.log(`${service}: connected to ${to}`))
  // The default level, "adaptive", compresses nothing here: within one machine, nothing is faster.
  push.connect(to, { level: 0 })
  let lines = 0
  while (!stopping.aborted) {
    await push.send([service, someLines(service, lines)])
    lines += BATCH_LINES
    await sleep(intervalMs, undefined, { signal: stopping }).catch(() => {})
  }
  push.close()
  await push.lz4.flush({ timeout: 4000 })
  return lines
}

function someLines(service, first) {
  const lines = Array.from({ length: BATCH_LINES }, (_, i) => ({
    time: new Date().toISOString(),
    service,
    level: (first + i) % 20 === 0 ? "error" : "info",
    message: `GET /orders/${first + i} took ${Math.ceil(Math.random() * 80)} ms`,
  }))
  return lines.map((line) => JSON.stringify(line)).join("\n")
}
