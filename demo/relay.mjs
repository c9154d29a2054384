/** A network of a given speed, as a process: passes on what it receives, no faster than that. */
import { connect, createServer } from "node:net"

const BYTES_PER_MS = Number(process.argv[2])
/** How often bytes are passed on, in milliseconds, and what a network holds on the way at most. */
const STEP_MS = 2
const HELD_BYTES = 64 * 1024

let target = 0

const server = createServer((from) => {
  const to = connect(target, "127.0.0.1")
  shape(from, to)
  shape(to, from)
  for (const one of [from, to]) one.on("error", () => {}).setNoDelay()
})

/** @param {import("node:net").Socket} from @param {import("node:net").Socket} to */
function shape(from, to) {
  /** @type {Buffer[]} */
  const held = []
  let bytes = 0
  let last = performance.now()
  from.on("data", (chunk) => {
    held.push(chunk)
    bytes += chunk.length
    if (bytes >= HELD_BYTES) from.pause()
  })
  const timer = setInterval(() => {
    const now = performance.now()
    let allowed = Math.min(now - last, 10 * STEP_MS) * BYTES_PER_MS
    last = now
    while (held.length > 0 && allowed >= 1) {
      const chunk = /** @type {Buffer} */ (held.shift())
      const part = chunk.subarray(0, Math.floor(allowed))
      if (part.length < chunk.length) held.unshift(chunk.subarray(part.length))
      allowed -= part.length
      bytes -= part.length
      to.write(part)
    }
    if (bytes < HELD_BYTES && from.isPaused()) from.resume()
  }, STEP_MS)
  from.on("close", () => {
    clearInterval(timer)
    to.destroy()
  })
}

process.on("message", (/** @type {number | "port"} */ order) => {
  if (order !== "port") target = order
  process.send?.(/** @type {import("node:net").AddressInfo} */ (server.address()).port)
})
process.once("disconnect", () => process.exit())
server.listen(0, "127.0.0.1", () => process.send?.("ready"))
