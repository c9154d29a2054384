import { once } from "node:events"
import { createServer } from "node:http"

const METRICS = [
  ["messages_received_total", "Messages received", (stats) => stats.received.messages],
  ["plain_bytes_received_total", "Bytes received, decoded", (stats) => stats.received.plainBytes],
  ["wire_bytes_received_total", "Bytes received, as sent", (stats) => stats.received.wireBytes],
  ["messages_sent_total", "Messages sent", (stats) => stats.sent.messages],
  ["plain_bytes_sent_total", "Bytes sent, decoded", (stats) => stats.sent.plainBytes],
  ["wire_bytes_sent_total", "Bytes sent, as sent", (stats) => stats.sent.wireBytes],
  ["waiting_messages", "Messages not yet written", (stats) => stats.waiting.messages],
  ["connections", "Open connections", (_, lz4) => lz4.connections.length],
  ["protocol_errors_total", "Peers that broke a rule", (stats) => stats.protocolErrors],
]

/** Returns the statistics of sockets, which are given by name, as Prometheus reads them. */
export function metricsOf(sockets) {
  return METRICS.map(([name, help, read]) => {
    const type = name.endsWith("_total") ? "counter" : "gauge"
    const values = Object.entries(sockets).map(
      ([socket, { lz4 }]) => `zeromq_lz4_${name}{socket="${socket}"} ${read(lz4.stats, lz4)}\n`,
    )
    return `# HELP zeromq_lz4_${name} ${help}\n# TYPE zeromq_lz4_${name} ${type}\n${values.join("")}`
  }).join("")
}

/** Serves them on this machine. */
export async function serveMetrics(port, sockets) {
  const server = createServer(({ url }, response) => {
    if (url !== "/metrics") return response.writeHead(404).end("Not found\n")
    response.setHeader("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
    response.end(metricsOf(sockets))
  })
  await once(server.listen(port, "127.0.0.1"), "listening")
  return server
}
