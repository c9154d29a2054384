import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { Publisher, Reply } from "zeromq-lz4"

/**
 * Starts a service with two ports: one answers orders, the other publishes prices. Each setting is an
 * address, and the options of its endpoint if there are any. `version` is in all that the service sends.
 */
export async function startService({ orders, prices, version }) {
  const reply = new Reply({ maxMessageSize: 1 << 20 })
  const publisher = new Publisher()
  await reply.bind(...orders)
  await publisher.bind(...prices)
  const stop = new AbortController()
  const working = Promise.all([answer(reply, version), publish(publisher, version, stop.signal)])
  return {
    schemes: async () => ({ orders: await schemeOf(reply), prices: await schemeOf(publisher) }),
    async stop() {
      stop.abort()
      // The ports have to be free before the next version binds them.
      await reply.unbind(reply.lastEndpoint)
      await publisher.unbind(publisher.lastEndpoint)
      reply.close()
      publisher.close()
      await working
    },
  }
}

async function answer(reply, version) {
  for await (const [order] of reply) await reply.send(`${version} took the order of ${order}`)
}

async function publish(publisher, version, stopping) {
  while (!stopping.aborted) {
    await publisher.send(["tea", JSON.stringify({ version, euros: 4.5 })])
    await sleep(20, undefined, { signal: stopping }).catch(() => {})
  }
}

/** What the peer of a socket speaks. Those of an endpoint that is tcp:// itself are not listed. */
async function schemeOf({ lz4 }) {
  // A client that was replaced is still listed until it has disconnected.
  while (lz4.connections.length > 1) await once(lz4, "disconnect")
  return lz4.connections[0]?.scheme ?? "tcp"
}
