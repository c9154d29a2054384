/** Counts of a suite in the gate, however it ends. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"

import { describe } from "../../scripts/lib/run-suites.mjs"
import { counts, runSuite, succeeds } from "../../scripts/lib/suite.mjs"
import { failureOf } from "../../scripts/lib/vitest-report.mjs"
import { temporaryDirectory } from "../support/packed.js"
import { SEED } from "../support/seed.js"
import { eventually } from "../support/sockets.js"

const program = (code: string) => [process.execPath, "-e", code]
const never = new AbortController().signal
const FAILED = { passed: 0, failed: 1 }

const directory = temporaryDirectory()
const log = join(directory.path, "log")
afterAll(() => directory[Symbol.dispose]())

const run = (suite: Parameters<typeof runSuite>[0], stop = never) => runSuite(suite, log, stop)

test("the last line of a suite's output has its counts", async () => {
  const suite = counts(program(`console.log("1 passed, 0 failed\\n7 passed, 0 failed")`))
  const result = await run(suite)
  expect(result.counts).toEqual({ passed: 7, failed: 0 })
  expect(result.failures).toEqual([])
})

test.each([
  ["no counts", `console.log("hello")`],
  ["no tests", `console.log("0 passed, 0 failed")`],
  ["a failure after its counts", `console.log("1 passed, 0 failed"); process.exitCode = 1`],
  ["an error", `throw new Error("oh")`],
  ["a skipped test", `console.log("0 passed, 0 failed, 1 skipped")`],
  ["a signal", `process.kill(process.pid, "SIGKILL")`],
])("a suite fails with %s", async (_, code) => {
  const result = await run(counts(program(code)))
  expect(result.counts.failed).toBe(1)
  expect(result.failures).toHaveLength(1)
})

test("a suite fails if its program is missing", async () => {
  const result = await run(counts(["no-such-program"]))
  expect(result.counts).toEqual(FAILED)
  expect(result.failures[0]?.error).toContain("ENOENT")
})

test("failures are told with all that is needed to run them alone", async () => {
  const failure = {
    test: "a > b",
    file: "test/a.test.ts",
    seed: 7,
    alone: "npm run b",
    error: "oh",
  }
  const script = `
    console.log("failure: " + ${JSON.stringify(JSON.stringify(failure))})
    console.log("2 passed, 1 failed")
    process.exitCode = 1`
  const result = await run(counts(program(script)))
  expect(result.counts).toEqual({ passed: 2, failed: 1 })
  expect(result.failures).toEqual([failure])
  expect(describe({ suite: "some", ...failure })).toBe(
    "some: a > b\n  file:  test/a.test.ts\n  seed:  7\n  alone: npm run b\n    oh",
  )
})

test("failures of vitest name project, file, test and the command that runs only that", () => {
  const name = 'a (b) > c\'s "d"'
  const line = { what: "failed", project: "unit", file: "test/unit/a.test.ts", test: name } as const
  expect(failureOf({ ...line, error: "oh" }, ["npx", "vitest", "run"])).toEqual({
    test: name,
    file: "test/unit/a.test.ts",
    seed: SEED,
    alone: `npx vitest run --project unit test/unit/a.test.ts -t '^a \\(b\\)(?: >)? c'\\''s "d"$'`,
    error: "oh",
  })
})

test("a command without counts is one test", async () => {
  expect((await run(succeeds(program("")))).counts).toEqual({ passed: 1, failed: 0 })
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
  expect(result.failures[0]?.error).toContain("ended with too slow")
  // Signal 0 checks whether the process exists.
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"))
})
