/**
 * Runs files of tests in a runtime that cannot load vitest: node main.ts REPORT FILE..., with the
 * names of tests to leave out, or a pattern of those to run, in the environment.
 */
import { writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { startTests, type VitestRunner } from "@vitest/runner"
import { getTestName, getTests } from "@vitest/runner/utils"

import "../../support/fixed-seed.js"
import { entryOf } from "../windows/left-out.mjs"
import { checkCount, startCounting } from "./vitest.js"

/** The content of REPORT, as JSON. */
export interface Report {
  tests: { name: string; state: string; milliseconds: number; errors: string[] }[]
  /** Errors outside of all tests. */
  errors: string[]
}

const [report, ...paths] = process.argv.slice(2) as [string, ...string[]]
const leftOut: string[] = JSON.parse(process.env.LEFT_OUT ?? "[]")
const only = process.env.ONLY

const runner: VitestRunner = {
  config: {
    root: process.cwd(),
    setupFiles: [],
    name: undefined,
    passWithNoTests: false,
    testNamePattern: only ? new RegExp(only) : undefined,
    allowOnly: false,
    sequence: { seed: 1, hooks: "stack", setupFiles: "list" },
    chaiConfig: undefined,
    maxConcurrency: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
    tagsFilter: undefined,
    strictTags: false,
  },
  importFile: (path) => import(pathToFileURL(path).href),
  onBeforeRunFiles(files) {
    for (const test of getTests(files)) if (entryOf(leftOut, getTestName(test))) test.mode = "skip"
  },
  onBeforeTryTask(test) {
    // The last name that a file printed tells which test hung.
    console.log(getTestName(test))
    startCounting()
  },
  onAfterTryTask: checkCount,
}

const textOf = ({ message, stack = "" }: { message: string; stack?: string }) =>
  stack.includes(message) ? stack : `${message}\n${stack}`

// A test that waits for something that never happens must last until its timeout.
setInterval(() => {}, 1 << 30)

const errors: string[] = []
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error) => errors.push(error instanceof Error ? textOf(error) : String(error)))

const files = await startTests(
  paths.map((path) => resolve(path)),
  runner,
)
const tests = getTests(files).map((test) => ({
  name: getTestName(test),
  state: test.result?.state ?? test.mode,
  milliseconds: Math.round(test.result?.duration ?? 0),
  errors: test.result?.errors?.map(textOf) ?? [],
}))
// A file that could not be loaded, or a hook that failed.
for (const { result } of files) errors.push(...(result?.errors ?? []).map(textOf))
writeFileSync(report, JSON.stringify({ tests, errors } satisfies Report))
process.exit()
