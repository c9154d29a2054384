/** Counts of a suite in the gate, however it ends. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"

import { counts, runSuite, succeeds } from "../../scripts/lib/suite.mjs"
import { temporaryDirectory } from "../support/packed.js"
import { eventually } from "../support/sockets.js"

const program = (code: string) => [process.execPath, "-e", code]
const never = new AbortController().signal
const FAILED = { passed: 0, failed: 1, skipped: 0 }

const directory = temporaryDirectory()
const log = join(directory.path, "log")
afterAll(() => directory[Symbol.dispose]())

const run = (suite: Parameters<typeof runSuite>[0], stop = never) => runSuite(suite, log, stop)

test("the last line of a suite's output has its counts", async () => {
  const suite = counts(program(`console.log("1 passed, 0 failed\\n7 passed, 0 failed, 2 skipped")`))
  const result = await run(suite)
  expect(result.counts).toEqual({ passed: 7, failed: 0, skipped: 2 })
  expect(result.failures).toEqual([])
})

test.each([
  ["no counts", `console.log("hello")`],
  ["no tests", `console.log("0 passed, 0 failed")`],
  ["a failure after its counts", `console.log("1 passed, 0 failed"); process.exitCode = 1`],
  ["an error", `throw new Error("oh")`],
  ["a signal", `process.kill(process.pid, "SIGKILL")`],
])("a suite fails with %s", async (_, code) => {
  const result = await run(counts(program(code)))
  expect(result.counts).toEqual(FAILED)
  expect(result.failures).toHaveLength(1)
})

test("a suite fails if its program is missing", async () => {
  const result = await run(counts(["no-such-program"]))
  expect(result.counts).toEqual(FAILED)
  expect(result.failures[0]).toContain("ENOENT")
})

test("a command without counts is one test", async () => {
  expect((await run(succeeds(program("")))).counts).toEqual({ passed: 1, failed: 0, skipped: 0 })
  expect((await run(succeeds(program("process.exit(3)")))).counts).toEqual(FAILED)
})

test("a suite that hangs is ended with its child processes, and fails", async () => {
  const hangs = "setInterval(() => {}, 1000)"
  const starts = `
    const { pid } = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hangs)}])
    console.log(pid)
    ${hangs}`
  const stop = new AbortController()
  const running = run(counts(program(starts)), stop.signal)
  const pid = await eventually(() => Number(/^\d+$/m.exec(readFileSync(log, "utf8"))?.[0]) || false)
  stop.abort("too slow")
  const result = await running
  expect(result.counts).toEqual(FAILED)
  expect(result.failures[0]).toContain("ended with too slow")
  // Signal 0 checks whether the process exists.
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"))
})
