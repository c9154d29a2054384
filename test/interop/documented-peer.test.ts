import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { Push } from "zeromq-lz4"

import { type Block, documentedBlocks } from "../support/documents.js"
import { freePort, use } from "../support/sockets.js"
import { python } from "./python.js"

const run = promisify(execFile)

test("the Python peer of docs/peers.md prints the message that we send", async () => {
  const { code } = documentedBlocks().find(({ language }) => language === "python") as Block
  const port = String(await freePort())
  const push = use(new Push())
  push.connect(`lz4+tcp://127.0.0.1:${port}`)
  await push.send("hello ".repeat(1000))

  const { stdout } = await run(python(), ["-c", code.replace("5555", port)], {
    timeout: 200_000,
  })
  expect(stdout).toBe(`b'${"hello ".repeat(1000)}'\n`)
})
