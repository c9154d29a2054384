import { Pull, Push } from "zeromq-lz4"
import { messagesOf } from "./messages.js"
import { serveMetrics } from "./metrics.js"

/**
 * Passes messages on from producers to consumers, as compressed as they came, and serves metrics over
 * HTTP. `stopped` resolves after `stopping` is aborted, when the producers have gone and the system
 * has accepted all that they sent.
 */
export async function startBroker({ front, back, metricsPort, stopping }) {
  const pull = new Pull({ maxMessageSize: 1 << 20 })
  const push = new Push({ linger: 5000 })
  pull.lz4.on("protocolError", ({ remoteAddress, error }) =>
    console.warn(`broker: ${remoteAddress} was disconnected: ${error.message}`),
  )
  await pull.bind(front, { keepCompressed: true })
  await push.bind(back, { level: 0 })
  const metrics = await serveMetrics(metricsPort, { front: pull, back: push })
  return {
    front: pull.lastEndpoint,
    back: push.lastEndpoint,
    metricsUrl: `http://127.0.0.1:${metrics.address().port}/metrics`,
    stopped: passOn(pull, push, stopping).finally(() => metrics.close()),
  }
}

async function passOn(pull, push, stopping) {
  for await (const parts of messagesOf(pull, stopping))
    await push.send(parts.map((part) => pull.lz4.compressedOf(part) ?? part))
  pull.close()
  push.close()
  await push.lz4.flush({ timeout: 4000 })
}
