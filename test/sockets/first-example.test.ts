/**
 * README's first example, which prints by how much a stream was compressed. By how much it is depends on
 * how busy the machine is, because the level is chosen by measuring.
 */
import { readFileSync } from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { eventually, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

const COUNT = 2000

async function* events(whenSent: () => Promise<unknown>) {
  for (let id = 0; id < COUNT; id++) {
    await turn()
    const user = { id: (id * 7919) % 10_000, country: "NL", agent: "Mozilla/5.0" }
    const time = new Date(1.7e12 + id * 137)
    yield {
      id,
      time,
      level: "info",
      service: "orders",
      message: "order placed",
      user,
      ms: id % 400,
    }
  }
  await whenSent()
}

test("README's first example prints by how much the stream was compressed", async () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
  const [, imports = "", body = ""] = /^```js\n(import .*?)\n\n(.*?)^```/ms.exec(readme) ?? []
  expect(imports).toMatch(/^import \{ Push \} from "zeromq-lz4" .*$/)
  const pull = use(new Pull())
  await pull.bind(`${lz4.scheme}127.0.0.1:*`)
  const code = body.replace("lz4+tcp://collector:5555", pull.lastEndpoint as string)
  expect(code).not.toBe(body)
  const lines: string[] = []
  let push: Push | undefined
  class Used extends Push {
    constructor() {
      super()
      push = use(this)
    }
  }
  // A thread may still have to compress the last ones.
  const sent = () => eventually(() => push?.lz4.stats.sent.messages === COUNT)
  const receiving = (async () => {
    for (let i = 0; i < COUNT; i++) await pull.receive()
  })()
  const run = new Function("Push", "events", "console", `return (async () => {${code}})()`)
  await run(Used, events(sent), { log: (line: string) => lines.push(line) })
  await receiving
  const { plainBytes, wireBytes } = (push as unknown as Push).lz4.stats.sent
  expect(plainBytes).toBeGreaterThan(100 * COUNT)
  expect(lines).toEqual([`${(plainBytes / wireBytes).toFixed(1)} times smaller`])
})
