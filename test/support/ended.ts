import { type Context, Push } from "zeromq-lz4"
import { anyPort, eventually, use } from "./sockets.js"
import { lz4 } from "./transports.js"

/**
 * Waits until the closed socket of a context with `maxSockets: 1` has ended: libzmq's threads end it some
 * time after close(), and so does a thread of this package, which does one thing after another.
 */
export async function ended(context: Context): Promise<void> {
  const next = await eventually(() => use(new Push({ context })))
  await next.bind(anyPort(lz4))
}
