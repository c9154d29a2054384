import { Pull } from "zeromq-lz4"
import { messagesOf } from "./messages.js"

/**
 * Counts the log lines that the broker sends, until `stopping` is aborted and the broker has gone. A
 * real consumer would store them.
 */
export async function consume({ from, name, stopping }) {
  const pull = new Pull({ maxMessageSize: 1 << 20 })
  pull.lz4.once("connect", () => console.log(`${name}: connected to ${from}`))
  pull.connect(from)
  const counts = { lines: 0, errors: 0 }
  for await (const [, batch] of messagesOf(pull, stopping)) {
    for (const line of batch.toString().split("\n")) {
      counts.lines++
      if (JSON.parse(line).level === "error") counts.errors++
    }
  }
  pull.close()
  return counts
}
