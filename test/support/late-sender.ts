import { Push } from "zeromq-lz4"
import { use } from "./sockets.js"

/** Milliseconds before the second attempt: more than the sockets of tests pause between attempts. */
const PAUSE_MS = 300

/**
 * Sends a message to an endpoint that is not bound yet. Resolves when the first attempt to connect has
 * failed, so that the message arrives some time after the endpoint is bound: it shows that no other
 * socket sends there.
 */
export async function sendLate(endpoint: string, message: string): Promise<void> {
  const push = use(new Push({ reconnectInterval: PAUSE_MS }))
  const failed = new Promise((resolve) => push.events.on("connect:retry", resolve))
  push.connect(endpoint)
  await push.send(message)
  await failed
}
