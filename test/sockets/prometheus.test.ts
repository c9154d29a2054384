/** The recipe of docs/monitoring.md, as it is printed there. */
import { readFileSync } from "node:fs"
import { Counter, Gauge, register } from "prom-client"
import { expect, onTestFinished, test } from "vitest"
import { Publisher, Pull, Push } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { eventually, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

/** The function that the recipe exports. */
function recipe(): (sockets: object) => void {
  const text = readFileSync(new URL("../../docs/monitoring.md", import.meta.url), "utf8")
  const [, code = ""] = /^## Prometheus$.*?^```js\n(.*?)^```$/ms.exec(text) ?? []
  const [head, body] = code.split("\n\n")
  expect(head).toBe('import { Counter, Gauge } from "prom-client"')
  const made = new Function("Counter", "Gauge", `${body?.replace("export ", "return ")}`)
  return made(Counter, Gauge)
}

test("the recipe for Prometheus exports the numbers of each socket", async () => {
  onTestFinished(() => register.clear())
  const [pull, push] = [use(new Pull()), use(new Push())]
  await pull.bind(`${lz4.scheme}127.0.0.1:*`)
  push.connect(pull.lastEndpoint as string, { level: 0 })
  recipe()({ orders: push, prices: use(new Publisher()) })
  const part = payload("json", 10_000)
  for (const times of [1, 2]) {
    await push.send(part)
    await pull.receive()
    await eventually(() => push.lz4.stats.sent.messages === times)
    await eventually(() => push.lz4.stats.waiting.bytes === 0)
    const lines = (await register.metrics()).split("\n")
    const { sent } = push.lz4.stats
    expect(sent.wireBytes).toBeLessThan(sent.plainBytes)
    for (const line of [
      "# TYPE zeromq_lz4_sent_plain_bytes_total counter",
      "# TYPE zeromq_lz4_waiting_bytes gauge",
      `zeromq_lz4_sent_plain_bytes_total{socket="orders"} ${times * part.length}`,
      `zeromq_lz4_sent_wire_bytes_total{socket="orders"} ${sent.wireBytes}`,
      'zeromq_lz4_sent_plain_bytes_total{socket="prices"} 0',
      ...["dropped_messages_total", "reconnects_total", "protocol_errors_total"].map(
        (name) => `zeromq_lz4_${name}{socket="orders"} 0`,
      ),
      'zeromq_lz4_waiting_bytes{socket="orders"} 0',
    ])
      expect(lines).toContain(line)
  }
})
