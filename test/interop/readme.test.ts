import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { Push } from "zeromq-lz4"

import { freePort, use } from "../support/sockets.js"
import { python } from "./python.js"

const run = promisify(execFile)

test("README's Python peer prints the message that we send", async () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
  const [, program = ""] = /^```python\n(.*?)^```/ms.exec(readme) ?? []
  const port = String(await freePort())
  const push = use(new Push())
  push.connect(`lz4+tcp://127.0.0.1:${port}`)
  await push.send("hello ".repeat(1000))

  const { stdout } = await run(python(), ["-c", program.replace("5555", port)], {
    timeout: 200_000,
  })
  expect(stdout).toBe(`b'${"hello ".repeat(1000)}'\n`)
})
