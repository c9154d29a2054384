/** The sockets of a test, which are closed when it ends. */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { createServer } from "node:net"
import { afterEach } from "vitest"
import type { Socket } from "zeromq"
import type { Lz4Socket } from "zeromq-lz4"
import { ownHost } from "./own-host.mjs"
import { sleep } from "./sleep.js"
import { type Transport, tcp } from "./transports.js"

export type AnySocket = Socket & Lz4Socket

const open = new Set<{ close(): void }>()

afterEach(() => {
  for (const one of open) one.close()
  open.clear()
})

/** Closes an object after the test, even if it still has messages to send. */
export function use<S extends { close(): void }>(closable: S): S {
  open.add(closable)
  if ("linger" in closable) closable.linger = 0
  return closable
}

/** Returns an endpoint on a port that the system chooses. */
export const anyPort = ({ scheme }: Transport): string => `${scheme}${ownHost}:*`

/** Binds one socket to an endpoint of its own and connects the other to it. */
export async function join(
  binding: AnySocket,
  connecting: AnySocket,
  transport: Transport,
): Promise<string> {
  const options = transport === tcp ? [] : [transport.options]
  await binding.bind(anyPort(transport), ...options)
  const endpoint = binding.lastEndpoint as string
  connecting.connect(endpoint, ...options)
  return endpoint
}

/** Ports that no system assigns by itself, because other tests open thousands of connections meanwhile. */
const PORTS = { from: 10_000, count: 22_768 }
/** Processes begin at different places. */
let nextPort = process.pid * 61

/**
 * Returns a port that was free a moment ago, for callers that must know it before they bind. No other
 * process gets it while this one runs, so nobody else dials it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + (nextPort++ % PORTS.count)
    // Nothing else uses UDP: a socket with the same number reserves the port.
    const reservation = createSocket("udp4").unref()
    const server = createServer((peer) => peer.destroy())
    try {
      reservation.bind({ port, address: "127.0.0.1", exclusive: true })
      await once(reservation, "listening")
      await once(server.listen(port, "127.0.0.1"), "listening")
    } catch {
      reservation.close()
      continue // The port is in use.
    }
    server.close()
    await once(server, "close")
    return port
  }
}

/** Repeats an attempt until it neither throws nor returns false. */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  limitMs = 200_000,
): Promise<Exclude<T, false>> {
  const deadline = performance.now() + limitMs
  for (;;) {
    try {
      const result = await attempt()
      if (result !== false) return result as Exclude<T, false>
      if (performance.now() > deadline) throw new Error(`still not: ${attempt}`)
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await sleep(5)
  }
}

interface Sends {
  send(message: string): Promise<void>
}
interface Receives {
  receive(): Promise<unknown[]>
}

/** Waits until the subscriptions have arrived at a publisher that does not report them. */
export async function subscribed(
  publisher: Sends,
  subscriber: Receives,
  topic = "",
): Promise<void> {
  const first = subscriber.receive()
  let arrived = false
  first.finally(() => {
    arrived = true
  })
  // More and more slowly, so that probes for a slow subscriber never fill a queue, and none is dropped.
  for (let pauseMs = 2; !arrived; pauseMs = Math.min(2 * pauseMs, 200)) {
    await publisher.send(`${topic}probe`)
    await sleep(pauseMs)
  }
  await publisher.send(`${topic}last probe`)
  while (String((await subscriber.receive())[0]) !== `${topic}last probe`);
}
